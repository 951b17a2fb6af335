"""Tables of trained readers: what the network says about all pairs of sentences of a text, and scores of orders."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from weft.corpora.store.window_batches import marked_rows
from weft.corpora.text.tokenizers import Tokenizer
from weft.io.seeded_hash import hash_key
from weft.models.common.token_cache import TokenCache
from weft.models.reader.long_texts import ReadingPlan, merged_tables
from weft.models.reader.network import ReaderNetwork
from weft.models.reader.text_encoder import Texts

Table = npt.NDArray[np.float64]
Sentences = tuple[str, ...]
TOKENS_AT_ONCE = {"cpu": 4096, "cuda": 131072}  # limits memory


@dataclass(frozen=True, slots=True)
class TextTables:
    """What a reader says about one text.

    Attributes:
        follows: log p(j follows i) above that of chance, 1 / (sentences − 1): [sentences, sentences].
        precedence: Log-odds that i precedes j, antisymmetric: [sentences, sentences].
        breaks: Log-odds of a break at each gap of the given order, [sentences − 1]; empty if read in groups.
    """

    follows: Table
    precedence: Table
    breaks: Table

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


class TableReader:
    """Makes the tables of texts with a trained network, several texts at once."""

    def __init__(self, network: ReaderNetwork, tokenizer: Tokenizer, sentence_tokens: int, slots: int) -> None:
        self.network, self.ids = network, TokenCache(tokenizer)
        self.sentence_tokens, self.slots = sentence_tokens, slots

    def tables(self, texts: Sequence[Sentences]) -> list[TextTables]:
        """Return the tables of texts of at least two sentences, in order."""
        found: list[TextTables | None] = [None] * len(texts)
        for numbers in self._batches(texts):
            for number, tables in zip(numbers, self._read([texts[number] for number in numbers]), strict=True):
                found[number] = tables
        return [tables for tables in found if tables is not None]

    def long_tables(self, sentences: Sentences, plan: ReadingPlan) -> TextTables:
        """Return the tables of a text that is read in groups, without breaks."""

        def read(groups: Sequence[Sequence[int]]) -> list[tuple[Table, Table]]:
            found = self.tables([tuple(sentences[number] for number in group) for group in groups])
            return [(tables.follows, tables.precedence) for tables in found]

        return TextTables(*merged_tables(len(sentences), read, plan), np.zeros(0))

    def long_breaks(self, sentences: Sentences, group: int) -> Table:
        """Return the mean log-odds of a break at each gap over windows that overlap by half: [sentences − 1]."""
        starts = range(0, len(sentences) - group // 2, max(1, group // 2))
        sums, counts = np.zeros(len(sentences) - 1), np.zeros(len(sentences) - 1)
        windows = [sentences[start : start + group] for start in starts]
        for start, tables in zip(starts, self.tables(windows), strict=True):
            sums[start : start + len(tables.breaks)] += tables.breaks
            counts[start : start + len(tables.breaks)] += 1
        return sums / np.maximum(counts, 1)

    def _batches(self, texts: Sequence[Sentences]) -> Iterator[list[int]]:
        """Yield groups of texts of similar length, of a limited number of padded tokens."""
        device = self.network.word_bias.device.type
        limit = TOKENS_AT_ONCE.get(device, TOKENS_AT_ONCE["cpu"])
        sizes = [sum(min(len(ids) + 2, self.sentence_tokens) for ids in self.ids(text)) for text in texts]
        group: list[int] = []
        for number in sorted(range(len(texts)), key=lambda one: sizes[one]):
            if group and (len(group) + 1) * sizes[number] > limit:
                yield group
                group = []
            group.append(number)
        if group:
            yield group

    @torch.inference_mode()
    def _read(self, texts: Sequence[Sentences]) -> list[TextTables]:
        given = self._input(texts)
        reading, _ = self.network.read(given)
        order = torch.arange(given.places.shape[1], device=given.places.device).expand_as(given.places)
        breaks = self.network.break_odds(reading, order, given.real)
        arrays = [part.double().cpu().numpy() for part in (reading.follows, reading.odds, breaks)]
        return [_cut(len(text), *(part[row] for part in arrays)) for row, text in enumerate(texts)]

    def _input(self, texts: Sequence[Sentences]) -> Texts:
        """Return texts as the input of the network; slots depend on the sentences alone, not on their order."""
        device = self.network.word_bias.device
        tokenizer = self.ids.tokenizer
        rows = self.ids([sentence for text in texts for sentence in text])
        marks = (tokenizer.bos_id, tokenizer.eos_id)
        ids, lengths = marked_rows(rows, marks, tokenizer.pad_id, self.sentence_tokens)
        sizes = np.array([len(text) for text in texts])
        real = np.arange(sizes.max()) < sizes[:, None]  # [texts, most]
        places, slots = np.full(real.shape, -1), np.zeros(real.shape, dtype=np.int64)
        places[real] = np.arange(len(rows))
        slots[real] = np.concatenate([slots_of(text, self.slots) for text in texts])
        longest = int((lengths[np.maximum(places, 0)] * real).sum(axis=1).max())
        parts = [torch.from_numpy(part).to(device) for part in (ids, lengths, places, slots)]
        return Texts(parts[0], parts[1], parts[2], parts[3], longest)


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


def _cut(size: int, follows: Table, odds: Table, breaks: Table) -> TextTables:
    """Return the tables of a text without padding."""
    gain = follows[:size, :size] + math.log(max(1, size - 1))
    np.fill_diagonal(gain, 0.0)
    return TextTables(gain, odds[:size, :size].copy(), breaks[: size - 1].copy())
