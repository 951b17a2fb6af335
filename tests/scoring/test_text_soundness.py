"""Repetition and gibberish do not raise a discounted score, and sound texts keep theirs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.scoring.text_soundness import discounted, link_soundness, text_soundness

TEXT = ["The town built a library.", "It stands beside the river.", "Children read there after school."]
GIBBERISH = "Xkqz vwpl mnrt ggfd zzqp."


def test_a_sound_text_keeps_its_score() -> None:
    assert text_soundness(TEXT) == 1.0 and link_soundness(TEXT) == [1.0, 1.0]


def test_links_to_copies_and_to_gibberish_do_not_count() -> None:
    assert link_soundness([TEXT[0], TEXT[0], *TEXT[1:]]) == [0.0, 1.0, 1.0]
    assert link_soundness([TEXT[0], GIBBERISH, TEXT[1]]) == [0.0, 0.0]
    assert text_soundness([TEXT[0]] * 4) == text_soundness([GIBBERISH] * 2) == 0.0


def test_texts_without_links() -> None:
    assert link_soundness([]) == link_soundness(TEXT[:1]) == []
    assert text_soundness([]) == 1.0


@given(st.floats(-10, 10), st.floats(0, 1), st.floats(-1, 1))
def test_a_discount_never_raises_a_score(value: float, soundness: float, floor: float) -> None:
    found = discounted(value, soundness, floor=floor)
    assert min(value, floor) <= found <= value


@given(st.lists(st.sampled_from([*TEXT, GIBBERISH]), max_size=8))
def test_soundness_lies_between_0_and_1(sentences: list[str]) -> None:
    assert 0 <= text_soundness(sentences) <= 1
    assert all(0 <= share <= 1 for share in link_soundness(sentences))
    assert len(link_soundness(sentences)) == max(0, len(sentences) - 1)
