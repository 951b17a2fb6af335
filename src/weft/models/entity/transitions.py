"""Transitions of an entity grid: the contents of 2 to 4 consecutive cells of a column, counted in any order.

A transition is a window on a column. Its code has one digit for each cell. Only windows that touch a mention or an end
of the text are visited, because all others are empty: time and memory grow with the mentions, not with the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.models.entity.grid import Numbers, SparseGrid

Reals = npt.NDArray[np.float64]

# Contents of a cell: absent, other, object, subject; the last three again for first mentions, if those are
# distinguished; the marks before the first and after the last sentence, if windows cross the ends of the text.
SYMBOLS = "-XOSxos^$"
BASE = len(SYMBOLS)
FIRST_TIME, START, END = 3, 7, 8
SMALL = 2**18  # number of cells, over all orders, up to which a dense table is used


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """The windows in use, and the classes of entities."""

    salience: int = 2  # entities in at least this many sentences form a class of their own; below 2: one class
    start: bool = False  # whether windows cross the beginning of the text
    end: bool = False  # whether windows cross the end of the text
    first_mentions: bool = False  # whether an entity's first mention has a symbol of its own

    @property
    def classes(self) -> int:
        """Number of classes of entities."""
        return 2 if self.salience > 1 else 1

    def class_of(self, columns: SparseGrid) -> Numbers:
        """Return the class of each entity, 1 for salient ones: [entities]."""
        if self.classes == 1:
            return np.zeros(len(columns.names), dtype=np.int64)
        return (columns.frequency >= self.salience).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one length that touch a mention or an end of the text, in one or several orders."""

    order: Numbers  # [windows] the order of each window
    kind: Numbers  # [windows] the class of its entity
    code: Numbers  # [windows] its contents, one digit of base 9 for each cell
    start: Numbers  # [windows] its first position; negative before the text
    entities: Numbers  # [classes] number of entities of each class
    first: int  # position of the first window of a column
    count: int  # number of windows of a column


def find_windows(columns: SparseGrid, orders: Sequence[Sequence[int]], length: int, options: WindowOptions) -> Windows:
    """Return all windows of a length that are not empty, in several orders of all sentences of a grid."""
    positions = places(orders, columns.size)[:, columns.sentence]  # [orders, mentions]
    before, after = (length - 1) * options.start, (length - 1) * options.end
    count = columns.size + before + after - length + 1
    cells = _cells(columns, positions, (before, after), options)
    keys, code = _joined(*cells, length, max(count, 0))
    column, start = np.divmod(keys, max(count, 1))
    order, entity = np.divmod(column, max(len(columns.names), 1))
    kinds = options.class_of(columns)
    totals = np.bincount(kinds, minlength=options.classes).astype(np.int64)
    return Windows(order, kinds[entity], code, start - before, totals, -before, max(count, 0))


def places(orders: Sequence[Sequence[int]], size: int) -> Numbers:
    """Return the position of each sentence in each order: [orders, sentences]."""
    table = np.asarray(orders, dtype=np.int64).reshape(len(orders), size)
    found = np.empty_like(table)
    np.put_along_axis(found, table, np.arange(size, dtype=np.int64)[None], axis=1)
    return found


def _cells(
    columns: SparseGrid, positions: Numbers, edges: tuple[int, int], options: WindowOptions
) -> tuple[Numbers, Numbers, Numbers]:
    """Return column (order and entity), position and symbol of all cells that are not empty, end marks included."""
    orders, entities, (before, after) = len(positions), len(columns.names), edges
    symbols = np.broadcast_to(columns.role, positions.shape)  # [orders, mentions]
    if options.first_mentions and entities:
        begins = np.flatnonzero(np.diff(columns.entity, prepend=-1))
        firsts = np.minimum.reduceat(positions, begins, axis=1)  # [orders, entities]
        symbols = symbols + FIRST_TIME * (positions == firsts[:, columns.entity])
    column = np.arange(orders)[:, None] * entities + columns.entity  # [orders, mentions]
    edge = np.r_[np.arange(before), columns.size + before + np.arange(after)]  # [edge cells]
    marks = np.r_[np.full(before, START), np.full(after, END)]
    every = np.arange(orders * entities)
    return (
        np.concatenate([column.ravel(), np.repeat(every, len(edge))]),
        np.concatenate([(positions + before).ravel(), np.tile(edge, len(every))]),
        np.concatenate([symbols.ravel(), np.tile(marks, len(every))]),
    )


def _joined(column: Numbers, position: Numbers, symbol: Numbers, length: int, count: int) -> tuple[Numbers, Numbers]:
    """Return keys and codes of all windows that contain one of the cells: [windows] each."""
    offsets = np.arange(length)[:, None]
    start = position - offsets  # [length, cells]
    inside = (start >= 0) & (start < count)
    keys = (column * count + start)[inside]
    digits = (symbol * BASE ** (length - 1 - offsets))[inside]
    ranked = np.argsort(keys, kind="stable")
    keys, digits = keys[ranked], digits[ranked]
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[begins], np.add.reduceat(digits, begins) if len(begins) else digits


def count_windows(windows: Windows, orders: int, length: int) -> Reals:
    """Return the counts of transitions, empty ones included: [orders, classes, 9^length]."""
    classes, codes = len(windows.entities), BASE**length
    flat = (windows.order * classes + windows.kind) * codes + windows.code
    counts = np.bincount(flat, minlength=orders * classes * codes).astype(np.float64)
    table: Reals = counts.reshape(orders, classes, codes)
    # The windows that were not visited are empty: code 0.
    table[:, :, 0] = windows.entities * windows.count - table[:, :, 1:].sum(axis=2)
    return table


def count_transitions(
    columns: SparseGrid, orders: Sequence[Sequence[int]], length: int, options: WindowOptions
) -> tuple[Reals, Reals]:
    """Return counts of transitions, [orders, classes, 9^length], and the total of each class, [classes].

    Small grids are counted in a dense table, which is faster.
    """
    cells = len(orders) * columns.size * len(columns.names)
    if cells > SMALL or columns.size < length:
        windows = find_windows(columns, orders, length, options)
        return count_windows(windows, len(orders), length), (windows.entities * windows.count).astype(np.float64)
    code = _all_codes(columns, orders, length, options)  # [orders, windows, entities]
    classes, codes = options.classes, BASE**length
    kinds = options.class_of(columns)
    if classes > 1:
        code += kinds * codes
    if len(orders) > 1:
        code += (np.arange(len(orders)) * (classes * codes))[:, None, None]
    counts = np.bincount(code.ravel(), minlength=len(orders) * classes * codes).astype(np.float64)
    totals = (np.bincount(kinds, minlength=classes) * code.shape[1]).astype(np.float64)
    return counts.reshape(len(orders), classes, codes), totals


def _all_codes(columns: SparseGrid, orders: Sequence[Sequence[int]], length: int, options: WindowOptions) -> Numbers:
    """Return the codes of all windows: [orders, windows, entities]."""
    table = np.zeros((columns.size, len(columns.names)), dtype=np.int64)
    table[columns.sentence, columns.entity] = columns.role
    cells = table[np.asarray(orders, dtype=np.int64)]  # [orders, sentences, entities]
    if options.first_mentions:
        first = (cells > 0).argmax(axis=1)[:, None]  # [orders, 1, entities]
        mentioned = np.take_along_axis(cells, first, axis=1)
        np.put_along_axis(cells, first, mentioned + FIRST_TIME * (mentioned > 0), axis=1)
    edge = (len(cells), length - 1, cells.shape[2])
    before = [np.full(edge, START)] if options.start else []
    after = [np.full(edge, END)] if options.end else []
    whole = np.concatenate([*before, cells, *after], axis=1) if before or after else cells
    count = whole.shape[1] - length + 1
    code = whole[:, :count].copy()
    for place in range(1, length):
        code *= BASE
        code += whole[:, place : place + count]
    return code


def transition_shares(
    columns: SparseGrid, orders: Sequence[Sequence[int]], length: int, options: WindowOptions
) -> Reals:
    """Return the share of each transition within its class, Barzilay and Lapata's features: [orders, classes, codes].

    The shares of a class without entities are 0.

    Example:
        >>> from weft.models.entity.grid import build_grid
        >>> grid = build_grid([{"dog": 3}, {"dog": 2}, {}])
        >>> shares = transition_shares(grid, [(0, 1, 2)], 2, WindowOptions())
        >>> float(shares[0, 1, 3 * BASE + 2]), float(shares[0, 1, 2 * BASE])  # subject to object, object to absent
        (0.5, 0.5)
    """
    counts, totals = count_transitions(columns, orders, length, options)
    counts /= np.maximum(totals, 1.0)[:, None]
    return counts
