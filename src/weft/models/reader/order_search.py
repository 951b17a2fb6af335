"""The search for an order by tables of the next sentence and of precedence.

The search starts with the sentences sorted by how many others they precede (Borda count), then moves blocks of one to
three sentences to better places until no move helps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]
BLOCKS = (1, 2, 3)
MOST_ROUNDS = 50
LEAST_GAIN = 1e-9  # smaller gains are rounding errors, which could move a block to and fro without end


def best_order(follows: Table, precedence: Table, *, first: int | None = None) -> tuple[int, ...]:
    """Return an order with a high sum of both tables.

    Args:
        follows: The gain if j directly follows i: [sentences, sentences].
        precedence: The gain if i comes anywhere before j, antisymmetric: [sentences, sentences].
        first: The sentence that must come first.

    Example:
        >>> follows = np.array([[0.0, 0.0, 5.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> best_order(follows, np.zeros((3, 3)))
        (1, 0, 2)
    """
    order: Order = np.argsort(-precedence.sum(axis=1), kind="stable")
    fixed = 0
    if first is not None:
        order, fixed = np.concatenate([[first], order[order != first]]), 1
    for _ in range(MOST_ROUNDS):
        before = order
        for length in BLOCKS:
            order = _one_round(order, follows, precedence, length, fixed)
        if np.array_equal(before, order):
            break
    return tuple(int(number) for number in order)


def _one_round(order: Order, follows: Table, precedence: Table, length: int, fixed: int) -> Order:
    """Return the order after each block of a length was moved to its best place, if that is better."""
    for start in range(fixed, len(order) - length + 1):
        block, rest = order[start : start + length], np.delete(order, slice(start, start + length))
        if len(rest) == fixed:
            break
        gains = _gains(block, rest, follows, precedence)
        place = fixed + int(np.argmax(gains[fixed:]))
        if gains[place] > gains[start] + LEAST_GAIN:
            order = np.insert(rest, place, block)
    return order


def _gains(block: Order, rest: Order, follows: Table, precedence: Table) -> Table:
    """Return the gain of putting a block before each of the other sentences, and at the end: [others + 1]."""
    gains = np.zeros(len(rest) + 1)
    gains[1:] += follows[rest, block[0]]
    gains[:-1] += follows[block[-1], rest]
    gains[1:-1] -= follows[rest[:-1], rest[1:]]
    # Antisymmetric: a sentence that the block moves past changes the sum by twice its precedence.
    gains[1:] += 2 * np.cumsum(precedence[np.ix_(rest, block)].sum(axis=1))
    return gains
