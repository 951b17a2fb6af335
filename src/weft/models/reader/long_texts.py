"""Tables of texts with more sentences than a network reads at once.

The sentences are read in groups, in several rounds. The first groups are random. They give a rough order: the places
that agree best with the log-odds of all pairs read together, by least squares (as Bradley and Terry 1952 do for
outcomes of games). Each further round reads neighbours of the rough order together: first sentences spread over wide
neighbourhoods, then over narrower ones, and at last adjacent ones in windows that overlap. A pair that was never read
together gets its log-odds from the places of its sentences. The number of groups grows linearly with the number of
sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.progress import Steps, result_of

Table = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]
Group = Sequence[int]  # numbers of sentences
# Returns the gain if j follows i and the log-odds that i precedes j, each [group, group], for each group.
ReadGroups = Callable[[Sequence[Group]], Sequence[tuple[Table, Table]]]
GROUPS_AT_ONCE = 4  # read in one step: a fraction of a second
RIDGE = 1e-3  # keeps places finite in a part of the text that is connected to no other


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """The groups of sentences that are read together.

    Attributes:
        group: Number of sentences of a group.
        random: Number of times that each sentence is read in a random group.
        widths: Widths of the neighbourhoods of further rounds, in groups; 1 for windows of adjacent sentences, which
            overlap by half and also give the gain of the next sentence.
        seed: Seed of the random groups.
    """

    group: int = 32
    random: int = 2
    widths: tuple[int, ...] = (8, 3, 1, 1)
    seed: int = 1


class PairObservations:
    """What was read about the pairs of sentences of one text, summed over groups."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.odds, self.counts = np.zeros((size, size)), np.zeros((size, size))
        self.steps, self.step_counts = np.zeros((size, size)), np.zeros((size, size))

    def add(self, group: Group, follows: Table, odds: Table, *, adjacent: bool) -> None:
        """Add the tables of a group; the next sentence is learned only where neighbours were read together."""
        cells = np.ix_(list(group), list(group))
        self.odds[cells] += odds
        self.counts[cells] += 1 - np.eye(len(group))
        if adjacent:
            self.steps[cells] += follows
            self.step_counts[cells] += 1 - np.eye(len(group))

    def places(self) -> Table:
        """Return a place for each sentence, lower for earlier ones: [sentences].

        They minimise the squared difference between the mean log-odds of a pair and the distance of its places, summed
        over all readings of all pairs.
        """
        laplacian = np.diag(self.counts.sum(axis=1) + RIDGE) - self.counts
        found: Table = -np.linalg.solve(laplacian, self.odds.sum(axis=1))
        return found

    def order(self) -> Order:
        """Return the sentences in the order of their places."""
        found: Order = np.argsort(self.places(), kind="stable")
        return found

    def tables(self) -> tuple[Table, Table]:
        """Return the gain if j follows i and the log-odds that i precedes j: [sentences, sentences] each.

        A pair that was not read together has the log-odds of its distance, at most about the mean of those read; a pair
        that was not in a window of neighbours has the lowest gain of the sentences that were read after i.
        """
        read = self.counts > 0
        odds = self.odds / np.maximum(self.counts, 1)
        scale = float(np.abs(odds[read]).mean()) if read.any() else 0.0
        places = self.places()
        far = scale * np.tanh((places[None, :] - places[:, None]) / scale) if scale > 0 else np.zeros_like(odds)
        near = self.step_counts > 0
        steps = self.steps / np.maximum(self.step_counts, 1)
        lowest = np.where(near, steps, np.inf).min(axis=1)  # [sentences]
        lowest[~np.isfinite(lowest)] = steps.min()
        follows = np.where(near, steps, lowest[:, None])
        np.fill_diagonal(follows, 0.0)
        return follows, np.where(read, odds, far)


def merged_tables(size: int, read: ReadGroups, plan: ReadingPlan = ReadingPlan()) -> tuple[Table, Table]:
    """Return the tables of a text that is read in groups.

    Args:
        size: Number of sentences.
        read: Reads groups of sentences.
        plan: Which groups.

    Returns:
        The gain if j follows i, and the log-odds that i precedes j: [sentences, sentences] each.

    Example:
        >>> def read(groups):
        ...     return [(np.zeros((len(one), len(one))), np.sign(np.subtract.outer(one, one)) * -1.0) for one in groups]
        >>> follows, precedence = merged_tables(100, read, ReadingPlan(group=10))
        >>> int((precedence[np.triu_indices(100, 1)] > 0).mean() * 100) > 95
        True
    """
    return result_of(table_steps(size, read, plan))


def table_steps(size: int, read: ReadGroups, plan: ReadingPlan = ReadingPlan()) -> Steps[tuple[Table, Table]]:
    """Return what `merged_tables` returns, in steps of a few groups."""
    seen = PairObservations(size)
    if size <= plan.group:
        yield from _read(seen, read, [np.arange(size)], adjacent=True)
        return seen.tables()
    generator = np.random.default_rng(plan.seed)
    for _ in range(plan.random):
        yield from _read(seen, read, _dealt(generator.permutation(size), -(-size // plan.group)), adjacent=False)
    for width in plan.widths:
        if width > 1 and width * plan.group >= size:
            continue  # as wide as the text: the random groups have done it
        order = seen.order()
        offsets = (0, plan.group // 2) if width == 1 else (0,)
        groups = [
            group
            for offset in offsets
            for part in _segments(order, width * plan.group, offset)
            for group in _dealt(part, -(-len(part) // plan.group))
        ]
        yield from _read(seen, read, groups, adjacent=width == 1)
    return seen.tables()


def _read(seen: PairObservations, read: ReadGroups, groups: Sequence[Order], *, adjacent: bool) -> Steps[None]:
    numbers = [group.tolist() for group in groups if len(group) > 1]
    for start in range(0, len(numbers), GROUPS_AT_ONCE):
        some = numbers[start : start + GROUPS_AT_ONCE]
        for group, (follows, odds) in zip(some, read(some), strict=True):
            seen.add(group, follows, odds, adjacent=adjacent)
        yield


def _dealt(order: Order, hands: int) -> list[Order]:
    """Return an order dealt out like cards: hand k has every sentence at a place k modulo the number of hands."""
    return [order[hand::hands] for hand in range(hands)]


def _segments(order: Order, length: int, offset: int) -> list[Order]:
    """Return consecutive parts of an order; the first ends at the offset, if there is one, and the last may be shorter.

    Example:
        >>> [part.tolist() for part in _segments(np.arange(7), 3, 1)]
        [[0], [1, 2, 3], [4, 5, 6]]
    """
    cuts = list(range(offset or length, len(order), length))
    return np.split(order, cuts)
