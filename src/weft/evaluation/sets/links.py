"""How strongly a model links neighbouring sentences: the local parts of its scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from weft.document import Document, Score
from weft.protocols import BreakModel

EVEN_ODDS = 0.5  # probability above which a break counts as marked if the model has no threshold of its own


def links_of(score: Score, document: Document) -> tuple[float, ...] | None:
    """Return one value for each pair of neighbouring sentences; None if the model has no such values."""
    links = score.transitions
    return links if len(links) == len(document) - 1 > 0 and all(map(np.isfinite, links)) else None


def unbroken(model: BreakModel, document: Document) -> tuple[float, ...]:
    """Return the log-odds that there is no break, for each pair of neighbouring sentences."""
    found = np.clip(np.asarray(model.break_probabilities(document)), 1e-12, 1 - 1e-12)
    return tuple((np.log1p(-found) - np.log(found)).tolist())


def marked_above(model: BreakModel) -> float:
    """Return the probability above which a break counts as marked: the model's own, if it is calibrated."""
    return EVEN_ODDS if model.break_calibration is None else model.break_calibration.threshold


def marked_breaks(model: object, score: Score, document: Document) -> tuple[int, ...]:
    """Return the links that a model itself marks as breaks: entry i is the one after sentence i."""
    if isinstance(model, BreakModel):
        threshold = marked_above(model)
        return tuple(n for n, p in enumerate(model.break_probabilities(document)) if p > threshold)
    return score.breaks


def weakest_inside(links: Sequence[float]) -> list[int]:
    """Return the sentences, without the first and the last, whose two links have the lowest sum; several for a tie.

    Example:
        >>> weakest_inside([0.9, 0.1, 0.2, 0.8]), weakest_inside([1.0, 1.0, 1.0])
        ([2], [1, 2])
    """
    sums = [left + right for left, right in pairwise(links)]
    return [place + 1 for place, value in enumerate(sums) if value == min(sums)]
