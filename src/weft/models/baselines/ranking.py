"""A pairwise ranker: a linear SVM on the differences between what should win and what should lose.

Reference: T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002. Without an intercept, whether a
difference is above 0 is whether the first of a pair ranks higher.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import CorpusError
from weft.progress import Progress, silent

COSTS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
FOLDS = 5

Reals = npt.NDArray[np.float64]


def learn_ranking(
    differences: npt.NDArray[np.floating[Any]], group: npt.NDArray[np.int64], *, progress: Progress = silent
) -> Reals:
    """Weights under which most differences are above 0: [features].

    Args:
        differences: Features of what should win less those of what should lose: [pairs, features].
        group: Which text each pair is of; all pairs of a text are on one side in cross-validation: [pairs].
        progress: Told of the cross-validation.

    Raises:
        CorpusError: There are no pairs.

    Example:
        >>> pairs = np.array([[1.0, 0.2], [0.8, -0.3], [1.2, 0.1], [0.9, -0.1]])
        >>> weights = learn_ranking(pairs, np.arange(4))
        >>> bool((pairs @ weights > 0).all())
        True
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
    weights[used] = _fit(rows, choose_cost(rows, group, progress=progress)) * scale
    return weights


def choose_cost(rows: Reals, group: npt.NDArray[np.int64], *, progress: Progress = silent) -> float:
    """The C that ranks most pairs of texts that were left out; of equals the smallest; 0.01 for a single text."""
    numbers, fold = np.unique(group, return_inverse=True)
    folds = min(FOLDS, len(numbers))
    if folds < 2:
        return 0.01
    right = dict.fromkeys(COSTS, 0)
    for done in range(folds):
        out = fold % folds == done
        for cost in COSTS:
            right[cost] += int((rows[out] @ _fit(rows[~out], cost) > 0).sum())
        best = max(COSTS, key=lambda cost: right[cost])
        progress(f"cross-validation (C = {best:g})", done + 1, folds)
    return max(COSTS, key=lambda cost: right[cost])


def _fit(rows: Reals, cost: float) -> Reals:
    from sklearn.svm import LinearSVC

    # The library wants two classes: every second pair is turned round, which changes nothing without an intercept.
    sign = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    if len(rows) == 1:
        rows, sign = np.concatenate([rows, -rows]), np.array([1.0, -1.0])
    # The primal problem has one solution and needs no random numbers. C counts per pair, whatever their number.
    machine = LinearSVC(C=cost, fit_intercept=False, dual=False).fit(rows * sign[:, None], sign)
    weights: Reals = machine.coef_[0]
    return weights
