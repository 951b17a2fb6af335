"""Sentence splitting: boundaries, languages, and no text that takes for ever."""

from __future__ import annotations

import time

import pytest

from weft.corpora.text.sentences import (
    assemble,
    blank_line_blocks,
    check_language,
    split_paragraphs,
    split_sentences,
    tidy_sentence,
)
from weft.errors import ConfigError, CorpusError


def test_a_wrapped_line_is_no_boundary_and_a_blank_line_is() -> None:
    text = "The cat\nsat on\r\nthe mat. It slept\n \t \nA heading\n\n\n\nThe end"
    assert split_sentences(text) == ("The cat sat on the mat.", "It slept", "A heading", "The end")


def test_white_space_is_single_spaces() -> None:
    assert split_sentences("  One\t\ttwo\u00a0 \u2028three.   Four. ") == ("One two three.", "Four.")


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t\r\n \u2003"])
def test_nothing_gives_nothing(text: str) -> None:
    assert split_sentences(text) == ()


def test_abbreviations_do_not_end_sentences() -> None:
    assert split_sentences("Dr. Smith met Mr. Jones. They spoke.") == (
        "Dr. Smith met Mr. Jones.",
        "They spoke.",
    )


def test_paragraphs_keep_their_sentences() -> None:
    assert split_paragraphs("It rained. He slept.\n\nHe woke.") == (
        ("It rained.", "He slept."),
        ("He woke.",),
    )


def test_the_language_decides() -> None:
    text = "Das ist z.B. Gut so."
    assert split_sentences(text, "de") == split_sentences(text, "de-AT") == split_sentences(text, "DE_de")
    assert split_sentences("这是一。那是二。", "zh") == ("这是一。", "那是二。")
    assert split_sentences("यह एक है। वह दो है।", "hi") == ("यह एक है।", "वह दो है।")


@pytest.mark.parametrize("code", ["en", "EN", "en-US", "pt_BR", "zh-Hans", "gsw", "yue"])
def test_known_languages(code: str) -> None:
    assert check_language(code) == code[:3].lower().rstrip("-_")


@pytest.mark.parametrize("code", ["", "english", "xx", "ge", "deu", "12", "-", "e", "en us"])
def test_unknown_languages_are_refused_and_not_taken_for_english(code: str) -> None:
    with pytest.raises(ConfigError, match="unknown language") as caught:
        split_sentences("Text.", code)
    assert caught.value.next_step
    assert caught.value.allowed


def test_half_a_surrogate_pair_is_an_error_and_no_panic() -> None:
    with pytest.raises(CorpusError, match=r"U\+D800 at character 2"):
        split_sentences("ab\ud800. Text.")


@pytest.mark.parametrize(
    "unit", ["A short sentence here. ", "word ", "Mr. ", '"He said. ', "(a. ", "!?", "one line.\n"]
)
def test_a_megabyte_takes_seconds_at_most(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    sentences = split_sentences(text)
    assert time.process_time() - started < 3  # linear: about 0.5; quadratic would be minutes
    assert "".join(sentences).replace(" ", "") == "".join(text.split())


def test_blocks_and_assembly() -> None:
    assert list(blank_line_blocks(enumerate(["", "a", "\t", "", "b", "c"]))) == [(1, ["a"]), (4, ["b", "c"])]
    document = assemble("d", [[], ["A."], [], ["B.", "C."], []], "T")
    assert (document.sentences, document.paragraph_starts, document.title) == (
        ("A.", "B.", "C."),
        (0, 1),
        "T",
    )
    assert assemble("d", []).paragraph_starts == (0,)


def test_a_split_sentence_is_kept_but_for_its_edges() -> None:
    assert tidy_sentence("  He said.  Then \t left. ") == "He said.  Then \t left."
    assert tidy_sentence("one\r\ntwo") == "one two"
