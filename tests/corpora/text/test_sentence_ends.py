"""Abbreviations end sentences before capitalised words, unless they stand before names, numbers or examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.corpora.text.sentence_ends import with_abbreviations
from weft.corpora.text.sentences import split_sentences

SECONDS = ("Anna left the room.", "Trees fell.", "Then we left.", "I left.", "“Anna left,” he said.")


@pytest.mark.parametrize(
    "word", ["me", "no", "ill", "art", "miss", "may", "May", "etc", "OK", "ok", "fed", "id", "Nov"]
)
@pytest.mark.parametrize("second", SECONDS)
def test_ordinary_words_end_sentences(word: str, second: str) -> None:
    first = f"This is about {word}."
    assert split_sentences(f"{first} {second}") == (first, second)


@pytest.mark.parametrize("word", ["me", "no", "art", "May"])
def test_ordinary_words_before_a_number_end_none(word: str) -> None:
    assert len(split_sentences(f"See {word}. 5 of the list.")) == 1


@pytest.mark.parametrize(
    "first",
    [
        "It took five min.", "Please wait 2 sec.", "Ask your rep.", "We asked the prof.", "It lasted 3 hr.",
        "He ate a fig.", "The ring was 5 mm.", "They met on 5th ave.", "She paid the dept.", "Call the dr.",
        "That was shown by Smith et al.", "She lives in Washington, DC.", "He did ten reps.", "It was slow-mo.", "“No.",
    ],
)  # fmt: skip
@pytest.mark.parametrize("second", SECONDS)
def test_units_and_short_words_end_sentences(first: str, second: str) -> None:
    assert split_sentences(f"{first} {second}") == (first, second)


@pytest.mark.parametrize(
    "text",
    [
        "Rep. Smith met Sen. Jones.", "Dr. Jones and Prof. Miller came.", "They saw dr. Jones at St. Mary Church.",
        "The rev. Maclean spoke to the Rev. Anna Hill.", "Lt. Col. Brown met Maj. Gen. Hill.", "MR. SMITH LEFT.",
        "It takes approx. 5 min. of work.", "It took 5 min. of work.", "The case is Roe vs. Wade.",
        "She works at Warner Bros. Pictures.", "Read sec. A of the law.", "He lives at No. Ten Downing Street.",
        "See figs. 3 and 4, and vol. 2.", "He met Oracle Corp. Chairman Larry Hill.", "It is near Mt. Fuji.",
    ],
)  # fmt: skip
def test_titles_examples_and_numbers_go_on(text: str) -> None:
    assert split_sentences(text) == (text,)


def test_other_languages_are_left_alone() -> None:
    assert len(split_sentences("Es dauerte fünf min. Anna ging.", "de")) == 1


@given(st.lists(st.sampled_from(["min", ".", " ", "Anna", "I", "5", "approx", "Dr", "”", "“", "é", "a"]), max_size=60))
def test_nothing_is_lost_or_moved(parts: list[str]) -> None:
    text = "".join(parts)
    assert "".join(with_abbreviations([text])) == text
    assert "".join(with_abbreviations(parts)) == text
