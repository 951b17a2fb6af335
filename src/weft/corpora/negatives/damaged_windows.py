"""Damage to windows of a token store: intruding and repeated sentences, joined texts, exchanged and moved sentences.

A window is a list of sentence numbers with, for each sentence, the text that it belongs to and its place there. All
labels follow from these: which of two sentences comes first, which one follows, and where a given order breaks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
STRANGER = -1  # the text of a sentence that does not belong here
REPEATED = -2  # the text of the copy of a sentence of the window
NEIGHBOURHOOD = 4000  # sentences on either side of a text that strangers come from: mostly texts of the same kind
KINDS = ("stranger", "elsewhere", "joined", "repeated")
KIND_SHARES = (0.35, 0.25, 0.2, 0.2)
KIND_BOUNDS = np.cumsum(KIND_SHARES[:-1])  # a random number from 0 to 1 falls between two of them
CHANGES = ("neighbours", "pair", "moved", "shuffled")
CHANGE_SHARES = (0.35, 0.2, 0.3, 0.15)


@dataclass(frozen=True, slots=True)
class Window:
    """Sentences of a store in reading order.

    Attributes:
        numbers: Sentence numbers: [sentences].
        texts: The text of each sentence, 0 or 1; `STRANGER` or `REPEATED` if it does not belong here: [sentences].
        positions: The place of each sentence in its text: [sentences].
    """

    numbers: Whole
    texts: Whole
    positions: Whole

    @classmethod
    def plain(cls, start: int, size: int) -> Window:
        """Return consecutive sentences of one text."""
        places = np.arange(size)
        return cls(start + places, np.zeros(size, dtype=np.int64), places)

    def __len__(self) -> int:
        return len(self.numbers)

    def insert(self, number: int, place: int, text: int = STRANGER) -> Window:
        """Return the window with a sentence put in before ``place`` that does not belong there."""
        parts = ((self.numbers, number), (self.texts, text), (self.positions, 0))
        # Ten times as fast as np.insert, and most of the time that a batch takes.
        return Window(*(np.concatenate([part[:place], [added], part[place:]]) for part, added in parts))

    def first(self, count: int) -> Window:
        """Return the first sentences of the window."""
        if count >= len(self):
            return self
        return Window(self.numbers[:count], self.texts[:count], self.positions[:count])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where the sentences of damaged windows come from."""

    article: tuple[int, int]  # first sentence of the window's article, and the end
    group: tuple[int, int]  # first sentence of the articles that strangers may come from, and the end

    def stranger(self, generator: np.random.Generator) -> int | None:
        """Return a sentence of another article nearby; None if there is no other article."""
        low, high = self.article
        first, end = self.group
        before, after = min(low - first, NEIGHBOURHOOD), min(end - high, NEIGHBOURHOOD)
        if before + after == 0:
            return None
        drawn = int(generator.integers(before + after))
        return low - before + drawn if drawn < before else high + drawn - before

    def elsewhere(self, window: Window, generator: np.random.Generator) -> int | None:
        """Return a sentence of the same article, not next to the window; None if there is none."""
        low, high = self.article
        own = window.numbers[(window.numbers >= low) & (window.numbers < high)]
        left, right = int(own.min()) - 1, int(own.max()) + 2  # the sentence next to the window could follow it
        before, after = max(0, left - low), max(0, high - right)
        if before + after == 0:
            return None
        drawn = int(generator.integers(before + after))
        return low + drawn if drawn < before else right + drawn - before


def damaged(window: Window, kind: str, around: Surroundings, generator: np.random.Generator) -> Window:
    """Return a window with one damage of a kind of `KINDS`; unchanged if the store has no sentence for it.

    Example:
        >>> around = Surroundings((0, 4), (0, 9))
        >>> damaged(Window.plain(0, 4), "stranger", around, np.random.default_rng(1)).texts.tolist().count(STRANGER)
        1
    """
    if kind == "joined":
        return _joined(window, around, generator)
    if kind == "repeated":
        number: int | None = int(generator.choice(window.numbers))
    elif kind == "elsewhere":
        number = around.elsewhere(window, generator)
    else:
        number = around.stranger(generator)
    if number is None:
        return window
    text = REPEATED if kind == "repeated" else STRANGER
    return window.insert(number, int(generator.integers(len(window) + 1)), text)


def _joined(window: Window, around: Surroundings, generator: np.random.Generator) -> Window:
    """Return the beginning of a window, followed by sentences of another text."""
    start = around.stranger(generator)
    if start is None or len(window) < 4:
        return window
    kept = int(generator.integers(2, len(window) - 1))
    low, high = around.article
    first, end = around.group
    limit = low if start < low else end  # the other text must not run into this one
    start = max(first, min(start, limit - (len(window) - kept)))
    if start + len(window) - kept > end or (start < high and start + len(window) - kept > low):
        return window
    added = np.arange(len(window) - kept)
    return Window(
        np.concatenate([window.numbers[:kept], start + added]),
        np.concatenate([window.texts[:kept], np.ones(len(added), dtype=np.int64)]),
        np.concatenate([window.positions[:kept], added]),
    )


def changed_order(size: int, change: str, generator: np.random.Generator) -> Whole:
    """Return an order of a window's sentences with one change of `CHANGES`.

    Example:
        >>> sorted(changed_order(6, "moved", np.random.default_rng(1)).tolist())
        [0, 1, 2, 3, 4, 5]
    """
    if size < 2:
        return np.arange(size)
    if change == "shuffled":
        return generator.permutation(size)
    order = list(range(size))
    left = int(generator.integers(size - 1))
    right = left + 1
    if change != "neighbours":  # two different places
        left, right = int(generator.integers(size)), left
        right += right >= left
    if change == "moved":
        order.insert(right, order.pop(left))
    else:
        order[left], order[right] = order[right], order[left]
    return np.array(order)
