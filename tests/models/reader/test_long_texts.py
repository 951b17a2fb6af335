"""Texts that are read in groups: the order comes back, and the number of groups is linear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from weft.evaluation.metrics import kendall_tau
from weft.models.reader.long_texts import PairObservations, ReadingPlan, _segments, merged_tables
from weft.models.reader.order_search import best_order

Table = np.ndarray


class NoisyOracle:
    """A reader that knows the order of a shuffled text, with noise, and counts what it reads."""

    def __init__(self, size: int, noise: float, seed: int = 1) -> None:
        self.generator, self.noise = np.random.default_rng(seed), noise
        self.places = self.generator.permutation(size)
        self.groups: list[list[int]] = []

    def __call__(self, groups: Sequence[Sequence[int]]) -> list[tuple[Table, Table]]:
        self.groups += [list(group) for group in groups]
        return [self._tables(self.places[list(group)]) for group in groups]

    def _tables(self, places: Table) -> tuple[Table, Table]:
        size = len(places)
        distance = places[None, :] - places[:, None]
        odds = np.triu(1.5 * np.sign(distance) + self.noise * self.generator.normal(size=(size, size)), 1)
        steps = 3.0 * (distance == 1) + 0.7 * self.noise * self.generator.normal(size=(size, size))
        chances = np.log(np.exp(steps).sum(axis=1, keepdims=True))
        return steps - chances + np.log(max(1, size - 1)), odds - odds.T

    def tau(self, order: Sequence[int]) -> float:
        return kendall_tau(self.places[list(order)].tolist()) or 0.0


@pytest.mark.parametrize(("size", "noise", "least"), [(100, 0.0, 0.99), (200, 1.0, 0.95), (400, 2.0, 0.9)])
def test_the_order_comes_back(size: int, noise: float, least: float) -> None:
    oracle = NoisyOracle(size, noise)
    follows, precedence = merged_tables(size, oracle)
    assert np.allclose(precedence, -precedence.T) and np.isfinite(follows).all()
    assert oracle.tau(best_order(follows, precedence / 32)) > least


def test_without_knowledge_the_order_is_random() -> None:
    taus = []
    for seed in range(20):
        oracle = NoisyOracle(100, 0.0, seed)
        places, oracle.places = oracle.places, np.zeros(100, dtype=int)
        oracle.noise = 1.0
        order = best_order(*merged_tables(100, oracle))
        taus.append(kendall_tau(places[list(order)].tolist()) or 0.0)
    assert abs(float(np.mean(taus))) < 0.1


def test_the_number_of_groups_is_linear() -> None:
    counts = []
    for size in (400, 800, 1600):
        oracle = NoisyOracle(size, 1.0)
        merged_tables(size, oracle)
        counts.append(len(oracle.groups))
        assert max(map(len, oracle.groups)) <= 32
        assert all(len(set(group)) == len(group) for group in oracle.groups)
        assert {number for group in oracle.groups for number in group} == set(range(size))
    assert counts[1] < 2.2 * counts[0] and counts[2] < 2.2 * counts[1]
    assert counts[2] < 9 * 1600 / 32


@pytest.mark.parametrize("size", [2, 5, 31, 32, 33, 47, 65])
def test_any_size(size: int) -> None:
    oracle = NoisyOracle(size, 0.0)
    follows, precedence = merged_tables(size, oracle)
    assert oracle.tau(best_order(follows, precedence)) > 0.9
    assert len(oracle.groups) == 1 or size > 32


def test_a_short_text_is_read_once_and_its_tables_are_unchanged() -> None:
    oracle = NoisyOracle(20, 1.0)
    again = NoisyOracle(20, 1.0)
    follows, precedence = merged_tables(20, oracle)
    expected = again([list(range(20))])[0]
    np.fill_diagonal(expected[0], 0.0)
    assert np.allclose(follows, expected[0]) and np.allclose(precedence, expected[1])


def test_pairs_never_read_together_follow_from_a_third() -> None:
    seen = PairObservations(3)
    odds = np.array([[0.0, 2.0], [-2.0, 0.0]])
    seen.add([0, 1], np.zeros((2, 2)), odds, adjacent=True)
    seen.add([1, 2], np.zeros((2, 2)), odds, adjacent=True)
    _, precedence = seen.tables()
    assert seen.order().tolist() == [0, 1, 2]
    assert precedence[0, 2] > 1.0 and precedence[2, 0] == -precedence[0, 2]


def test_segments_cover_an_order() -> None:
    for offset in (0, 5):
        parts = _segments(np.arange(23), 10, offset)
        assert np.concatenate(parts).tolist() == list(range(23))
    assert ReadingPlan().group == 32
