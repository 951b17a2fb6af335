"""Calibrated probabilities of breaks: what a model's log-odds mean, and above which probability a gap is marked.

A network that says "0.8" need not be right in 80% of cases. Platt's method fits p = 1 / (1 + exp(−(a x + b))) to
log-odds x of gaps that are known to be sound or broken. It keeps the order of gaps, so that nothing is found or missed
because of it. The threshold is chosen on sound texts alone, by the share of them that may have a mark.

Reference: Platt 1999; Guo et al. 2017 (expected calibration error).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from weft.errors import CorpusError, ModelError

BREAK_CALIBRATION = "breaks.json"  # in a model folder
FALSE_ALARMS = 0.05  # share of sound texts that may have a mark
BINS = 15
ROUNDS = 100  # of Newton's method, which needs fewer than ten
MOST_ODDS = 500.0  # exp of more overflows
RIDGE = 1e-6  # keeps the slope finite if the log-odds separate sound from broken gaps

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BreakCalibration:
    """How a model's log-odds of a break become probabilities and marks.

    Attributes:
        slope: Factor of the log-odds, 0 or more.
        intercept: What is added to them.
        threshold: A gap is marked if its calibrated probability is higher.
        false_alarms: Share of sound texts that may have a mark, for which the threshold was chosen.
        error: Expected calibration error of the calibrated probabilities.
        error_before: Expected calibration error of the model's own probabilities.
        gaps: Number of gaps of the fit.
        texts: Number of sound texts behind the threshold.
        name: A description of the texts.

    Example:
        >>> calibration = BreakCalibration(slope=2.0, intercept=-1.0, threshold=0.7)
        >>> [round(one, 2) for one in calibration.probabilities([0.5, 2.0])], calibration.marks([0.5, 0.95])
        ([0.5, 0.95], (1,))
    """

    slope: float
    intercept: float
    threshold: float
    false_alarms: float = FALSE_ALARMS
    error: float = 0.0
    error_before: float = 0.0
    gaps: int = 0
    texts: int = 0
    name: str = ""

    def probabilities(self, odds: Sequence[float] | Array) -> tuple[float, ...]:
        """Return calibrated probabilities of log-odds."""
        return tuple(sigmoid(self.slope * np.asarray(odds, dtype=np.float64) + self.intercept).tolist())

    def marks(self, probabilities: Sequence[float]) -> tuple[int, ...]:
        """Return the gaps whose calibrated probability is above the threshold."""
        return tuple(gap for gap, probability in enumerate(probabilities) if probability > self.threshold)

    def to_text(self) -> str:
        """Return the calibration as JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"


def sigmoid(odds: Array) -> Array:
    """Return the probabilities of log-odds.

    Example:
        >>> sigmoid(np.array([-1e9, 0.0, 1e9])).round(3).tolist()
        [0.0, 0.5, 1.0]
    """
    found: Array = 1 / (1 + np.exp(-np.clip(odds, -MOST_ODDS, MOST_ODDS)))
    return found


def fit_calibration(
    odds: Sequence[float],
    broken: Sequence[bool],
    sound_texts: Sequence[Sequence[float]],
    *,
    false_alarms: float = FALSE_ALARMS,
    name: str = "",
) -> BreakCalibration:
    """Return the calibration of a model from its log-odds.

    Args:
        odds: Log-odds of gaps.
        broken: Whether each of these gaps is a break.
        sound_texts: The log-odds of all gaps of each sound text.
        false_alarms: Share of sound texts that may have a mark.
        name: A description of the texts.

    Raises:
        CorpusError: All gaps are sound, all are broken, or there is no sound text.

    Example:
        >>> found = fit_calibration([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0], [False, False, False, True, True, True], [[0.5]])
        >>> found.slope > 1, abs(round(found.intercept, 3)), found.threshold == found.probabilities([0.5])[0]
        (True, 0.0, True)
    """
    values, labels = np.asarray(odds, dtype=np.float64), np.asarray(broken, dtype=np.float64)
    if not any(map(len, sound_texts)) or len(set(labels.tolist())) < 2:
        raise CorpusError(
            "too few gaps to calibrate probabilities of breaks",
            seen=f"{len(sound_texts)} sound texts, {int(labels.sum())} breaks among {len(labels)} gaps",
            allowed="sound texts, and both sound gaps and breaks",
            next_step="calibrate with more texts",
        )
    slope, intercept = platt(values, labels)
    highest = [float(np.max(sigmoid(slope * np.asarray(one) + intercept))) for one in sound_texts if len(one)]
    return BreakCalibration(
        slope,
        intercept,
        threshold=alarm_threshold(highest, false_alarms),
        false_alarms=false_alarms,
        error=calibration_error(sigmoid(slope * values + intercept), labels),
        error_before=calibration_error(sigmoid(values), labels),
        gaps=len(values),
        texts=len(sound_texts),
        name=name,
    )


def platt(odds: Array, labels: Array) -> tuple[float, float]:
    """Return slope and intercept that maximise the likelihood of labels (0 or 1), by Newton's method.

    The slope is never negative: log-odds that fall where the text breaks say nothing, and every gap gets the share of
    breaks as its probability.

    Example:
        >>> [round(one, 3) for one in platt(np.array([2.0, 2.0, 2.0, -2.0]), np.array([1.0, 1.0, 0.0, 0.0]))][0] > 0
        True
    """
    spread = float(np.std(odds)) or 1.0
    centre = float(np.mean(odds))
    inputs = np.stack([(odds - centre) / spread, np.ones_like(odds)], axis=1)  # [gaps, 2]
    share = float(np.mean(labels))
    weights = np.array([0.0, math.log(share / (1 - share))])
    penalty = np.diag([RIDGE * len(odds), 0.0])

    def loss(tried: Array) -> float:
        logits = inputs @ tried
        return float(np.sum(np.logaddexp(0.0, logits) - labels * logits) + tried @ penalty @ tried / 2)

    for _ in range(ROUNDS):
        chances = sigmoid(inputs @ weights)
        gradient = inputs.T @ (chances - labels) + penalty @ weights
        curvature = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + penalty + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        length = 1.0
        while loss(weights - length * step) > loss(weights) and length > 1e-6:  # Newton's steps can be too long
            length /= 2
        weights = weights - length * step
        if float(np.abs(step).max()) < 1e-10:
            break
    if weights[0] <= 0:
        return 0.0, math.log(share / (1 - share))
    return float(weights[0] / spread), float(weights[1] - weights[0] * centre / spread)


def alarm_threshold(highest: Sequence[float], false_alarms: float) -> float:
    """Return the lowest threshold above which at most a share of sound texts have a gap.

    Args:
        highest: The highest probability of each sound text.
        false_alarms: The share of these texts that may have a mark.

    Example:
        >>> alarm_threshold([0.1, 0.2, 0.3, 0.9], 0.25)
        0.3
    """
    ranked = sorted(highest, reverse=True)
    return ranked[min(len(ranked) - 1, math.floor(false_alarms * len(ranked) + 1e-9))]


def calibration_error(
    probabilities: Sequence[float] | Array, labels: Sequence[float] | Array, *, bins: int = BINS
) -> float:
    """Return the expected calibration error: the mean gap between probability and frequency, over equal bins.

    Example:
        >>> round(calibration_error([0.9, 0.9, 0.9, 0.9], [1, 1, 0, 0]), 3)
        0.4
    """
    chances, truth = np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if not len(chances):
        return 0.0
    groups = np.minimum((chances * bins).astype(np.int64), bins - 1)
    sums = np.bincount(groups, weights=chances - truth, minlength=bins)  # of each bin
    return float(np.abs(sums).sum() / len(chances))


def read_break_calibration(text: str, *, source: str) -> BreakCalibration:
    """Parse the result of `BreakCalibration.to_text`.

    Raises:
        ModelError: The text has another format.
    """
    try:
        content = json.loads(text)
        found = BreakCalibration(
            slope=float(content["slope"]),
            intercept=float(content["intercept"]),
            threshold=float(content["threshold"]),
            false_alarms=float(content["false_alarms"]),
            error=float(content["error"]),
            error_before=float(content["error_before"]),
            gaps=int(content["gaps"]),
            texts=int(content["texts"]),
            name=str(content["name"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise _unreadable(source, str(error)) from error
    numbers = (found.slope, found.intercept, found.threshold, found.false_alarms, found.error, found.error_before)
    if not all(map(math.isfinite, numbers)) or found.slope < 0:
        raise _unreadable(source, "a number that is not finite, or a slope below 0")
    return found


def _unreadable(source: str, why: str) -> ModelError:
    return ModelError(
        f"the calibration of breaks in {source} cannot be read",
        seen=why[:200],
        allowed="a file written by `weft calibrate`",
        next_step="run `weft calibrate` again, or copy the model again",
    )
