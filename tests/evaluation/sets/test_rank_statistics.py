"""Rank correlations and the area under the curve against slow, obvious code."""

from __future__ import annotations

import numpy as np
import pytest

from weft.evaluation.metrics import ratio
from weft.evaluation.sets.rank_statistics import Statistic, auc, kendall, spearman, summarize_statistic

Values = list[float]


def slow_ranks(values: Values) -> Values:
    return [sum(b < a for b in values) + (sum(b == a for b in values) + 1) / 2 for a in values]


def slow_spearman(one: Values, other: Values) -> float:
    return float(np.corrcoef(slow_ranks(one), slow_ranks(other))[0, 1])


def slow_kendall(one: Values, other: Values) -> float:
    agreed = untied_one = untied_other = 0.0
    for i in range(len(one)):
        for j in range(i):
            a, b = np.sign(one[i] - one[j]), np.sign(other[i] - other[j])
            agreed += a * b
            untied_one += abs(a)
            untied_other += abs(b)
    return float(agreed / (untied_one * untied_other) ** 0.5)


def slow_auc(scores: Values, positive: list[bool]) -> float:
    pairs = [(p, n) for p, a in zip(scores, positive, strict=True) if a
             for n, b in zip(scores, positive, strict=True) if not b]  # fmt: skip
    return sum((p > n) + (p == n) / 2 for p, n in pairs) / len(pairs)


@pytest.fixture(scope="module")
def values() -> tuple[Values, Values]:
    generator = np.random.default_rng(3)
    one = generator.integers(0, 12, size=60).astype(float)
    other = np.round(one / 4 + generator.normal(size=60))
    return one.tolist(), other.tolist()


def once(statistic: Statistic, size: int) -> float:
    return float(statistic(np.ones((1, size)))[0])


def test_the_values_are_those_of_slow_code(values: tuple[Values, Values]) -> None:
    one, other = values
    positive = [value > 1 for value in other]
    assert once(spearman(one, other), 60) == pytest.approx(slow_spearman(one, other))
    assert once(kendall(one, other), 60) == pytest.approx(slow_kendall(one, other))
    assert once(auc(one, positive), 60) == pytest.approx(slow_auc(one, positive))


def test_a_weight_counts_a_document_several_times(values: tuple[Values, Values]) -> None:
    one, other = values
    counts = np.random.default_rng(1).integers(0, 3, size=60)
    again = np.repeat(np.arange(60), counts)
    longer_one, longer_other = [one[n] for n in again], [other[n] for n in again]
    weights = counts[None, :].astype(float)
    assert spearman(one, other)(weights)[0] == pytest.approx(slow_spearman(longer_one, longer_other))
    assert kendall(one, other)(weights)[0] == pytest.approx(slow_kendall(longer_one, longer_other))
    positive = [value > 1 for value in other]
    expected = slow_auc(longer_one, [positive[n] for n in again])
    assert auc(one, positive)(weights)[0] == pytest.approx(expected)


def test_items_of_one_document_are_drawn_together() -> None:
    found = auc([3.0, 1.0, 2.0, 0.0], [True, False, True, False], [0, 0, 1, 1])
    assert found(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).tolist() == [1.0, 1.0, 1.0]
    ranked = spearman([3.0, 1.0, 2.0, 0.0], [3.0, 1.0, 2.0, 0.0], [0, 0, 1, 1])
    assert ranked(np.array([[1.0, 0.0], [1.0, 1.0]])) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("statistic", [spearman, kendall])
def test_a_constant_has_no_correlation(statistic: type) -> None:
    assert np.isnan(once(statistic([1.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]), 5))
    measure, interval = summarize_statistic(statistic([1.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]), 5, seed=1)
    assert interval is None
    assert ratio(measure.numerators, measure.denominators) is None


def test_the_parts_have_the_value_as_their_mean_and_its_spread(values: tuple[Values, Values]) -> None:
    one, other = values
    measure, interval = summarize_statistic(spearman(one, other), 60, seed=1)
    assert ratio(measure.numerators, measure.denominators) == pytest.approx(slow_spearman(one, other))
    assert interval is not None
    by_jackknife = 2 * 1.96 * np.std(measure.numerators) / 60**0.5
    assert interval[1] - interval[0] == pytest.approx(by_jackknife, rel=0.25)
