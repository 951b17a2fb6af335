"""Rank correlations and the area under the ROC curve, with bootstrap intervals over documents.

Each statistic is a function of weights, [resamples, documents]: how often each document is in each resample. One call
gives the value (all ones), the bootstrap interval (multinomial draws) and the jackknife (all ones but one).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from weft.evaluation.metrics import resample
from weft.evaluation.result import Measure

Numbers = npt.NDArray[np.float64]
Statistic = Callable[[Numbers], Numbers]  # weights [resamples, documents] -> values [resamples]; NaN where undefined
LOT = 500  # resamples at once


def spearman(first: Sequence[float], second: Sequence[float], documents: Sequence[int] | None = None) -> Statistic:
    """Return Spearman's ρ of two values per item: the correlation of their ranks, with mean ranks for ties.

    ``documents`` is the document of each item; by default each item is a document.

    Example:
        >>> spearman([1, 2, 3, 4], [10, 30, 20, 40])(np.ones((1, 4))).round(3).tolist()
        [0.8]
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    owners = np.arange(len(one)) if documents is None else np.asarray(documents)

    def value(weights: Numbers) -> Numbers:
        items = weights[:, owners]
        return _pearson(_ranks(one, items), _ranks(other, items), items)

    return value


def kendall(first: Sequence[float], second: Sequence[float]) -> Statistic:
    """Return Kendall's τ-b of two values per document, which allows for ties.

    Example:
        >>> kendall([1, 2, 3, 4], [10, 30, 20, 40])(np.ones((1, 4))).round(3).tolist()
        [0.667]
    """
    one, other = (np.sign(np.subtract.outer(np.asarray(x), np.asarray(x))).astype(np.float64) for x in (first, second))
    agreeing, untied_one, untied_other = one * other, np.abs(one), np.abs(other)  # [documents, documents] each

    def value(weights: Numbers) -> Numbers:
        agreed, pairs_one, pairs_other = (
            ((weights @ table) * weights).sum(axis=1) for table in (agreeing, untied_one, untied_other)
        )
        return _divided(agreed, np.sqrt(pairs_one * pairs_other))

    return value


def auc(scores: Sequence[float], positive: Sequence[bool], documents: Sequence[int] | None = None) -> Statistic:
    """Return the probability that a positive item scores higher than a negative one; a tie counts one half.

    Args:
        scores: One score per item.
        positive: Which items are positive.
        documents: The document of each item; by default each item is a document.

    Example:
        >>> auc([3, 2, 1, 0], [True, False, True, False])(np.ones((1, 4))).tolist()
        [0.75]
    """
    values, is_positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    owners = np.arange(len(values)) if documents is None else np.asarray(documents)
    order = np.argsort(values, kind="stable")
    starts = _group_starts(values[order])

    def value(weights: Numbers) -> Numbers:
        items = weights[:, owners[order]]
        above = np.add.reduceat(items * is_positive[order], starts, axis=1)  # [resamples, distinct scores]
        below = np.add.reduceat(items * ~is_positive[order], starts, axis=1)
        lower = np.cumsum(below, axis=1) - below
        return _divided((above * (lower + below / 2)).sum(axis=1), above.sum(axis=1) * below.sum(axis=1))

    return value


def summarize_statistic(
    statistic: Statistic, n_documents: int, *, seed: int
) -> tuple[Measure, tuple[float, float] | None]:
    """Return a statistic as a measure with one part per document, and its 95% bootstrap interval.

    The parts are the value plus each document's influence on it, by the jackknife. Their mean is the value, and two
    models are compared by them as by those of any other metric. An undefined statistic has denominators of 0.

    Example:
        >>> measure, interval = summarize_statistic(spearman([1, 2, 3, 4], [1, 2, 4, 3]), 4, seed=1)
        >>> round(sum(measure.numerators) / 4, 3), interval[0] <= 0.8 <= interval[1]
        (0.8, True)
    """
    value = float(statistic(np.ones((1, n_documents)))[0]) if n_documents else np.nan
    if np.isnan(value):
        return Measure((0.0,) * n_documents, (0.0,) * n_documents), None
    without = np.concatenate([statistic(lot) for lot in _left_out(n_documents)])
    without = np.where(np.isnan(without), value, without)  # a document without which it is undefined: no influence
    parts = value + (n_documents - 1) * (without.mean() - without)
    drawn = resample(n_documents, seed)
    lots = (drawn[start : start + LOT].astype(np.float64) for start in range(0, len(drawn), LOT))
    values = np.concatenate([statistic(lot) for lot in lots])
    measure, defined = Measure(tuple(parts.tolist()), (1.0,) * n_documents), values[~np.isnan(values)]
    if n_documents < 2 or not len(defined):
        return measure, None
    low, high = np.quantile(defined, [0.025, 0.975])
    return measure, (float(low), float(high))


def _left_out(size: int) -> list[Numbers]:
    """Return weights of 1 for all documents but one: [documents, documents], in lots."""
    return [1.0 - np.eye(size)[start : start + LOT] for start in range(0, size, LOT)]


def _group_starts(ordered: Numbers) -> npt.NDArray[np.intp]:
    """Return where each distinct value of sorted values begins."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


def _ranks(values: Numbers, weights: Numbers) -> Numbers:
    """Return the mean rank of each document among the documents of each resample: [resamples, documents]."""
    order = np.argsort(values, kind="stable")
    starts = _group_starts(values[order])
    totals = np.add.reduceat(weights[:, order], starts, axis=1)  # [resamples, distinct values]
    middle = np.cumsum(totals, axis=1) - totals / 2
    group = np.empty(len(values), dtype=np.intp)
    group[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))
    ranks: Numbers = middle[:, group]
    return ranks


def _pearson(one: Numbers, other: Numbers, weights: Numbers) -> Numbers:
    total = weights.sum(axis=1, keepdims=True)
    left, right = (x - (weights * x).sum(axis=1, keepdims=True) / total for x in (one, other))
    spread = np.sqrt((weights * left**2).sum(axis=1) * (weights * right**2).sum(axis=1))
    return _divided((weights * left * right).sum(axis=1), spread)


def _divided(numerators: Numbers, denominators: Numbers) -> Numbers:
    """Return quotients, NaN where the denominator is 0 but for rounding."""
    defined = denominators > 1e-9
    found: Numbers = np.where(defined, numerators / np.where(defined, denominators, 1.0), np.nan)
    return found
