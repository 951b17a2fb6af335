"""Scores of entity grids as weighted sums over transitions, shared by the ranker and the generative grid.

The ranker's score is a weighted sum of transition shares. The generative score is a mean of log-probabilities of cells
given those before them. Both have one weight for each transition, summed over the windows of all columns and divided
by numbers that depend on the sentences but not on their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weft.document import Score
from weft.models.entity.grid import SparseGrid
from weft.models.entity.transitions import Reals, WindowOptions, Windows, count_transitions, find_windows
from weft.scoring.uni_bi_mmi import mean_score

ORDERS_AT_ONCE = 64  # bounds memory


@dataclass(frozen=True)
class TransitionWeights:
    """A weight for every transition of some lengths."""

    tables: Mapping[int, Reals]  # for each length, [classes, 9^length]
    options: WindowOptions
    # Whether a weight applies to the share of a transition within its class of entities, as in Barzilay and Lapata, or
    # among all transitions.
    by_class: bool = True

    def order_scores(self, columns: SparseGrid, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order; an order that omits sentences is scored as a text of its own."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, order in enumerate(orders):
            groups.setdefault(tuple(sorted(order)), []).append(number)
        found: list[float | None] = [None] * len(orders)
        for kept, numbers in groups.items():
            whole = kept == tuple(range(columns.size))
            place = {sentence: position for position, sentence in enumerate(kept)}
            some = [[place[sentence] for sentence in orders[number]] for number in numbers]
            values = self.values(columns if whole else columns.restricted(kept), some)
            for number, value in zip(numbers, values, strict=True):
                found[number] = value
        return found

    def values(self, columns: SparseGrid, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order of all sentences; None for fewer than two sentences or no entity."""
        if not has_score(columns):
            return [None for _ in orders]
        found: list[float | None] = []
        for start in range(0, len(orders), ORDERS_AT_ONCE):
            found += self._values(columns, orders[start : start + ORDERS_AT_ONCE]).tolist()
        return found

    def _values(self, columns: SparseGrid, orders: Sequence[Sequence[int]]) -> Reals:
        total = np.zeros(len(orders))
        for length, table in self.tables.items():
            counts, totals = count_transitions(columns, orders, length, self.options)
            scaled = table / self._divisors(totals)[:, None]  # [classes, codes]
            # Not a matrix product, whose rounding may differ from row to row: equal orders must tie exactly.
            total += (counts * scaled).reshape(len(orders), -1).sum(axis=1)
        return total

    def totals(self, windows: Windows) -> Reals:
        """Return the divisor of the sums over the windows of each class: [classes]."""
        return self._divisors((windows.entities * windows.count).astype(np.float64))

    def _divisors(self, totals: Reals) -> Reals:
        """Return divisors from the number of transitions of each class: [classes]."""
        return np.maximum(totals if self.by_class else np.full_like(totals, totals.sum()), 1.0)

    def score(self, columns: SparseGrid) -> Score:
        """Return the score of a text, with the contribution of each transition between sentences."""
        if not has_score(columns):
            return Score(None)
        parts = np.zeros(columns.size - 1)  # [sentences - 1]
        for length, table in self.tables.items():
            parts += self._parts(columns, length, table)
        parts *= len(parts)  # the value is their mean
        return mean_score(parts.tolist())

    def _parts(self, columns: SparseGrid, length: int, table: Reals) -> Reals:
        """Return the contributions of the windows of one length, divided equally among the transitions they span."""
        windows = find_windows(columns, [range(columns.size)], length, self.options)
        scaled = table / self.totals(windows)[:, None]
        beyond = (scaled - scaled[:, :1])[windows.kind, windows.code]
        sums = np.full(windows.count, float(scaled[:, 0] @ windows.entities))  # [starts]
        sums += np.bincount(windows.start - windows.first, weights=beyond, minlength=windows.count)
        begins = np.arange(windows.count) + windows.first
        low = np.clip(begins, 0, columns.size - 2)  # a window that crosses an end counts for the transition beside it
        high = np.maximum(np.clip(begins + length - 1, 1, columns.size - 1), low + 1)
        shared = sums / (high - low)
        changes = np.zeros(columns.size)
        changes += np.bincount(low, weights=shared, minlength=columns.size)
        changes -= np.bincount(high, weights=shared, minlength=columns.size)
        parts: Reals = np.cumsum(changes)[:-1]
        return parts


def has_score(columns: SparseGrid) -> bool:
    """Whether a grid has a score: it needs two sentences and an entity."""
    return columns.size > 1 and len(columns.names) > 0
