"""Tables of trained readers: what the network says about all pairs of sentences of a text, and scores of orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from weft.corpora.text.text_limits import LONG_SENTENCE
from weft.document import TextWarning
from weft.io.seeded_hash import hash_key
from weft.models.common.token_cache import TokenCache
from weft.models.reader.long_texts import ReadingPlan, table_steps
from weft.models.reader.network_constants import NO_STRAY
from weft.progress import Steps
from weft.scoring.text_soundness import UNSOUND_LINK
from weft.scoring.uni_bi_mmi import BoundedCache

Table = npt.NDArray[np.float64]
Sentences = tuple[str, ...]
MARKS = 2  # tokens of start and end, which count as tokens of a sentence
# Share of the tokens of a text that are not read. In 15 of the 20 genres of the dev data no text reaches it; in legal
# texts and speeches 5% do. A few cut sentences are common, and say little against a score.
MUCH_CUT = 1 / 3
LONG_CELLS = 2**21  # of the tables of long texts that are kept, 16 bytes each: eight texts of 500 sentences
TIE = 1e-9  # smaller differences of scores are rounding errors


@dataclass(frozen=True, slots=True)
class TextTables:
    """What a reader says about one text.

    Attributes:
        follows: log p(j follows i) above that of chance, 1 / (sentences − 1): [sentences, sentences].
        precedence: Log-odds that i precedes j, antisymmetric: [sentences, sentences].
        breaks: Log-odds of a break at each gap of the given order, [sentences − 1]; empty if read in groups.
        surprises: Predicted mean log-likelihood per token of each sentence, in nats, [sentences]; empty if the network
            has no such head or the text was read in groups.
        strays: Log-odds that each sentence does not belong where it stands, [sentences]; empty likewise.
    """

    follows: Table
    precedence: Table
    breaks: Table
    surprises: Table = field(default_factory=lambda: np.zeros(0))
    strays: Table = field(default_factory=lambda: np.zeros(0))

    def with_neighbours(self, weight: float) -> TextTables:
        """Return tables in which j after i also gains ``weight`` times the log-odds that i precedes j."""
        return replace(self, follows=self.follows + weight * self.precedence) if weight else self

    def with_soundness(self, soundness: Sequence[float]) -> TextTables:
        """Return tables in which a link of an unsound sentence gains `UNSOUND_LINK`, and its place nothing.

        Args:
            soundness: How far each sentence is sound, from 0 to 1: [sentences]. In between, both hold in part.
        """
        values = np.asarray(soundness)
        if values.size == 0 or values.min() == 1:
            return self
        sound = np.minimum(values[:, None], values)  # [sentences, sentences] of both sentences of a link
        lowered = sound * self.follows + (1 - sound) * UNSOUND_LINK
        return replace(self, follows=np.minimum(self.follows, lowered), precedence=sound * self.precedence)

    def transitions(self, order: Sequence[int], weight: float) -> Table:
        """Return the parts of an order's score at each gap: [gaps].

        The log-odds of a pair, however far apart, are spread evenly over the gaps between its sentences; the mean over
        the gaps is the mean of log p(next) plus ``weight`` times the mean log-odds of all pairs.
        """
        places = np.asarray(order, dtype=np.int64)
        steps = self.follows[places[:-1], places[1:]]  # [gaps]
        size = len(places)
        odds = self.precedence[np.ix_(places, places)]
        left, right = np.triu_indices(size, 1)
        shares = odds[left, right] / (right - left)  # [pairs] for each gap of the pair
        ends = np.zeros(size + 1)
        np.add.at(ends, left, shares)
        np.add.at(ends, right, -shares)
        found: Table = steps + weight * np.cumsum(ends)[: size - 1] * (size - 1) / max(1, len(left))
        return found

    def value(self, order: Sequence[int], weight: float) -> float | None:
        """Return the score of an order, the mean of its transitions; None for fewer than two sentences."""
        if len(order) < 2:
            return None
        places = np.asarray(order, dtype=np.int64)
        steps = self.follows[places[:-1], places[1:]]
        odds = self.precedence[np.ix_(places, places)][np.triu_indices(len(places), 1)]
        return math.fsum(steps.tolist()) / len(steps) + weight * math.fsum(odds.tolist()) / len(odds)

    def values(self, orders: npt.NDArray[np.int64], weight: float) -> Table:
        """Return the scores of orders ([orders, sentences], two or more), equal to `value` up to rounding: [orders]."""
        steps = self.follows[orders[:, :-1], orders[:, 1:]].mean(axis=1)
        size = orders.shape[1]
        places = np.argsort(orders, axis=1)  # of each sentence in each order
        odds = [float(np.sum(self.precedence, where=place[:, None] < place)) for place in places]
        found: Table = steps + weight * np.array(odds) / (size * (size - 1) / 2)
        return found

    def shuffles_beaten(self, weight: float, *, shuffles: int, seed: int) -> float:
        """Return the share of random orders that score lower than the given one; ties count as not beaten."""
        own = np.arange(len(self.follows))
        generator = np.random.default_rng([seed, len(own)])
        drawn = generator.permuted(np.tile(own, (shuffles, 1)), axis=1)
        others = drawn[(drawn != own).any(axis=1)]
        values = self.values(np.vstack([own, others]), weight)
        return float(np.sum(values[1:] < values[0] - TIE)) / max(1, len(others))


class TableReader(Protocol):
    """A trained network that makes the tables of texts, in PyTorch or in onnxruntime."""

    @property
    def ids(self) -> TokenCache:
        """The tokens of sentences, before they are cut."""

    def tables(self, texts: Sequence[Sentences]) -> list[TextTables]:
        """Return the tables of texts, in order."""

    def devices(self) -> tuple[str, ...]:
        """Return the devices that it can run on: ``cpu``, and ``cuda`` if there is a GPU that it can use."""

    def to(self, device: str) -> TableReader:
        """Return it on one of these devices."""


def long_table_steps(reader: TableReader, sentences: Sentences, plan: ReadingPlan) -> Steps[TextTables]:
    """Return the tables of a text that is read in groups, without breaks, in steps of a few groups."""

    def read(groups: Sequence[Sequence[int]]) -> list[tuple[Table, Table]]:
        found = reader.tables([tuple(sentences[number] for number in group) for group in groups])
        return [(tables.follows, tables.precedence) for tables in found]

    follows, precedence = yield from table_steps(len(sentences), read, plan)
    return TextTables(follows, precedence, np.zeros(0))


def sorted_table_steps(
    reader: TableReader, sentences: Sentences, plan: ReadingPlan, memory: BoundedCache[Sentences, TextTables]
) -> Steps[TextTables]:
    """Return the tables of a text that is read in groups, in steps; they do not depend on the given order."""
    ranked = sorted(range(len(sentences)), key=lambda number: hash_key(sentences[number]))
    sorted_text = tuple(sentences[number] for number in ranked)
    found = yield from memory.get_in_steps(sorted_text, lambda: long_table_steps(reader, sorted_text, plan))
    places = np.argsort(ranked)
    cells = np.ix_(places, places)
    return TextTables(found.follows[cells], found.precedence[cells], found.breaks)


def long_memory() -> BoundedCache[Sentences, TextTables]:
    """Return an empty cache of the tables of long texts, by their sorted sentences."""
    return BoundedCache(LONG_CELLS, lambda _, tables: tables.follows.size)


def slots_of(sentences: Sequence[str], slots: int) -> npt.NDArray[np.int64]:
    """Return a slot for each sentence, by the order of the hashes of the sentences.

    Example:
        >>> slots_of(["A cat sat.", "It slept."], 64).tolist(), slots_of(["It slept.", "A cat sat."], 64).tolist()
        ([0, 1], [1, 0])
    """
    ranked = sorted(range(len(sentences)), key=lambda number: hash_key(sentences[number]))
    found = np.zeros(len(sentences), dtype=np.int64)
    found[ranked] = np.arange(len(sentences)) % slots
    return found


def cut_tables(
    size: int,
    *,
    follows: Table,
    odds: Table,
    breaks: Table,
    surprises: Table | None = None,
    strays: Table | None = None,
) -> TextTables:
    """Return the tables of a text without padding; the only sentence of a text is no stray."""
    gain = follows[:size, :size] + math.log(max(1, size - 1))
    np.fill_diagonal(gain, 0.0)
    predicted = np.zeros(0) if surprises is None else surprises[:size].copy()
    stray = np.zeros(0) if strays is None else strays[:size].copy() if size > 1 else np.full(size, NO_STRAY)
    return TextTables(gain, odds[:size, :size].copy(), breaks[: size - 1].copy(), predicted, stray)


def cut_remarks(rows: Sequence[Sequence[int]], sentence_tokens: int) -> tuple[TextWarning, ...]:
    """Return a warning if a reader reads less than two thirds of a text, because it cuts long sentences.

    Args:
        rows: The tokens of each sentence, without marks.
        sentence_tokens: Number of tokens that are read of a sentence, with its marks.

    Example:
        >>> cut_remarks([[5] * 9, [5] * 6], 8)
        ()
        >>> print(*cut_remarks([[5] * 16, [5] * 6], 8))
        45% of the text is not read: the model reads the first 6 word pieces of a sentence
    """
    most = sentence_tokens - MARKS
    cut = sum(max(0, len(row) - most) for row in rows) / max(1, sum(map(len, rows)))
    if cut < MUCH_CUT:
        return ()
    sentence = f"{cut:.0%} of the text is not read: the model reads the first {most} word pieces of a sentence"
    return (TextWarning(LONG_SENTENCE.code, sentence),)
