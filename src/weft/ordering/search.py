"""Searches for an order: exact, beam and greedy."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weft.protocols import OrderSearch
from weft.scoring.joint_search import OrderSearches
from weft.scoring.uni_bi_mmi import Table, path_value


def order_gain(table: Table, precedence: Table | None, order: Sequence[int]) -> float:
    """Return the objective of an order: the sum of its transitions and of the precedence of its pairs.

    Example:
        >>> order_gain(np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([[0.0, -1.0], [1.0, 0.0]]), [1, 0])
        4.0
    """
    steps = (path_value(table, order) or 0.0) * (len(order) - 1)
    if precedence is None:
        return steps
    return steps + float(np.triu(precedence[np.ix_(order, order)], k=1).sum())


def exact_order(table: Table, precedence: Table | None = None, *, first: int | None = None) -> tuple[int, ...]:
    """Return the order with the highest sum, by dynamic programming over subsets (Held and Karp 1962).

    Example:
        >>> exact_order(np.array([[0, 0, 5], [5, 0, 0], [0, 0, 0]], dtype=float))
        (1, 0, 2)
    """
    size = len(table)
    best = np.full((1 << size, size), -np.inf)  # [subset, last sentence]
    came_from = np.zeros((1 << size, size), dtype=np.int16)
    for start in range(size) if first is None else [first]:
        best[1 << start, start] = 0.0
    everyone = np.arange(size)
    for subset in range(1, 1 << size):
        reached = best[subset]
        if not np.isfinite(reached).any():
            continue
        through = reached[:, None] + table  # [last, next]
        previous = through.argmax(axis=0)  # [next]
        gains = through[previous, everyone]  # [next]
        if precedence is not None:  # depends on which sentences are placed, not on their order
            gains = gains + precedence[(subset >> everyone) & 1 == 1].sum(axis=0)
        # Each (larger subset, next) cell is reached from exactly one subset, so it is written once.
        new = everyone[(subset >> everyone) & 1 == 0]
        best[subset | (1 << new), new] = gains[new]
        came_from[subset | (1 << new), new] = previous[new]
    return _walk_back(best, came_from, size)


def _walk_back(best: Table, came_from: npt.NDArray[np.int16], size: int) -> tuple[int, ...]:
    subset = (1 << size) - 1
    last = int(best[subset].argmax())
    order = [last]
    while len(order) < size:
        before = int(came_from[subset, last])
        subset ^= 1 << last
        last = before
        order.append(last)
    return tuple(reversed(order))


def beam_order(
    table: Table, precedence: Table | None = None, *, first: int | None = None, beam: int = 10
) -> tuple[int, ...]:
    """Return an order by beam search from left to right (section 4.2.2 of the paper, beam 10).

    Example:
        >>> beam_order(np.array([[0, 0, 5], [5, 0, 0], [0, 0, 0]], dtype=float), first=1)
        (1, 0, 2)
    """
    return beam_search(TableOrderSearch(table, precedence), len(table), first=first, beam=beam)


def beam_search(search: OrderSearch, size: int, *, first: int | None = None, beam: int = 10) -> tuple[int, ...]:
    """Return an order by beam search from left to right; ``search`` computes the gain of each next sentence."""
    return beam_searches(SeparateSearches([search]), [size], firsts=[first], beam=beam)[0]


def beam_searches(
    searches: OrderSearches, sizes: Sequence[int], *, firsts: Sequence[int | None], beam: int = 10
) -> list[tuple[int, ...]]:
    """Return an order of each of several texts; ``searches`` computes the next sentences of all texts at once."""
    beams = [Beam(size, first, beam) for size, first in zip(sizes, firsts, strict=True)]
    for one, totals in zip(beams, searches.begin([one.paths[:, 0].tolist() for one in beams]), strict=True):
        one.totals = totals
    while not all(one.done for one in beams):
        kept = [one.grow(gains) for one, gains in zip(beams, searches.gains(), strict=True)]
        searches.keep([rows for rows, _ in kept], [columns for _, columns in kept])
    return [one.best for one in beams]


class Beam:
    """The partial orders of one text with the highest gains, and the sum of the gains of each."""

    def __init__(self, size: int, first: int | None, width: int) -> None:
        self.size, self.width = size, width
        self.paths = np.array([[i] for i in range(size)] if first is None else [[first]])  # [beam, placed]
        self.totals: Table = np.zeros(len(self.paths))  # [beam]

    @property
    def done(self) -> bool:
        """Whether all sentences are placed."""
        return bool(self.paths.shape[1] == self.size)

    @property
    def best(self) -> tuple[int, ...]:
        """The path with the highest sum of gains."""
        return tuple(int(i) for i in self.paths[0])

    def grow(self, gains: Table) -> tuple[list[int], list[int]]:
        """Add a sentence to the best paths; return the rows that were kept and their sentences, none if it is done.

        Args:
            gains: The gain of each next sentence: [beam, sentences].
        """
        if self.done:
            return [], []
        scores = self.totals[:, None] + gains  # [beam, sentences]
        scores[np.arange(len(self.paths))[:, None], self.paths] = -np.inf  # a sentence is used once
        flat = scores.ravel()
        kept = _highest(flat, self.width)
        rows, columns = np.divmod(kept, self.size)
        self.paths = np.concatenate([self.paths[rows], columns[:, None]], axis=1)
        self.totals = flat[kept]
        return ([], []) if self.done else (rows.tolist(), columns.tolist())


class SeparateSearches:
    """Searches of several texts, computed one after the other; a `weft.scoring.joint_search.OrderSearches`."""

    def __init__(self, searches: Sequence[OrderSearch]) -> None:
        self.searches, self.running = searches, [True] * len(searches)

    def begin(self, firsts: Sequence[Sequence[int]]) -> list[Table]:
        """Start one path with each of these sentences of each text: [paths] each."""
        return [search.begin(starts) for search, starts in zip(self.searches, firsts, strict=True)]

    def gains(self) -> list[Table]:
        """Return the gain of each next sentence: [paths, sentences] each."""
        return [
            search.gains() if running else np.zeros((0, 0))
            for search, running in zip(self.searches, self.running, strict=True)
        ]

    def keep(self, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> None:
        """Keep some paths of each text and add one sentence to each."""
        self.running = [bool(kept) for kept in rows]
        for search, kept, added in zip(self.searches, rows, columns, strict=True):
            if kept:
                search.keep(kept, added)


class TableOrderSearch:
    """The state of a beam search over tables: a sentence gains its transition, and precedence over those not placed."""

    def __init__(self, table: Table, precedence: Table | None) -> None:
        self.table, self.before = table, np.zeros_like(table) if precedence is None else precedence

    def begin(self, firsts: Sequence[int]) -> Table:
        """Start one path with each sentence, and return its precedence over all others: [beam]."""
        self.last = np.asarray(firsts, dtype=np.int64)  # [beam]
        # Over sentences that are not placed: [beam, sentences]
        self.ahead = self.before.sum(axis=1) - self.before[:, self.last].T
        totals: Table = self.before[self.last].sum(axis=1)
        return totals

    def gains(self) -> Table:
        """Return the gain of each next sentence: [beam, sentences]."""
        found: Table = self.table[self.last] + self.ahead
        return found

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        self.last = np.asarray(columns, dtype=np.int64)
        self.ahead = self.ahead[np.asarray(rows, dtype=np.int64)] - self.before[:, self.last].T


def _highest(values: Table, count: int) -> npt.NDArray[np.int64]:
    """Return the indices of the highest finite values, highest first; of equal values the earlier comes first."""
    threshold = np.partition(values, -count)[-count] if count < len(values) else -np.inf
    candidates = np.flatnonzero((values >= threshold) & np.isfinite(values))
    return candidates[np.argsort(-values[candidates], kind="stable")[:count]]


def greedy_order(table: Table, precedence: Table | None = None, *, first: int | None = None) -> tuple[int, ...]:
    """Return an order that starts with the best pair and grows at the end that gains most (Lapata 2003).

    With ``first`` or with precedence, the order grows to the right only, which is a beam of one: precedence determines
    the beginning of a text, and growth at both ends cannot insert a sentence between two placed ones.

    Example:
        >>> greedy_order(np.array([[0, 0, 5], [4, 0, 0], [0, 0, 0]], dtype=float))
        (1, 0, 2)
    """
    if first is not None or precedence is not None:
        return beam_order(table, precedence, first=first, beam=1)
    used = np.zeros(len(table), dtype=bool)
    placed: deque[int] = deque(_best_pair(table))
    used[list(placed)] = True
    while len(placed) < len(table):
        after = np.where(used, -np.inf, table[placed[-1]])  # [sentences]
        before = np.where(used, -np.inf, table[:, placed[0]])  # [sentences]
        if before.max() > after.max():
            placed.appendleft(int(before.argmax()))
            used[placed[0]] = True
        else:
            placed.append(int(after.argmax()))
            used[placed[-1]] = True
    return tuple(placed)


def _best_pair(table: Table) -> tuple[int, int]:
    """Return the pair with the highest score; row by row, because a copy of a large table costs memory."""
    rows = []
    for i, row in enumerate(table):
        others = np.where(np.arange(len(row)) == i, -np.inf, row)
        rows.append((float(others.max()), i, int(others.argmax())))
    _, left, right = max(rows, key=lambda entry: entry[0])
    return left, right
