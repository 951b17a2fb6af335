"""Metrics as pure functions of numbers, and their bootstrap intervals.

Ties count as wrong. Kendall's τ is computed per document and then averaged. Intervals come from resampling documents,
because the twenty permutations of one document are not twenty independent trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

Verdict = Literal["win", "tie", "loss"]  # of a comparison of two scores; only a win counts as correct
RESAMPLES = 5000
CACHED_DOCUMENTS, LOT = 10_000, 50  # for more documents, resamples are drawn in lots and not cached


def kendall_tau(order: Sequence[int]) -> float | None:
    """Return Kendall's τ between a proposed order and the original: 1 − 2 · inversions / (N(N−1)/2).

    Paper: the appendix prints 1 − 2 · inversions / (N(N−1)), which ranges from 0 to 1. The paper's numbers and Lapata's
    definition have the /2, which gives a random order about 0.

    Args:
        order: For each position of the proposed text, the position of its sentence in the original.

    Returns:
        −1 (reversed) to 1 (equal); ``None`` for fewer than two sentences, where no pair exists.

    Example:
        >>> kendall_tau([0, 1, 2]), kendall_tau([2, 1, 0]), kendall_tau([7])
        (1.0, -1.0, None)
    """
    size = len(order)
    if size < 2:
        return None
    places = np.asarray(order)
    inversions = int(np.triu(places[:, None] > places[None, :], k=1).sum())
    return 1.0 - 2.0 * inversions / (size * (size - 1) / 2)


def position_accuracy(order: Sequence[int]) -> float:
    """Return the share of sentences in their original position.

    Example:
        >>> position_accuracy([0, 2, 1])
        0.3333333333333333
    """
    return float(np.mean(np.asarray(order) == np.sort(order)))


def perfect_match(order: Sequence[int]) -> float:
    """Return 1 if the whole order is the original, else 0.

    Example:
        >>> perfect_match([0, 1, 2]), perfect_match([1, 0, 2])
        (1.0, 0.0)
    """
    return float(list(order) == sorted(order))


def compare_scores(original: float | None, negative: float | None) -> Verdict:
    """Return whether an original scores strictly higher than a negative; a missing score or a NaN is a tie.

    Example:
        >>> [compare_scores(0.5, other) for other in (0.4, 0.5, None, 0.6)]
        ['win', 'tie', 'tie', 'loss']
    """
    if original is None or negative is None or original != original or negative != negative:
        return "tie"
    return "win" if original > negative else "loss" if original < negative else "tie"


def best_alone(values: Sequence[float | None]) -> list[int]:
    """Return the places of the highest value: one, or several for a tie; a missing value or a NaN is never highest.

    Example:
        >>> best_alone([0.1, 0.7, None]), best_alone([0.7, 0.7]), best_alone([None, None])
        ([1], [0, 1], [0, 1])
    """
    known = [float("-inf") if value is None or value != value else value for value in values]
    return [place for place, value in enumerate(known) if value == max(known)]


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float | None:
    """Return sum over sum: the mean over pairs for accuracy (denominators: pairs), over documents for τ (ones)."""
    total = float(np.sum(denominators))
    return float(np.sum(numerators)) / total if total else None


@lru_cache(maxsize=8)
def resample(documents: int, seed: int) -> npt.NDArray[np.int16]:
    """Return how often each document is drawn in each resample: [resamples, documents].

    Cached, because a page of results uses the same draws for every pair of rows, and drawing takes most of the time.
    """
    generator = np.random.default_rng(seed)
    draws = generator.multinomial(documents, np.full(documents, 1 / documents), size=RESAMPLES).astype(np.int16)
    draws.setflags(write=False)
    return draws


def _resampled_sums(values: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Return sums of values [documents, columns] over the documents of each resample: [resamples, columns]."""
    documents = len(values)
    if documents <= CACHED_DOCUMENTS:
        draws = resample(documents, seed)
        return np.stack([draws @ column for column in values.T], axis=1)
    generator, shares = np.random.default_rng(seed), np.full(documents, 1 / documents)
    lots = (generator.multinomial(documents, shares, size=LOT) @ values for _ in range(RESAMPLES // LOT))
    return np.concatenate(list(lots))


def bootstrap_interval(
    numerators: Sequence[float], denominators: Sequence[float], *, seed: int = 1
) -> tuple[float, float] | None:
    """Return the 95% percentile interval of `ratio` over resampled documents; None for fewer than two documents.

    A document with the denominator 0 does not count: resampling one document gives the same value every time.

    Example:
        >>> low, high = bootstrap_interval([18, 20, 15], [20, 20, 20])
        >>> low <= 53 / 60 <= high
        True
        >>> bootstrap_interval([1, 0, 0], [1, 0, 0]) is None
        True
    """
    if np.count_nonzero(denominators) < 2:
        return None
    parts = np.column_stack([numerators, denominators]).astype(np.float64)  # [documents, 2]
    sums, totals = _resampled_sums(parts, seed).T  # [resamples] each
    ratios = sums[totals > 0] / totals[totals > 0]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between two models on the same documents."""

    difference: float  # first minus second
    # 95% interval of the difference, which is significant if 0 is outside; None for fewer than two documents.
    interval: tuple[float, float] | None
    p_value: float  # two-sided bootstrap probability of a difference at least this far from 0
    n_documents: int  # number of documents


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], denominators: Sequence[float], *, seed: int = 1
) -> Comparison:
    """Compare two models by resampling the documents both were run on.

    Args:
        first: Numerators of the first model, one per document (pairs won, or τ).
        second: Numerators of the second, for the same documents.
        denominators: Number of pairs of each document, or ones.
        seed: Seed of the resampling.

    Example:
        >>> paired_bootstrap([20.0] * 50, [10.0] * 50, [20.0] * 50).difference
        0.5
    """
    if not len(first) == len(second) == len(denominators):
        raise ValueError(f"unequal lengths: {len(first)}, {len(second)}, {len(denominators)}")
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)  # [documents]
    weights = np.asarray(denominators, dtype=np.float64)
    sums, totals = _resampled_sums(np.column_stack([gaps, weights]), seed).T  # [resamples] each
    differences = sums / np.maximum(totals, 1e-12)
    difference = float(gaps.sum() / weights.sum())
    if np.count_nonzero(weights) < 2:  # one document does not vary
        return Comparison(difference, None, 1.0, len(gaps))
    low, high = np.quantile(differences, [0.025, 0.975])
    tail = min(float(np.mean(differences <= 0)), float(np.mean(differences >= 0)))
    # B resamples cannot distinguish probabilities below 1/B from 0.
    p_value = min(1.0, 2 * max(tail, 1 / RESAMPLES))
    return Comparison(difference, (float(low), float(high)), p_value, len(gaps))
