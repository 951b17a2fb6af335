"""Scores of an entity grid that are sums over its transitions: what the ranker and the generative grid have in common.

The ranker's score is a weighted sum of transition shares, the generative one's a mean of log-probabilities of cells
given those before them. Both are a weight for each transition, summed over all windows of all columns and divided by
numbers that depend on the sentences but not on their order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weft.document import Score
from weft.models.entity.grid import Columns
from weft.models.entity.transitions import Reals, WindowOptions, Windows, count_transitions, find_windows

ORDERS_AT_ONCE = 64  # so that memory stays flat


@dataclass(frozen=True)
class TransitionWeights:
    """A weight for every transition of some lengths.

    Attributes:
        tables: For each length, [classes, 9^length].
        options: Which windows there are.
        by_class: Whether a weight counts for the share of a transition among those of its class, as in Barzilay and
            Lapata, or among all.
    """

    tables: Mapping[int, Reals]
    options: WindowOptions
    by_class: bool = True

    def values(self, columns: Columns, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The score of each order of all of a grid's sentences; ``None`` where there is nothing to judge."""
        if not judged(columns):
            return [None for _ in orders]
        found: list[float | None] = []
        for start in range(0, len(orders), ORDERS_AT_ONCE):
            found += self._values(columns, orders[start : start + ORDERS_AT_ONCE]).tolist()
        return found

    def _values(self, columns: Columns, orders: Sequence[Sequence[int]]) -> Reals:
        total = np.zeros(len(orders))
        for length, table in self.tables.items():
            counts, totals = count_transitions(columns, orders, length, self.options)
            scaled = table / self._divisors(totals)[:, None]  # [classes, codes]
            # Not a matrix product, whose rounding may differ from row to row: equal orders must tie exactly.
            total += (counts * scaled).reshape(len(orders), -1).sum(axis=1)
        return total

    def totals(self, windows: Windows) -> Reals:
        """What the sums over the windows of each class are divided by: [classes]."""
        return self._divisors((windows.entities * windows.count).astype(np.float64))

    def _divisors(self, totals: Reals) -> Reals:
        """What sums are divided by, from how many transitions each class has: [classes]."""
        return np.maximum(totals if self.by_class else np.full_like(totals, totals.sum()), 1.0)

    def score(self, columns: Columns) -> Score:
        """The score of a text as it stands, with what each transition from sentence to sentence brings to it."""
        if not judged(columns):
            return Score(None)
        parts = np.zeros(columns.size - 1)  # [sentences - 1]
        for length, table in self.tables.items():
            parts += self._parts(columns, length, table)
        parts *= len(parts)  # the value is their mean
        return Score(math.fsum(parts.tolist()) / len(parts), tuple(parts.tolist()))

    def _parts(self, columns: Columns, length: int, table: Reals) -> Reals:
        """What windows of one length bring, shared equally between the transitions that they cover."""
        windows = find_windows(columns, [range(columns.size)], length, self.options)
        scaled = table / self.totals(windows)[:, None]
        beyond = (scaled - scaled[:, :1])[windows.kind, windows.code]
        sums = np.full(windows.count, float(scaled[:, 0] @ windows.entities))  # [starts]
        sums += np.bincount(windows.start - windows.first, weights=beyond, minlength=windows.count)
        begins = np.arange(windows.count) + windows.first
        low = np.clip(begins, 0, columns.size - 2)  # a window over an edge counts for the transition beside it
        high = np.maximum(np.clip(begins + length - 1, 1, columns.size - 1), low + 1)
        shared = sums / (high - low)
        changes = np.zeros(columns.size)
        changes += np.bincount(low, weights=shared, minlength=columns.size)
        changes -= np.bincount(high, weights=shared, minlength=columns.size)
        parts: Reals = np.cumsum(changes)[:-1]
        return parts


def judged(columns: Columns) -> bool:
    """Whether there is something to judge: two sentences and an entity."""
    return columns.size > 1 and len(columns.names) > 0


def order_scores(weights: TransitionWeights, columns: Columns, orders: Sequence[Sequence[int]]) -> list[float | None]:
    """The scores of orders that may leave sentences out: such an order is judged as a text of its own."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, order in enumerate(orders):
        groups.setdefault(tuple(sorted(order)), []).append(number)
    found: list[float | None] = [None] * len(orders)
    for kept, numbers in groups.items():
        whole = kept == tuple(range(columns.size))
        place = {sentence: position for position, sentence in enumerate(kept)}
        some = [[place[sentence] for sentence in orders[number]] for number in numbers]
        values = weights.values(columns if whole else columns.restricted(kept), some)
        for number, value in zip(numbers, values, strict=True):
            found[number] = value
    return found
