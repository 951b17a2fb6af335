"""Sentences are found again in the text as it was given, and moves lead to the order."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.service.bodies.given_texts import spans
from weft.service.bodies.views import moves_to

PIECES = [
    "A cat sat.",
    "It slept!",
    "Dr. Who",
    "“Rain,”",
    "…",
    "e\u0301a.",
    "שלום.",
    "🐝",
    " ",
    "\n",
    "\n\n",
    "\t",
    "\u00a0",
    "\u2028",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)).map("".join)


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_spans_hold_the_sentences(text: str) -> None:
    sentences = weft.split_sentences(text)
    found = spans(text, sentences)
    assert [" ".join(text[start:end].split()) for start, end in found] == list(sentences)
    assert all(end <= start for (_, end), (start, _) in pairwise(found))


def test_spans_of_a_text_without_ends_of_sentences() -> None:
    text = "and  then\n" * 1000
    sentences = weft.split_sentences(text)
    assert len(sentences) > 10
    assert [" ".join(text[start:end].split()) for start, end in spans(text, sentences)] == list(sentences)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 9).flatmap(lambda size: st.permutations(range(size))))
def test_moves_lead_to_the_order_and_there_are_no_fewer(order: list[int]) -> None:
    now = list(range(len(order)))
    moves = moves_to(order)
    for item, was, place in moves:
        assert now.pop(was) == item
        now.insert(place, item)
    assert now == order
    assert len(moves) == len(order) - longest_rising(order)


def longest_rising(order: list[int]) -> int:
    """Length of the longest rising part, in quadratic time."""
    lengths: list[int] = []
    for place, item in enumerate(order):
        before = (length for length, other in zip(lengths, order[:place], strict=True) if other < item)
        lengths.append(1 + max(before, default=0))
    return max(lengths, default=0)


def test_moves_of_a_rotation() -> None:
    assert moves_to([1, 2, 3, 0]) == [(0, 0, 3)]
    assert moves_to([]) == [] and moves_to([0]) == []
    with pytest.raises(ValueError, match="9 is not in list"):
        moves_to([9, 0])
