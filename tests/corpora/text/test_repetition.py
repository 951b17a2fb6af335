"""How much a text repeats itself, and how much of it is no words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.corpora.text.repetition import repetition, sentence_repetition
from weft.corpora.text.unknown_words import gibberish_share, symbol_share, unknown_share, unreadable_share

TEXT = ["The town built a library.", "It stands beside the river.", "Children read there after school."]


def test_copies_are_repeated_and_new_sentences_are_not() -> None:
    assert sentence_repetition(TEXT) == [0.0, 0.0, 0.0]
    assert sentence_repetition([*TEXT, TEXT[0]])[-1] == 1.0
    assert repetition([TEXT[0]] * 10) == pytest.approx(0.9)
    assert repetition([]) == repetition(["?!"]) == 0.0


def test_near_copies_count_by_what_they_share() -> None:
    _, changed, turned, other = sentence_repetition(
        [
            "The committee approved the new budget on Monday.",
            "The committee approved the new budget on Friday.",
            "On Monday the committee approved the new budget.",
            "Nobody had expected a decision so early.",
        ]
    )
    assert 0.6 < changed < 1.0 and turned == 1.0 and other == 0.0


def test_words_repeated_inside_a_sentence_count() -> None:
    assert sentence_repetition(["very very very very very very very very good"])[0] > 0.5


def test_what_was_said_long_ago_is_no_repetition() -> None:
    between = [" ".join(f"word{number}x{place}" for place in range(60)) for number in range(20)]
    assert sentence_repetition([TEXT[0], *between, TEXT[0]])[-1] == 0.0


def test_unknown_words_and_gibberish() -> None:
    assert unknown_share(TEXT) == gibberish_share(TEXT) == symbol_share(TEXT) == 0.0
    assert gibberish_share(["Xkqz vwpl mnrt ggfd."]) == 1.0
    assert gibberish_share(["Chemotaxis of metalloproteinases."]) == 0.0
    assert unreadable_share([*TEXT, "Xkqz vwpl mnrt ggfd zzqp."], 0.5) == pytest.approx(0.2, abs=0.05)
    assert gibberish_share([]) == unknown_share(["12 34"]) == unreadable_share([], 0.5) == 0.0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*TEXT, "Xkqz vwpl mnrt ggfd.", "Chemotaxis abounds."]), max_size=6), st.floats(0, 1))
def test_a_lower_limit_of_gibberish_only_hides_what_is_below_it(sentences: list[str], least: float) -> None:
    share, limited = gibberish_share(sentences), gibberish_share(sentences, least)
    assert limited == share or (limited == 0.0 and share < least)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text(alphabet="ab .é字'\u0301\n", max_size=30), max_size=12))
def test_measures_lie_between_0_and_1(sentences: list[str]) -> None:
    measures = [repetition(sentences), unknown_share(sentences), gibberish_share(sentences), symbol_share(sentences)]
    assert all(0 <= value <= 1 for value in (*measures, *sentence_repetition(sentences)))
    assert len(sentence_repetition(sentences)) == len(sentences)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(TEXT), min_size=1, max_size=6))
def test_a_text_with_a_copy_added_repeats_more(sentences: list[str]) -> None:
    assert repetition([*sentences, sentences[-1]]) > repetition(sentences)


def test_a_hundred_thousand_words_take_little_time() -> None:
    sentences = [" ".join(f"w{(number * place) % 997}" for place in range(20)) for number in range(5000)]
    started = time.process_time()
    repetition(sentences)
    repetition([" ".join(sentences)])
    assert time.process_time() - started < 5
