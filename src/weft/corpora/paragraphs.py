"""Batches of whole paragraphs, for models that see all sentences of a text at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.corpora.batches import Whole, pad_rows
from weft.corpora.store import TokenStore
from weft.corpora.years import years_of_sentences
from weft.errors import CorpusError

FEWEST, MOST = 5, 40  # sentences of a paragraph worth ordering, and of one that still fits a batch well


@dataclass(frozen=True, slots=True)
class ParagraphBatch:
    """Paragraphs of alike length, their sentences in reading order.

    Attributes:
        sentences: [sentences, time] token ids, padded on the right.
        lengths: [sentences]
        years: [sentences] the first year each mentions, 0 for none.
        places: [paragraphs, longest] which sentence stands where; −1 after the end of a paragraph.
    """

    sentences: Whole
    lengths: Whole
    years: Whole
    places: Whole

    def __len__(self) -> int:
        return len(self.places)

    @property
    def pairs(self) -> int:
        """How many pairs of sentences of one paragraph there are."""
        counts = (self.places >= 0).sum(axis=1)  # [paragraphs]
        return int((counts * (counts - 1) // 2).sum())

    def rows(self, start: int, step: int) -> ParagraphBatch:
        """Every ``step``-th paragraph from ``start``, and its sentences: one process's share of a global batch."""
        places = self.places[start::step]
        used = places[places >= 0]  # [sentences of the share]
        renumbered = np.full_like(places, -1)
        renumbered[places >= 0] = np.arange(len(used))
        return ParagraphBatch(self.sentences[used], self.lengths[used], self.years[used], renumbered)


class ParagraphStream:
    """The paragraphs of a store, epoch after epoch.

    Args:
        store: The prepared corpus.
        batch_tokens: Tokens a batch holds, padding not counted.
        max_tokens: Longer sentences are cut.
        seed: Decides the order.
        pad: Id that fills sentences up.
    """

    def __init__(self, store: TokenStore, *, batch_tokens: int, max_tokens: int, seed: int, pad: int) -> None:
        self.store, self.pad, self.seed = store, pad, seed
        self.batch_tokens, self.max_tokens = batch_tokens, max_tokens
        offsets = np.asarray(store.paragraph_offsets)
        sizes = np.diff(offsets)  # [paragraphs]
        chosen = np.flatnonzero((sizes >= FEWEST) & (sizes <= MOST))
        if not len(chosen):
            raise CorpusError(
                "the store holds no paragraph to learn order from",
                seen=f"{store.paragraph_count} paragraphs",
                allowed=f"paragraphs of {FEWEST} to {MOST} sentences",
                next_step="prepare a corpus with longer paragraphs",
            )
        self.starts, self.sizes = offsets[:-1][chosen], sizes[chosen]
        self.tokens = np.add.reduceat(np.minimum(store.lengths(), max_tokens), offsets[:-1][sizes > 0])
        self.tokens = self.tokens[np.searchsorted(np.flatnonzero(sizes > 0), chosen)]  # [paragraphs chosen]
        numbers = np.concatenate([np.arange(a, a + n) for a, n in zip(self.starts, self.sizes, strict=True)])
        self.first_sentence = np.concatenate([[0], np.cumsum(self.sizes)])
        self.years = years_of_sentences(store, numbers)  # [sentences of the chosen paragraphs]

    def epoch(self, number: int) -> list[Whole]:
        """The paragraphs of every batch of an epoch, in training order."""
        generator = np.random.default_rng([self.seed, number])
        order = np.lexsort((generator.random(len(self.sizes)), self.sizes))  # alike in sentences, else at random
        filled = np.cumsum(self.tokens[order]) // self.batch_tokens  # [paragraphs]
        batches = np.split(order, np.flatnonzero(np.diff(filled)) + 1)
        generator.shuffle(batches)
        return batches

    def batch(self, pairs: Whole) -> ParagraphBatch:
        """Gather some paragraphs from the store."""
        sizes = self.sizes[pairs]
        within = np.arange(sizes.max())  # [longest]
        real = within < sizes[:, None]  # [paragraphs, longest]
        numbers = (self.starts[pairs][:, None] + within)[real]  # [sentences]
        flat, offsets = self.store.gather(numbers)
        sentences, lengths = pad_rows(flat, offsets, self.pad)
        longest = min(self.max_tokens, sentences.shape[1])
        places = np.full(real.shape, -1)
        places[real] = np.arange(len(numbers))
        years = self.years[(self.first_sentence[pairs][:, None] + within)[real]]
        return ParagraphBatch(sentences[:, :longest], np.clip(lengths, 1, longest), years, places)
