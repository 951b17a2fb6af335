"""Beam search for an order with an entity grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weft.models.entity.grid import Numbers, SparseGrid
from weft.models.entity.transition_weights import TransitionWeights
from weft.models.entity.transitions import BASE, END, FIRST_TIME, START, Reals, find_windows


class GridOrderSearch:
    """The state of a beam search with the weights of transitions; a `weft.protocols.OrderSearch`.

    The grid has the entities of all sentences, placed or not. Each path keeps the last cells of each column.

    The expected gain in a random order is subtracted from the gain of a sentence. The sum of these expectations is the
    same for all complete orders, but partial orders hold different sentences: without the subtraction, the search
    would place short sentences first, because they cost little anywhere.
    """

    def __init__(self, weights: TransitionWeights, columns: SparseGrid) -> None:
        from scipy.sparse import csr_matrix

        self.size, self.placed = columns.size, 0
        self.kinds = weights.options.class_of(columns)  # [entities]
        self.first_mentions = weights.options.first_mentions
        self.memory = max(weights.tables) - 1
        shape = (columns.size, len(columns.names))
        self.mentions = [
            csr_matrix((np.ones(int(of.sum())), (columns.sentence[of], columns.entity[of])), shape=shape)
            for of in (columns.role == role for role in (1, 2, 3))
        ]  # by role, [sentences, entities]
        self.roles = csr_matrix((columns.role, (columns.sentence, columns.entity)), shape=shape)
        self.gain, self.last_gain = self._tables(weights, columns)
        self.expected = self._expected(columns)

    def _tables(self, weights: TransitionWeights, columns: SparseGrid) -> tuple[Reals, Reals]:
        """Return the gains of cells, inside a text and in its last sentence: [classes, ends, symbols] each."""
        shape = (weights.options.classes, BASE**self.memory, BASE)
        code = np.arange(BASE ** (self.memory + 1))  # of the remembered cells and the next one
        gain, after = np.zeros((2, shape[0], len(code)))
        for length, table in weights.tables.items():
            totals = weights.totals(find_windows(columns, [range(columns.size)], length, weights.options))
            scaled = table / totals[:, None]  # [classes, codes]
            if not weights.options.start:  # no window crosses the beginning
                scaled = np.where(_holds(START, length), 0.0, scaled)
            gain += scaled[:, code % BASE**length]
            for beyond in range(1, length) if weights.options.end else ():
                edge = sum(END * BASE**place for place in range(beyond))
                after += scaled[:, code % BASE ** (length - beyond) * BASE**beyond + edge]
        return gain.reshape(shape), (gain + after).reshape(shape)

    def _expected(self, columns: SparseGrid) -> Reals:
        """Return the expected gain of each sentence after random sentences: [sentences]."""
        entities = len(columns.names)
        cells = np.zeros((entities, BASE))  # distribution of the symbols of each column
        np.add.at(cells, (columns.entity, columns.role), 1.0 / columns.size)
        cells[:, 0] = 1.0 - cells.sum(axis=1)
        first = 1.0 / np.maximum(columns.frequency, 1) if self.first_mentions else np.zeros(entities)
        cells[:, 4:7] = cells[:, 1:4] * first[:, None]
        cells[:, 1:4] *= 1.0 - first[:, None]
        ends = np.ones((entities, 1))
        for _ in range(self.memory):
            ends = (ends[:, :, None] * cells[:, None]).reshape(entities, ends.shape[1] * BASE)
        gain = np.stack([(ends * self.gain[self.kinds, :, symbol]).sum(axis=1) for symbol in range(7)])  # [7, entities]
        gain[1:4] += first * (gain[4:7] - gain[1:4])
        total: Reals = np.full(self.size, gain[0].sum())
        for role, mentions in enumerate(self.mentions, start=1):
            total += mentions @ (gain[role] - gain[0])
        return total

    def begin(self, firsts: Sequence[int]) -> Reals:
        """Start one path with each of these sentences, and return their gains: [paths]."""
        entities = len(self.kinds)
        start = sum(START * BASE**place for place in range(self.memory))
        self.ends: Numbers = np.full((len(firsts), entities), start, dtype=np.int64)
        self.seen = np.zeros((len(firsts), entities), dtype=bool)
        self.placed = 0
        chosen = np.asarray(firsts, dtype=np.int64)
        gained: Reals = self._table()[self.kinds[None], self.ends, self._symbols(chosen)].sum(axis=1)
        self._place(chosen)
        return gained - self.expected[chosen]

    def _table(self) -> Reals:
        return self.last_gain if self.placed + 1 == self.size else self.gain

    def gains(self) -> Reals:
        """Return the gain of each sentence if it comes next: [paths, sentences]."""
        table = self._table()
        absent = table[self.kinds[None], self.ends, 0]  # [paths, entities]
        total = np.repeat(absent.sum(axis=1)[:, None], self.size, axis=1)
        fresh = FIRST_TIME * ~self.seen if self.first_mentions else np.zeros(1, dtype=np.int64)
        for role, mentions in enumerate(self.mentions, start=1):
            beyond = table[self.kinds[None], self.ends, role + fresh] - absent  # [paths, entities]
            total += (mentions @ beyond.T).T
        return total - self.expected

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        kept = np.asarray(rows, dtype=np.int64)
        self.ends, self.seen = self.ends[kept], self.seen[kept]
        self._place(np.asarray(columns, dtype=np.int64))

    def _symbols(self, sentences: Numbers) -> Numbers:
        """Return the symbols of the next row of each path: [paths, entities]."""
        roles: Numbers = self.roles[sentences].toarray()
        return roles + FIRST_TIME * ((roles > 0) & ~self.seen) if self.first_mentions else roles

    def _place(self, sentences: Numbers) -> None:
        symbols = self._symbols(sentences)
        self.ends = (self.ends * BASE + symbols) % BASE**self.memory
        self.seen |= symbols > 0
        self.placed += 1


def _holds(symbol: int, length: int) -> npt.NDArray[np.bool_]:
    """Return which transitions contain a symbol: [codes]."""
    code = np.arange(BASE**length)
    found: npt.NDArray[np.bool_] = np.any([code // BASE**place % BASE == symbol for place in range(length)], axis=0)
    return found
