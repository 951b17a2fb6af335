from __future__ import annotations

import numpy as np
import pytest

from weft.evaluation.metrics import (
    bootstrap_interval,
    compare_scores,
    kendall_tau,
    paired_bootstrap,
    perfect_match,
    position_accuracy,
    ratio,
)


def test_tau_of_known_orders() -> None:
    assert kendall_tau([0, 1, 2, 3]) == 1.0
    assert kendall_tau([3, 2, 1, 0]) == -1.0
    assert kendall_tau([1, 0, 2]) == pytest.approx(1 / 3)


def test_tau_is_undefined_without_a_pair() -> None:
    assert kendall_tau([]) is None
    assert kendall_tau([5]) is None


def test_tau_counts_relative_places_only() -> None:
    assert kendall_tau([4, 7, 9]) == 1.0


def test_ties_missing_scores_and_nan_are_never_wins() -> None:
    nan = float("nan")
    assert [compare_scores(0.5, other) for other in (0.4, 0.5, 0.6)] == ["win", "tie", "loss"]
    undefined = ((None, 0.4), (None, None), (0.5, None), (0.5, nan), (nan, 0.1), (nan, nan))
    assert all(compare_scores(*pair) == "tie" for pair in undefined)


def test_position_accuracy_and_perfect_match() -> None:
    assert position_accuracy([0, 2, 1, 3]) == 0.5
    assert position_accuracy([3, 5, 9]) == 1.0
    assert perfect_match([3, 5, 9]) == 1.0
    assert perfect_match([5, 3, 9]) == 0.0


def test_ratio_of_nothing_is_none() -> None:
    assert ratio([], []) is None
    assert ratio([1.0], [0.0]) is None


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(7)
    covered = 0
    for trial in range(100):
        correct = generator.binomial(20, 0.7, size=40)
        low, high = bootstrap_interval(correct.tolist(), [20.0] * 40, seed=trial) or (0.0, 0.0)
        covered += low <= 0.7 <= high
    assert 88 <= covered <= 100  # 95 expected; three standard errors are 7


def test_interval_resamples_documents_not_pairs() -> None:
    """Twenty pairs of one document stand or fall together: ten such documents are ten observations, not 200."""
    low, high = bootstrap_interval([20.0] * 5 + [0.0] * 5, [20.0] * 10) or (0.0, 0.0)
    assert high - low > 0.5


def test_interval_of_nothing_is_none() -> None:
    assert bootstrap_interval([], []) is None
    assert bootstrap_interval([0.0], [0.0]) is None


def test_paired_bootstrap_sees_a_small_steady_difference() -> None:
    generator = np.random.default_rng(3)
    hard = generator.uniform(0.2, 0.8, size=300)  # documents differ far more than the models do
    comparison = paired_bootstrap((hard + 0.02).tolist(), hard.tolist(), [1.0] * 300)
    assert comparison.difference == pytest.approx(0.02)
    assert comparison.interval is not None and comparison.interval[0] > 0
    assert comparison.p_value < 0.01


def test_paired_bootstrap_of_equal_models_finds_nothing() -> None:
    generator = np.random.default_rng(3)
    one, other = generator.normal(size=200), generator.normal(size=200)
    comparison = paired_bootstrap(one.tolist(), other.tolist(), [1.0] * 200)
    assert comparison.interval is not None and comparison.interval[0] < 0 < comparison.interval[1]
    same = paired_bootstrap(one.tolist(), one.tolist(), [1.0] * 200)
    assert same.difference == 0
    assert same.p_value == 1.0


def test_of_one_document_there_is_no_interval_and_no_difference_that_counts() -> None:
    assert bootstrap_interval([18.0], [20.0]) is None
    alone = paired_bootstrap([20.0], [10.0], [20.0])
    assert (alone.difference, alone.interval, alone.p_value, alone.n_documents) == (0.5, None, 1.0, 1)


def test_a_metric_of_one_document_among_others_has_no_interval() -> None:
    """As a phenomenon with one pair: the other documents do not count."""
    assert bootstrap_interval([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]) is None
    assert bootstrap_interval([1.0, 0.0, 0.0], [1.0, 1.0, 0.0]) is not None
    alone = paired_bootstrap([1.0, 0.0], [0.0, 0.0], [1.0, 0.0])
    assert (alone.difference, alone.interval, alone.p_value) == (1.0, None, 1.0)


def test_paired_bootstrap_refuses_unequal_lengths() -> None:
    with pytest.raises(ValueError, match="unequal lengths"):
        paired_bootstrap([1.0], [1.0, 2.0], [1.0])


def test_paired_bootstrap_is_two_sided() -> None:
    """Three documents, one lost: the resampled sum is 0 or less if it is drawn twice or more, 7 times in 27."""
    comparison = paired_bootstrap([1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0] * 3)
    assert comparison.p_value == pytest.approx(2 * 7 / 27, abs=0.04)
    mirrored = paired_bootstrap([0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0] * 3)
    assert mirrored.p_value == pytest.approx(2 * 7 / 27, abs=0.04)


def test_intervals_are_as_wide_as_95_percent() -> None:
    """Of a mean of many values: 2 · 1.96 standard errors; a 90% interval would be a sixth narrower."""
    values = np.random.default_rng(5).normal(size=900)
    expected = 2 * 1.96 * float(values.std()) / 30
    low, high = bootstrap_interval(values.tolist(), [1.0] * 900) or (0.0, 0.0)
    assert high - low == pytest.approx(expected, rel=0.06)
    low, high = paired_bootstrap(values.tolist(), [0.0] * 900, [1.0] * 900).interval or (0.0, 0.0)
    assert high - low == pytest.approx(expected, rel=0.06)


def test_paired_bootstrap_weighs_documents_by_their_pairs() -> None:
    """Against a model that wins nothing, the difference and its interval are those of the first model alone."""
    wins, pairs = [10.0] * 30 + [1.0] * 30, [20.0] * 30 + [1.0] * 30
    comparison = paired_bootstrap(wins, [0.0] * 60, pairs)
    assert comparison.difference == pytest.approx(330 / 630)
    assert comparison.interval == pytest.approx(bootstrap_interval(wins, pairs))


def test_many_documents_are_resampled_in_lots_to_the_same_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.evaluation import metrics

    numerators, denominators = [float(n % 7) for n in range(40)], [7.0] * 40
    whole = metrics.bootstrap_interval(numerators, denominators)
    monkeypatch.setattr(metrics, "CACHED_DOCUMENTS", 10)
    assert metrics.bootstrap_interval(numerators, denominators) == pytest.approx(whole)
