"""A pairwise ranker: a linear SVM on the differences between what should win and what should lose.

Reference: T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002. Without an intercept, whether a
difference is above 0 is whether the first of a pair ranks higher.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import CorpusError
from weft.progress import Progress, silent

COSTS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
SINGLE_COST = 1e-2  # for a single text, of which nothing can be left out
FOLDS = 5
MOST_STEPS = 20_000  # the library's 1,000 are too few for a large C

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What was learned.

    Attributes:
        weights: One a feature: [features].
        cost: The C of the machine.
        accuracy: The share of pairs ranked right in cross-validation with this C; None where there was none.
    """

    weights: Reals
    cost: float
    accuracy: float | None


def learn_ranking(
    differences: npt.NDArray[np.floating[Any]], group: npt.NDArray[np.int64], *, progress: Progress = silent
) -> Ranking:
    """Weights under which most differences are above 0.

    Args:
        differences: Features of what should win less those of what should lose: [pairs, features].
        group: Which text each pair is of; all pairs of a text are on one side in cross-validation: [pairs].
        progress: Told of the cross-validation.

    Raises:
        CorpusError: There are no pairs.

    Example:
        >>> pairs = np.array([[1.0, 0.2], [0.8, -0.3], [1.2, 0.1], [0.9, -0.1]])
        >>> ranking = learn_ranking(pairs, np.arange(4))
        >>> bool((pairs @ ranking.weights > 0).all()), ranking.accuracy
        (True, 1.0)
    """
    used = np.flatnonzero(np.abs(differences).max(axis=0, initial=0.0))
    if not len(used):
        raise CorpusError(
            "not enough text to learn from",
            seen=f"{len(differences)} permutations, none of which differs from its text in any feature",
            allowed="at least one text that differs from its permutations",
            next_step="give more training text",
        )
    rows = differences[:, used].astype(np.float64)  # [pairs, used]
    scale = 1.0 / np.sqrt((rows**2).mean(axis=0))
    rows *= scale
    weights = np.zeros(differences.shape[1])
    cost, accuracy = choose_cost(rows, group, progress=progress)
    weights[used] = _fit(rows, cost) * scale
    return Ranking(weights, cost, accuracy)


def choose_cost(
    rows: Reals, group: npt.NDArray[np.int64], *, progress: Progress = silent
) -> tuple[float, float | None]:
    """The C that ranks most pairs of texts that were left out, of equals the smallest, and the share of them."""
    numbers, fold = np.unique(group, return_inverse=True)
    folds = min(FOLDS, len(numbers))
    if folds < 2:
        return SINGLE_COST, None
    right = dict.fromkeys(COSTS, 0)
    for done in range(folds):
        out = fold % folds == done
        for cost in COSTS:
            right[cost] += int((rows[out] @ _fit(rows[~out], cost) > 0).sum())
        best = max(COSTS, key=lambda cost: right[cost])
        progress(f"cross-validation (C = {best:g})", done + 1, folds)
    best = max(COSTS, key=lambda cost: right[cost])
    return best, right[best] / len(rows)


def _fit(rows: Reals, cost: float) -> Reals:
    from sklearn.svm import LinearSVC

    # The library wants two classes: every second pair is turned round, which changes nothing without an intercept.
    sign = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    if len(rows) == 1:
        rows, sign = np.concatenate([rows, -rows]), np.array([1.0, -1.0])
    # The primal problem has one solution and needs no random numbers. C counts per pair, whatever their number.
    machine = LinearSVC(C=cost, fit_intercept=False, dual=False, max_iter=MOST_STEPS).fit(rows * sign[:, None], sign)
    weights: Reals = machine.coef_[0]
    return weights
