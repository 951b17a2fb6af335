"""Calibrated probabilities of breaks, on data whose answer is known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from weft.errors import CorpusError, ModelError
from weft.scoring.break_calibration import (
    BreakCalibration,
    alarm_threshold,
    calibration_error,
    fit_calibration,
    platt,
    read_break_calibration,
    sigmoid,
)


def drawn(slope: float, intercept: float, n: int = 40_000) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds, and labels that are broken with the probability that slope and intercept give."""
    generator = np.random.default_rng(1)
    odds = generator.normal(-1.0, 2.0, n)
    return odds, (generator.random(n) < sigmoid(slope * odds + intercept)).astype(float)


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.4, -1.5), (3.0, 2.0)])
def test_platt_finds_the_slope_and_intercept_behind_labels(slope: float, intercept: float) -> None:
    odds, labels = drawn(slope, intercept)
    assert platt(odds, labels) == pytest.approx((slope, intercept), abs=0.12)


def test_calibration_lowers_the_error_and_keeps_the_order_of_gaps() -> None:
    odds, labels = drawn(0.4, -1.5)
    found = fit_calibration(odds.tolist(), (labels > 0).tolist(), [odds[:5].tolist()])
    assert found.error < 0.01 < 0.1 < found.error_before
    ranked = np.argsort(odds)
    assert (np.diff(np.array(found.probabilities(odds))[ranked]) >= 0).all()
    assert np.mean(found.probabilities(odds)) == pytest.approx(labels.mean(), abs=1e-6)


def test_log_odds_that_say_nothing_or_the_opposite_give_the_share_of_breaks_and_no_mark() -> None:
    odds, labels = drawn(1.0, 0.0, n=2000)
    found = fit_calibration((-odds).tolist(), (labels > 0).tolist(), [[-1.0, 2.0], [3.0]])
    assert found.slope == 0.0
    assert found.probabilities([-5.0, 5.0]) == pytest.approx([labels.mean()] * 2)
    assert found.marks(found.probabilities([-5.0, 5.0])) == ()


def test_separable_and_constant_log_odds_stay_finite() -> None:
    found = fit_calibration([-4.0, -3.0, 3.0, 4.0], [False, False, True, True], [[-4.0, -3.0]])
    low, high = found.probabilities([-3.0, 3.0])
    assert np.isfinite([found.slope, found.intercept]).all() and low < 0.05 and high > 0.95
    flat = fit_calibration([1.0, 1.0], [False, True], [[1.0]])
    assert flat.probabilities([1.0]) == pytest.approx([0.5])


def test_the_threshold_lets_five_of_a_hundred_sound_texts_have_a_mark() -> None:
    generator = np.random.default_rng(2)
    odds, labels = drawn(1.0, 0.0, n=2000)
    sound = [generator.normal(-2.0, 1.0, size).tolist() for size in generator.integers(2, 20, 400)]
    found = fit_calibration(odds.tolist(), (labels > 0).tolist(), sound, name="drawn")
    marked = sum(bool(found.marks(found.probabilities(text))) for text in sound)
    assert marked == 20 and (found.texts, found.gaps, found.name) == (400, 2000, "drawn")


@pytest.mark.parametrize(("share", "threshold"), [(0.0, 0.9), (0.1, 0.8), (0.19, 0.8), (0.2, 0.7), (1.0, 0.0)])
def test_thresholds_count_texts(share: float, threshold: float) -> None:
    highest = [number / 10 for number in range(10)]
    assert alarm_threshold(highest, share) == threshold
    assert sum(value > threshold for value in highest) <= share * 10


def test_ties_at_the_threshold_are_not_marked() -> None:
    assert sum(value > alarm_threshold([0.5] * 10, 0.05) for value in [0.5] * 10) == 0


def test_the_calibration_error_is_the_distance_between_probability_and_frequency() -> None:
    assert calibration_error([0.25] * 4, [1, 0, 0, 0]) == pytest.approx(0.0)
    assert calibration_error([0.0, 1.0], [1, 0]) == pytest.approx(1.0)
    assert calibration_error([0.1, 0.1, 0.95, 0.95], [0, 0, 1, 0]) == pytest.approx((0.1 + 0.1 + 0.9) / 4)
    assert calibration_error([], []) == 0.0


def test_it_needs_breaks_and_sound_texts() -> None:
    for odds, broken, sound in (([1.0], [True], [[0.0]]), ([1.0, 2.0], [True, False], []), ([], [], [[0.0]])):
        with pytest.raises(CorpusError, match="too few gaps"):
            fit_calibration(odds, broken, sound)


def test_it_survives_the_disk_and_refuses_what_it_did_not_write() -> None:
    kept = BreakCalibration(1.5, -0.5, 0.8, name="essays", gaps=3, texts=2, error=0.01, error_before=0.2)
    assert read_break_calibration(kept.to_text(), source="here") == kept
    content = json.loads(kept.to_text())
    for bad in ("{", "[]", "{}", "[" * 100_000, *(json.dumps({**content, "slope": odd}) for odd in (-1, "x", None))):
        with pytest.raises(ModelError, match="weft calibrate"):
            read_break_calibration(bad, source="here")
    with pytest.raises(ModelError, match="not finite"):
        read_break_calibration(json.dumps({**content, "threshold": float("nan")}), source="here")
