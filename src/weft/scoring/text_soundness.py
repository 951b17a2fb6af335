"""Discounts for repetition and gibberish, so that neither raises the score of a text.

A model of what is likely next finds a repeated sentence very likely, and some models find one run of random letters
likely after another. A model whose score should not rise with them multiplies what lies above a floor, its score of
a text without any coherence, by the soundness of the link or of the text. Sound texts keep their scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from weft.corpora.text.repetition import repetition, sentence_repetition
from weft.corpora.text.unknown_words import gibberish_share

# Up to the first value nothing is discounted, from the second on everything. Sound texts lie below the first: see
# docs/score.md for how many of each genre do not.
REPEATED_SENTENCE, REPEATED_TEXT = (0.35, 0.7), (0.2, 0.5)
GIBBERISH_SENTENCE, GIBBERISH_TEXT = (0.5, 0.8), (0.25, 0.5)


def text_soundness(sentences: Sequence[str]) -> float:
    """Return 1 for a sound text, 0 for one that half repeats itself or is half gibberish, and values between them.

    Example:
        >>> text_soundness(["The cat slept.", "It was tired.", "Then rain fell on the roof."])
        1.0
        >>> text_soundness(["The cat slept."] * 3)
        0.0
    """
    repeated = _rise(repetition(sentences), REPEATED_TEXT)
    return (1 - repeated) * (1 - _gibberish(sentences, GIBBERISH_TEXT))


def link_soundness(sentences: Sequence[str]) -> list[float]:
    """Return for each pair of neighbouring sentences how far their link can count, from 0 to 1.

    It cannot count if the second sentence was said before, or if one of the two is gibberish.

    Example:
        >>> link_soundness(["The cat slept.", "The cat slept.", "Then rain fell on the roof."])
        [0.0, 1.0]
    """
    new = [1 - _rise(value, REPEATED_SENTENCE) for value in sentence_repetition(sentences)]
    readable = [1 - _gibberish([sentence], GIBBERISH_SENTENCE) for sentence in sentences]
    links = zip(new[1:], pairwise(readable), strict=True) if sentences else ()
    return [share * min(both) for share, both in links]


def discounted(value: float, soundness: float, *, floor: float) -> float:
    """Return a score with the part above the floor multiplied by the soundness; never higher than the score.

    Args:
        value: Score of a text or of a link.
        soundness: From 0 (nothing counts) to 1 (the score is kept).
        floor: The model's score of a text without any coherence, such as 0 for MMI.

    Example:
        >>> discounted(2.8, 0.0, floor=0.0), discounted(2.8, 1.0, floor=0.0), discounted(-0.3, 0.0, floor=0.0)
        (0.0, 2.8, -0.3)
    """
    return min(value, floor + soundness * (value - floor)) if value > floor else value


def _gibberish(sentences: Sequence[str], bounds: tuple[float, float]) -> float:
    return _rise(gibberish_share(sentences, bounds[0]), bounds)


def _rise(value: float, bounds: tuple[float, float]) -> float:
    """Return 0 up to the lower bound, 1 from the upper one, and a straight line between them."""
    low, high = bounds
    return min(1.0, max(0.0, (value - low) / (high - low)))
