"""The search for an order by tables of the next sentence and of precedence.

The search starts with the sentences sorted by how many others they precede (Borda count) and moves blocks of sentences
to better places until no move helps: first blocks of one to three sentences to any place, then blocks of any length
inside windows of the order. The gain of a block at all places follows from running sums of the tables, so that one step
costs a few operations on arrays. Short texts are searched again from disturbed orders.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weft.progress import Steps, result_of

Table = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]
SMALL = 3  # length of the longest block that is moved to any place
WINDOW = 160  # places among which longer blocks are moved
MOST_ROUNDS = 50
SENTENCES_AT_ONCE = 500  # whose moves are tried in one step
LEAST_GAIN = 1e-9  # smaller gains are rounding errors, which could move a block to and fro without end
SHORT = 80  # sentences of the longest text that is searched again
AGAIN = 6  # times that it is


def best_order(
    follows: Table, precedence: Table, *, first: int | None = None, start: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Return an order with a high sum of both tables, never lower than that of its start.

    Args:
        follows: The gain if j directly follows i: [sentences, sentences].
        precedence: The gain if i comes anywhere before j, antisymmetric: [sentences, sentences].
        first: The sentence that must come first.
        start: The order to start from; by default, sorted by the sum of precedence.

    Example:
        >>> follows = np.array([[0.0, 0.0, 5.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> best_order(follows, np.zeros((3, 3)))
        (1, 0, 2)
    """
    return result_of(order_steps(follows, precedence, first=first, start=start))


def order_steps(
    follows: Table, precedence: Table, *, first: int | None = None, start: Sequence[int] | None = None
) -> Steps[tuple[int, ...]]:
    """Return what `best_order` returns, in steps of some moves."""
    order = np.argsort(-precedence.sum(axis=1), kind="stable") if start is None else np.asarray(start, dtype=np.int64)
    if first is not None:
        order = np.concatenate([[first], order[order != first]])
    fixed = 0 if first is None else 1
    search = _Search(follows, precedence, fixed)
    order = yield from search.improved(order)
    if len(order) - fixed > 3 and len(order) <= SHORT:
        order = yield from _searched_again(search, order)
    return tuple(int(number) for number in order)


def order_value(follows: Table, precedence: Table, order: Sequence[int] | Order) -> float:
    """Return the sum of both tables over an order.

    Example:
        >>> order_value(np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([[0.0, -1.0], [1.0, 0.0]]), [1, 0])
        4.0
    """
    places = np.asarray(order, dtype=np.int64)
    steps = follows[places[:-1], places[1:]].sum()
    return float(steps + np.triu(precedence[np.ix_(places, places)], 1).sum())


def _searched_again(search: _Search, order: Order) -> Steps[Order]:
    """Return the best of the order and of searches from orders in which two neighbouring blocks are exchanged."""
    generator = np.random.default_rng(len(order))
    best, value = order, order_value(search.follows, search.precedence, order)
    for _ in range(AGAIN):
        cuts = np.sort(generator.choice(np.arange(search.fixed, len(order) + 1), size=3, replace=False))
        parts = np.split(best, cuts)
        found = yield from search.improved(np.concatenate([parts[0], parts[2], parts[1], parts[3]]))
        reached = order_value(search.follows, search.precedence, found)
        if reached > value + LEAST_GAIN:
            best, value = found, reached
    return best


class _Search:
    """Moves of blocks that raise the sum of two tables."""

    def __init__(self, follows: Table, precedence: Table, fixed: int) -> None:
        self.follows, self.precedence, self.fixed = follows, np.ascontiguousarray(precedence), fixed
        self.comes_after = np.ascontiguousarray(follows.T)  # rows are read faster than columns

    def improved(self, order: Order) -> Steps[Order]:
        """Return the order after all moves that help, in steps of some moves."""
        for _ in range(MOST_ROUNDS):
            order = yield from self._move_small(order)
            before = order
            for low in range(0, max(1, len(order) - WINDOW // 2), WINDOW // 2):
                order = self._move_inside(order, max(low, self.fixed), min(low + WINDOW, len(order)))
                yield
            if np.array_equal(before, order):
                break
        return order

    # Short blocks, any distance ---------------------------------------------------------------------------------------

    def _move_small(self, order: Order) -> Steps[Order]:
        """Return the order after moves of short blocks; a block is tried again when a neighbour has changed."""
        size = len(order)
        open_ = np.ones(size, dtype=bool)  # by sentence
        links = self._links(order)
        for _ in range(MOST_ROUNDS * 4):
            everything = bool(open_.all())
            moved = False
            for number, sentence in enumerate(order[open_[order]].tolist(), 1):
                if not number % SENTENCES_AT_ONCE:
                    yield
                open_[sentence] = False
                start = int(np.flatnonzero(order == sentence)[0])
                if start < self.fixed:
                    continue
                length, target, gain = self._best_small(order, links, start)
                if gain > LEAST_GAIN:
                    near = [start - 1, start, start + length - 1, start + length, target - 1, target]
                    near += [start - 2, start - 3, target - 2, target - 3]  # starts of blocks that end there
                    open_[[order[place] for place in near if 0 <= place < size]] = True
                    order = moved_block(order, start, length, target)
                    links, moved = self._links(order), True
            if not open_.any():
                if everything and not moved:
                    break
                open_[:] = True
        return order

    def _links(self, order: Order) -> Table:
        """Return the gain of each gap, 0 before the first and after the last sentence: [sentences + 1]."""
        links = np.zeros(len(order) + 1)
        links[1:-1] = self.follows[order[:-1], order[1:]]
        return links

    def _best_small(self, order: Order, links: Table, start: int) -> tuple[int, int, float]:
        """Return the best move of a block that begins at a place: its length, the gap it moves to, and the gain."""
        size = len(order)
        best = (1, start, 0.0)
        enters = np.append(0.0, self.comes_after[order[start]][order]) - links  # [gaps] by the sentence before
        ahead = np.zeros(size)
        for length in range(1, min(SMALL, size - start) + 1):
            end, last = start + length, order[start + length - 1]
            ahead += self.precedence[last][order]  # of the block over each other sentence
            passed = np.append(0.0, np.cumsum(ahead))
            gains = enters - 2.0 * passed
            gains[:-1] += self.follows[last][order]
            gains[: start + 1] += 2.0 * passed[start]
            gains[end:] += 2.0 * passed[end]
            gains[start : end + 1] = -np.inf
            gains[: self.fixed] = -np.inf
            target = int(gains.argmax())
            bridge = self.follows[order[start - 1], order[end]] if start and end < size else 0.0
            gain = float(gains[target] + bridge - links[start] - links[end])
            if gain > best[2] + LEAST_GAIN:
                best = (length, target, gain)
        return best

    # Blocks of any length, inside a window ----------------------------------------------------------------------------

    def _move_inside(self, order: Order, low: int, high: int) -> Order:
        """Return the order after moves of blocks between two places; moves that do not overlap are made at once."""
        left, right = max(0, low - 1), min(len(order), high + 1)  # with the sentences around, which stay
        inside = order[left:right]
        for _ in range(MOST_ROUNDS):
            moves = self._moves_inside(inside, low - left, high - left)
            if not moves:
                break
            for start, length, target in moves:
                inside = moved_block(inside, start, length, target)
        return np.concatenate([order[:left], inside, order[right:]])

    def _moves_inside(self, order: Order, low: int, high: int) -> list[tuple[int, int, int]]:
        """Return the best moves of blocks between two places that do not overlap: start, length and gap of each."""
        size = len(order)
        cells = np.ix_(order, order)
        sums = np.zeros((size + 1, size + 1))  # of precedence over all pairs before two gaps
        sums[1:, 1:] = self.precedence[cells].cumsum(axis=0).cumsum(axis=1)
        padded = np.zeros((size + 1, size + 1))  # [sentence before + 1, sentence after]
        padded[1:, :-1] = self.follows[cells]
        links = self._links(order)
        found: list[tuple[float, int, int, int]] = []
        for length in lengths_up_to((high - low) // 2):
            gains = _block_gains(sums, padded, links, (low, high), length)  # [blocks, gaps]
            targets = gains.argmax(axis=1)
            values = gains[np.arange(len(gains)), targets]
            found += [
                (float(values[row]), low + row, length, low + int(targets[row]))
                for row in np.flatnonzero(values > LEAST_GAIN).tolist()
            ]
        return _apart(found, size)


def _block_gains(sums: Table, padded: Table, links: Table, span: tuple[int, int], length: int) -> Table:
    """Return the gain of moving each block of a length to each gap of a span of places: [blocks, gaps]."""
    low, high = span
    starts = np.arange(low, high - length + 1)  # of blocks
    ends, gaps = starts + length, np.arange(low, high + 1)
    passed = sums[ends, low : high + 1] - sums[starts, low : high + 1]  # precedence over those before a gap
    gains: Table = padded[low : high + 1, starts].T + padded[ends, low : high + 1] - links[gaps] - 2.0 * passed
    rows = np.arange(len(starts))
    before, after = passed[rows, starts - low][:, None], passed[rows, ends - low][:, None]
    gains += 2.0 * np.where(gaps <= starts[:, None], before, after)
    gains += (padded[starts, ends] - links[starts] - links[ends])[:, None]
    gains[(gaps >= starts[:, None]) & (gaps <= ends[:, None])] = -np.inf
    return gains


def _apart(moves: list[tuple[float, int, int, int]], size: int) -> list[tuple[int, int, int]]:
    """Return the best moves whose spans of gaps are apart, so that their gains add up."""
    taken = np.zeros(size + 1, dtype=bool)
    found = []
    for _, start, length, target in sorted(moves, reverse=True):
        span = slice(min(start, target), max(start + length, target) + 1)
        if not taken[span].any():
            taken[span] = True
            found.append((start, length, target))
    return found


def moved_block(order: Order, start: int, length: int, target: int) -> Order:
    """Return the order with a block moved to a gap; gaps are counted in the order before the move.

    Example:
        >>> moved_block(np.arange(6), 1, 2, 5).tolist(), moved_block(np.arange(6), 4, 1, 0).tolist()
        ([0, 3, 4, 1, 2, 5], [4, 0, 1, 2, 3, 5])
    """
    end = start + length
    if target <= start:
        parts = order[:target], order[start:end], order[target:start], order[end:]
    else:
        parts = order[:start], order[end:target], order[start:end], order[target:]
    return np.concatenate(parts)


def lengths_up_to(most: int) -> list[int]:
    """Return lengths of blocks, each about a third longer than the one before.

    Example:
        >>> lengths_up_to(12)
        [1, 2, 3, 4, 6, 8, 11]
    """
    found, length = list[int](), 1
    while length <= most:
        found.append(length)
        length = max(length + 1, -(-length * 4 // 3))
    return found
