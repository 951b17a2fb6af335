"""The pairwise ranker: scale of features, and cross-validation by text."""

from __future__ import annotations

import numpy as np
import pytest

from weft.models.common.pairwise_ranker import learn_ranking


def test_the_ranker_does_not_care_in_what_unit_a_feature_is() -> None:
    rows = np.random.default_rng(1).normal(loc=(0.5, 0.1, 0.0), size=(80, 3))
    group = np.repeat(np.arange(8), 10)
    plain, other = learn_ranking(rows, group), learn_ranking(rows * [1.0, 1000.0, 0.01], group)
    assert other.weights * [1.0, 1000.0, 0.01] == pytest.approx(plain.weights, rel=1e-3)
    assert other.cost == plain.cost


def test_pairs_of_one_text_are_never_on_both_sides() -> None:
    """Each text has a direction of its own: known for those learned from, a coin's toss for those left out."""
    generator = np.random.default_rng(2)
    rows = np.repeat(generator.normal(size=(40, 60)), 10, axis=0) + generator.normal(size=(400, 60)) * 0.1
    found = learn_ranking(rows, np.repeat(np.arange(40), 10))
    assert found.accuracy is not None and found.accuracy < 0.8
