"""How long the sentences of both sides are: what gives a system away before a word of it is read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.tasks.adversarial.chunks import CONTEXT
from weft.tasks.adversarial.opponents import Bout
from weft.tasks.adversarial.rows import Whole

BINS = 20
Shares = npt.NDArray[np.float64]


def tokens_a_sentence(bout: Bout) -> tuple[float, float]:
    """Mean tokens of the sentences that continue, in the test part: of people, and of their opponents."""
    human, machine = (bout.rows.lengths[side["test"][:, CONTEXT:]].mean() for side in (bout.human, bout.machine))
    return float(human), float(machine)


def like_lengths(bout: Bout) -> Shares:
    """Weights of the opponent's test chunks by which their continuations are as long as those of people: [chunks].

    Lengths of whole continuations fall into bins with as many chunks of both sides together; in every bin the opponent
    then weighs as much as people. Opponents in a bin without people weigh nothing.

    Example:
        >>> from weft.tasks.adversarial.rows import IdRows
        >>> rows = IdRows.of([[1], [1] * 9])
        >>> short, long = [0, 0, 0, 0], [0, 0, 0, 1]
        >>> human, machine = {"test": np.array([short, long])}, {"test": np.array([short, short, short, long])}
        >>> like_lengths(Bout(rows, human, machine, {})).round(2).tolist()
        [0.67, 0.67, 0.67, 2.0]
    """
    human, machine = (_lengths(bout, side["test"]) for side in (bout.human, bout.machine))
    edges = np.unique(np.quantile(np.concatenate([human, machine]), np.linspace(0, 1, BINS + 1)[1:-1]))
    places = [np.searchsorted(edges, lengths, side="right") for lengths in (human, machine)]
    wanted, found = (np.bincount(place, minlength=len(edges) + 1) / len(place) for place in places)
    weights: Shares = (wanted / np.maximum(found, 1e-12))[places[1]]
    return weights


def _lengths(bout: Bout, chunks: Whole) -> Whole:
    """Tokens of continuations: [chunks]."""
    found: Whole = bout.rows.lengths[chunks[:, CONTEXT:]].sum(axis=1)
    return found
