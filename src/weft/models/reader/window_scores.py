"""What a reader says about a long text in its given order: means over windows that overlap.

Each window is read as a short text, so time and memory grow linearly with the number of sentences. A pair of sentences
that never stand in the same window does not count. Own shuffles exchange sentences within windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.models.reader.text_tables import TIE, Sentences, Table, TableReader, TextTables
from weft.progress import Steps
from weft.scoring.uni_bi_mmi import BoundedCache

WINDOWS_AT_ONCE = 4  # read in one step: a fraction of a second, and little memory
REMEMBERED = 2**18  # sentences of the texts whose scores are kept


@dataclass(frozen=True, slots=True)
class WindowScores:
    """Means over the windows of a text.

    Attributes:
        transitions: Parts of the score at each gap: [sentences − 1].
        breaks: Log-odds of a break at each gap: [sentences − 1].
        surprises: Predicted mean log-likelihood of each sentence, [sentences]; empty if the network has no such head.
        strays: Log-odds that each sentence does not belong where it stands, [sentences]; empty likewise.
        shuffles_beaten: Share of shuffles, within windows, that score lower than the given order.
    """

    transitions: Table
    breaks: Table
    surprises: Table
    strays: Table
    shuffles_beaten: float


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """How a long text is read.

    Attributes:
        window: Number of sentences of a window; neighbouring windows share a quarter of them.
        weight: Weight of precedence in a transition.
        shuffles: Number of shuffles.
        seed: Seed of the shuffles.
    """

    window: int
    weight: float
    shuffles: int = 200
    seed: int = 1

    def starts(self, size: int) -> list[int]:
        """Return the first sentence of each window; the last window ends with the text.

        Example:
            >>> WindowPlan(32, 0.1).starts(70), WindowPlan(32, 0.1).starts(32)
            ([0, 24, 38], [0])
        """
        last = max(0, size - self.window)
        return [*range(0, last, max(1, self.window * 3 // 4)), last]


def window_steps(
    reader: TableReader,
    sentences: Sentences,
    plan: WindowPlan,
    weighed: Callable[[TextTables, slice], TextTables],
) -> Steps[WindowScores]:
    """Return the means over the windows of a text, in steps of a few windows.

    Args:
        reader: Reads the windows.
        sentences: The text, in its order.
        plan: Which windows.
        weighed: Returns the tables of a window with the weights of the score; it gets the place of the window, too.
    """
    size = len(sentences)
    transitions, breaks, surprises, strays = _Means(size - 1), _Means(size - 1), _Means(size), _Means(size)
    own, others = 0.0, np.zeros(plan.shuffles)
    for number, (start, tables) in enumerate(_read(reader, sentences, plan)):
        if number and not number % WINDOWS_AT_ONCE:
            yield
        breaks.add(start, tables.breaks)
        surprises.add(start, tables.surprises)
        strays.add(start, tables.strays)
        found = weighed(tables, slice(start, start + plan.window))
        order = np.arange(len(found.follows))
        transitions.add(start, found.transitions(range(len(order)), plan.weight))
        shuffled = np.random.default_rng([plan.seed, size, number]).permuted(np.tile(order, (plan.shuffles, 1)), axis=1)
        values = found.values(np.vstack([order, shuffled]), plan.weight)
        own, others = own + float(values[0]), others + values[1:]
    yield
    beaten = float(np.mean(others < own - TIE)) if plan.shuffles else 0.0
    return WindowScores(transitions.found(), breaks.found(), surprises.found(), strays.found(), beaten)


def window_memory() -> BoundedCache[tuple[Sentences, WindowPlan, float], WindowScores]:
    """Return an empty cache of window scores, by the text, the plan and the weight of neighbours."""
    return BoundedCache(REMEMBERED, lambda key, _: len(key[0]))


class _Means:
    """Means of the values that windows give for each place."""

    def __init__(self, size: int) -> None:
        self.sums, self.counts = np.zeros(size), np.zeros(size)

    def add(self, start: int, values: npt.NDArray[np.float64]) -> None:
        self.sums[start : start + len(values)] += values
        self.counts[start : start + len(values)] += 1

    def found(self) -> Table:
        """Return the means; empty if no window gave a value."""
        return self.sums / np.maximum(self.counts, 1) if self.counts.any() else np.zeros(0)


def _read(reader: TableReader, sentences: Sentences, plan: WindowPlan) -> Iterator[tuple[int, TextTables]]:
    """Yield the first sentence and the tables of each window; only some of them are kept at a time."""
    starts: Sequence[int] = plan.starts(len(sentences))
    for first in range(0, len(starts), WINDOWS_AT_ONCE):
        some = starts[first : first + WINDOWS_AT_ONCE]
        windows = [sentences[start : start + plan.window] for start in some]
        yield from zip(some, reader.tables(windows), strict=True)
