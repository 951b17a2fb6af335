"""Repetition and gibberish are unsound, in any order; sound sentences are not."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.scoring.text_soundness import sentence_soundness, sound_surprises

TEXT = ["The town built a library.", "It stands beside the river.", "Children read there after school."]
NEARLY = "It stands close beside the river."
GIBBERISH = "Xkqz vwpl mnrt ggfd zzqp."
INVENTED = "Bado limepu sorati venu kamipo delu."  # can be pronounced, but consists of no words
WORDLESS = "12 + 34 = 46 ..."


def test_sentences_of_a_plain_text_are_sound() -> None:
    assert sentence_soundness(TEXT) == [1.0, 1.0, 1.0]
    assert sentence_soundness([]) == []


def test_copies_and_gibberish_are_not_sound() -> None:
    assert sentence_soundness([TEXT[0], *TEXT]) == [0.0, 0.0, 1.0, 1.0]
    assert sentence_soundness([TEXT[0], GIBBERISH, TEXT[1]]) == [1.0, 0.0, 1.0]
    assert sorted(sentence_soundness([*TEXT, NEARLY]))[0] < 0.5


def test_sentences_without_known_words_are_not_sound() -> None:
    assert sentence_soundness([TEXT[0], INVENTED, WORDLESS, "..."]) == [1.0, 0.0, 0.0, 0.0]
    assert (
        sentence_soundness(["Tut-tut!", "In 1984 it cost 12.50.", "Phosphorylated kinases enter the nucleus."])
        == [1.0] * 3
    )


def test_unsound_sentences_do_not_raise_log_likelihoods() -> None:
    sound = [-3.1, -2.0, -2.4]
    for unsound in (TEXT[0], GIBBERISH, INVENTED, WORDLESS):
        found = sound_surprises([*sound, -0.1], sentence_soundness([*TEXT, unsound]))
        assert sum(found) / len(found) < sum(sound) / len(sound)
    assert sound_surprises(sound, sentence_soundness(TEXT)) == sound


@settings(deadline=None)  # the first call loads word lists
@given(
    st.lists(st.sampled_from([*TEXT, NEARLY, GIBBERISH, INVENTED, WORDLESS]), max_size=8),
    st.randoms(use_true_random=False),
)
def test_soundness_does_not_depend_on_the_order(sentences: list[str], random: object) -> None:
    values = dict(zip(sentences, sentence_soundness(sentences), strict=True))
    shuffled = sorted(sentences, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert sentence_soundness(shuffled) == [values[sentence] for sentence in shuffled]
    assert all(0 <= value <= 1 for value in values.values())
