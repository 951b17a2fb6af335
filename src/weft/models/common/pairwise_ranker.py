"""A pairwise ranker: a linear SVM on feature differences between texts and their permutations.

Reference: T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002. The SVM has no intercept: the
first text of a pair ranks higher if the weighted difference is above 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import CorpusError
from weft.progress import Progress, silent

COSTS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
SINGLE_COST = 1e-2  # for a single text, which allows no cross-validation
FOLDS = 5
MOST_STEPS = 20_000  # the default of 1,000 is too low for a large C

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result of training."""

    weights: Reals  # the weight of each feature: [features]
    cost: float  # the parameter C of the SVM
    # Share of pairs that are ranked correctly in cross-validation; None without cross-validation.
    accuracy: float | None


def learn_ranking(
    differences: npt.NDArray[np.floating[Any]], group: npt.NDArray[np.int64], *, progress: Progress = silent
) -> Ranking:
    """Return weights under which most differences are above 0.

    Args:
        differences: Features of the better text minus those of the worse one: [pairs, features].
        group: The text of each pair; cross-validation does not divide the pairs of a text: [pairs].
        progress: Called with the progress of cross-validation.

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
            seen=f"{len(differences)} permutations, all with the same features as their texts",
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
    """Return the C that ranks most held-out pairs correctly, the smallest of equals, and the share of such pairs."""
    numbers, fold = np.unique(group, return_inverse=True)
    folds = min(FOLDS, len(numbers))
    if folds < 2:
        return SINGLE_COST, None
    right = dict.fromkeys(COSTS, 0)
    for done in range(folds):
        held_out = fold % folds == done
        for cost in COSTS:
            right[cost] += int((rows[held_out] @ _fit(rows[~held_out], cost) > 0).sum())
        best = max(COSTS, key=lambda cost: right[cost])
        progress(f"cross-validation (C = {best:g})", done + 1, folds)
    best = max(COSTS, key=lambda cost: right[cost])
    return best, right[best] / len(rows)


def _fit(rows: Reals, cost: float) -> Reals:
    from sklearn.svm import LinearSVC

    # LinearSVC needs two classes: every second pair is negated, which changes nothing without an intercept.
    sign = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    if len(rows) == 1:
        rows, sign = np.concatenate([rows, -rows]), np.array([1.0, -1.0])
    # The primal problem has one solution and needs no random numbers.
    machine = LinearSVC(C=cost, fit_intercept=False, dual=False, max_iter=MOST_STEPS).fit(rows * sign[:, None], sign)
    weights: Reals = machine.coef_[0]
    return weights
