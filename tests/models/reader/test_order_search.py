"""The search for an order by tables: never worse than its start, close to the best, and fast."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.models.reader.order_search import _block_gains, _Search, best_order, moved_block, order_value


def random_tables(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    follows, drawn = np.random.default_rng(seed).normal(size=(2, size, size))
    return follows, (drawn - drawn.T) / max(1, size)


def text_tables(size: int, seed: int, noise: float = 1.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tables of a text with an order, with noise, and the place of each sentence."""
    generator = np.random.default_rng(seed)
    places = generator.permutation(size)
    distance = places[None, :] - places[:, None]
    odds = np.triu(np.sign(distance) + noise * generator.normal(size=(size, size)), 1)
    follows = noise * generator.normal(size=(size, size)) + 4.0 * (distance == 1)
    return follows, 4 * (odds - odds.T) / size, places


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 12), st.integers(0, 10_000), st.booleans())
def test_the_order_is_a_permutation_and_never_worse_than_its_start(size: int, seed: int, fixed: bool) -> None:
    follows, precedence = random_tables(size, seed)
    start = np.random.default_rng(seed).permutation(size).tolist()
    first = start[0] if fixed and start else None
    found = best_order(follows, precedence, start=start, first=first)
    assert sorted(found) == list(range(size))
    assert first is None or found[0] == first
    assert order_value(follows, precedence, found) >= order_value(follows, precedence, start) - 1e-9


@pytest.mark.parametrize("kind", ["random", "text"])
@pytest.mark.parametrize("first", [None, 2])
def test_short_texts_get_the_best_order_most_of_the_time(kind: str, first: int | None) -> None:
    best = 0
    for seed in range(15):
        follows, precedence = random_tables(6, seed) if kind == "random" else text_tables(6, seed)[:2]
        found = order_value(follows, precedence, best_order(follows, precedence, first=first))
        orders = [order for order in permutations(range(6)) if first is None or order[0] == first]
        best += found > max(order_value(follows, precedence, order) for order in orders) - 1e-9
    assert best >= 13


@pytest.mark.parametrize("length", [1, 2, 4])
def test_gains_are_differences_of_values(length: int) -> None:
    follows, precedence = random_tables(9, 1)
    order = np.random.default_rng(2).permutation(9)
    search = _Search(follows, precedence, 0)
    sums, padded = np.zeros((10, 10)), np.zeros((10, 10))
    sums[1:, 1:] = precedence[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1)
    padded[1:, :-1] = follows[np.ix_(order, order)]
    gains = _block_gains(sums, padded, search._links(order), (0, 9), length)
    value = order_value(follows, precedence, order)
    for start in range(9 - length + 1):
        for gap in [*range(start), *range(start + length + 1, 10)]:
            moved = order_value(follows, precedence, moved_block(order, start, length, gap))
            assert gains[start, gap] == pytest.approx(moved - value)
    for start in range(9):
        chosen, target, gain = search._best_small(order, search._links(order), start)
        assert order_value(follows, precedence, moved_block(order, start, chosen, target)) == pytest.approx(
            value + gain
        )


def test_a_long_block_finds_its_place() -> None:
    """Two halves of a text in the wrong order: no move of three sentences helps."""
    size = 40
    follows = np.full((size, size), -5.0)
    follows[np.arange(size - 1), np.arange(1, size)] = 1.0
    precedence = np.triu(np.full((size, size), 0.01), 1)
    start = [*range(20, 40), *range(20)]
    assert best_order(follows, precedence - precedence.T, start=start) == tuple(range(size))


def test_two_hundred_sentences_take_less_than_two_seconds() -> None:
    follows, precedence, places = text_tables(200, 1)
    started = time.process_time()
    found = best_order(follows, precedence)
    assert time.process_time() - started < 2
    right = np.sign(places[list(found)][None, :] - places[list(found)][:, None])[np.triu_indices(200, 1)]
    assert right.mean() > 0.7
    borda = np.argsort(-precedence.sum(axis=1)).tolist()
    assert order_value(follows, precedence, found) > order_value(follows, precedence, borda)
