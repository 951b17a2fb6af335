"""Detokenisation: a list of words and punctuation as readable text."""

from __future__ import annotations

from collections.abc import Sequence

_NO_SPACE_BEFORE = frozenset(",.;:!?%)]}’”…")
_NO_SPACE_AFTER = frozenset("([{$£€“‘#@")
_JOINS_BOTH = frozenset("-–/_&+=~")
# Endings of a word after an apostrophe: cat's, don't, we're, I've, she'll, he'd, I'm.
_CLITICS = frozenset(("s", "t", "re", "ve", "ll", "d", "m"))


def join_words(pieces: Sequence[str]) -> str:
    """Return words and punctuation as a text with English spacing.

    Example:
        >>> join_words(["the", "cat", "'", "s", "toy", "(", "3", ".", "5", "cm", ")", "fell", "."])
        "the cat's toy (3.5 cm) fell."
    """
    text: list[str] = []
    quotes = 0
    for i, piece in enumerate(pieces):
        opens = piece == '"' and quotes % 2 == 0
        closed = i > 0 and pieces[i - 1] == '"' and quotes % 2 == 0
        if i and _space_between(pieces, i, opening=opens, closed=closed):
            text.append(" ")
        text.append(piece)
        quotes += piece == '"'
    return "".join(text)


def _space_between(pieces: Sequence[str], i: int, *, opening: bool, closed: bool) -> bool:
    before, piece = pieces[i - 1], pieces[i]
    if piece == '"':
        return opening and before not in _NO_SPACE_AFTER
    if before == '"' and not closed:  # no space after an opening quote
        return False
    if piece in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER:
        return False
    return not (_inside_number(pieces, i) or _inside_word(pieces, i))


def _inside_number(pieces: Sequence[str], i: int) -> bool:
    """Return whether a digit follows a point or comma that follows a digit: 3.5, 10,000."""
    return i >= 2 and pieces[i - 1] in ".,:" and pieces[i][0].isdigit() and pieces[i - 2][-1].isdigit()


def _inside_word(pieces: Sequence[str], i: int) -> bool:
    """Return whether a hyphen or the apostrophe of a clitic joins two pieces."""
    before, piece = pieces[i - 1], pieces[i]
    if piece in _JOINS_BOTH or before in _JOINS_BOTH:
        return True
    if piece in "'’":
        return i + 1 < len(pieces) and pieces[i + 1] in _CLITICS
    return before in "'’" and piece in _CLITICS
