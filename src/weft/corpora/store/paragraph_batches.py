"""Batches of whole paragraphs from a token store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.corpora.store.pair_batches import Whole, pad_rows
from weft.corpora.store.sentence_years import years_of_sentences
from weft.corpora.store.token_store import TokenStore
from weft.errors import CorpusError

FEWEST, MOST = 5, 40  # sentences of a paragraph


@dataclass(frozen=True, slots=True)
class ParagraphBatch:
    """Paragraphs of similar length; their sentences are in reading order.

    Attributes:
        sentences: [sentences, time] token ids, padded on the right.
        lengths: [sentences]
        years: [sentences] the first year that each sentence mentions, or 0.
        places: [paragraphs, longest] the sentence at each position; −1 after the end of a paragraph.
        shuffled: The same in a random order, for the contrastive loss.
    """

    sentences: Whole
    lengths: Whole
    years: Whole
    places: Whole
    shuffled: Whole | None = None

    def __len__(self) -> int:
        return len(self.places)

    @property
    def pairs(self) -> int:
        """Number of pairs of sentences of the same paragraph."""
        counts = (self.places >= 0).sum(axis=1)  # [paragraphs]
        return int((counts * (counts - 1) // 2).sum())

    @property
    def predicted_tokens(self) -> int:
        """Number of tokens, ends of sentences included, of all sentences except the first of each paragraph."""
        later = self.places[:, 1:]
        chosen = later[later >= 0]
        return int(self.lengths[chosen].sum()) + len(chosen)

    def rows(self, start: int, step: int) -> ParagraphBatch:
        """Return every ``step``-th paragraph from ``start``: the share of one process of a distributed run."""
        places = self.places[start::step]
        used = places[places >= 0]  # [sentences of the share]
        new = np.full(len(self.lengths) + 1, -1)  # the last entry is for −1, no sentence
        new[used] = np.arange(len(used))
        shuffled = None if self.shuffled is None else new[self.shuffled[start::step]]
        return ParagraphBatch(self.sentences[used], self.lengths[used], self.years[used], new[places], shuffled)


class ParagraphStream:
    """Training batches of the paragraphs of a store.

    Args:
        store: The prepared corpus.
        batch_tokens: Tokens per batch, without padding.
        max_tokens: Longer sentences are cut.
        seed: Seed of the order of batches.
        pad: The id of padding.
        fewest: Smallest number of sentences of a paragraph.
        most: Largest number of sentences of a paragraph; not used with ``window``.
        window: Paragraphs are cut into windows of this many sentences; a window starts with the last sentence of the
            previous one. 0: no windows.
        backwards: Whether paragraphs are read from their end.
        dated: Whether years are looked up.
        contrast: Whether every paragraph is also given in a random order.
        kept_ends: Share of the random orders that keep the first and the last sentence, because a model could
            otherwise tell orders apart by their ends alone.
    """

    def __init__(
        self,
        store: TokenStore,
        *,
        batch_tokens: int,
        max_tokens: int,
        seed: int,
        pad: int,
        fewest: int = FEWEST,
        most: int = MOST,
        window: int = 0,
        backwards: bool = False,
        dated: bool = True,
        contrast: bool = False,
        kept_ends: float = 0.0,
    ) -> None:
        self.store, self.pad, self.seed, self.backwards, self.contrast = store, pad, seed, backwards, contrast
        self.kept_ends = kept_ends
        self.batch_tokens, self.max_tokens = batch_tokens, max_tokens
        self.starts, self.sizes = _windows(np.asarray(store.paragraph_offsets), fewest, most, window)
        if not len(self.starts):
            raise CorpusError(
                "the store has no paragraph for training",
                seen=f"{store.paragraph_count} paragraphs",
                allowed=f"paragraphs of {fewest} sentences or more" if window else f"of {fewest} to {most} sentences",
                next_step="prepare a corpus with longer paragraphs",
            )
        ends = np.concatenate([[0], np.cumsum(np.minimum(store.lengths(), max_tokens))])  # [sentences + 1]
        self.tokens = ends[self.starts + self.sizes] - ends[self.starts]  # [paragraphs chosen]
        self.first_sentence = np.concatenate([[0], np.cumsum(self.sizes)])
        self.years = np.zeros(self.first_sentence[-1], dtype=np.int64)  # [sentences of the chosen paragraphs]
        if dated:
            numbers = np.concatenate([np.arange(a, a + n) for a, n in zip(self.starts, self.sizes, strict=True)])
            self.years = years_of_sentences(store, numbers)

    def epoch(self, number: int) -> list[Whole]:
        """Return the paragraphs of each batch of an epoch, in training order."""
        generator = np.random.default_rng([self.seed, number])
        order = np.lexsort((generator.random(len(self.sizes)), self.sizes))  # by number of sentences, then at random
        filled = np.cumsum(self.tokens[order]) // self.batch_tokens  # [paragraphs]
        batches = np.split(order, np.flatnonzero(np.diff(filled)) + 1)
        generator.shuffle(batches)
        return batches

    def batch(self, pairs: Whole) -> ParagraphBatch:
        """Return a batch of paragraphs, read from the store."""
        real, within = self._places(pairs)
        places, numbers = self.laid_out(pairs)
        flat, offsets = self.store.gather(numbers)
        sentences, lengths = pad_rows(flat, offsets, self.pad)
        longest = min(self.max_tokens, sentences.shape[1])
        years = self.years[(self.first_sentence[pairs][:, None] + within)[real]]
        shuffled = self._shuffled(places, pairs) if self.contrast else None
        return ParagraphBatch(sentences[:, :longest], np.clip(lengths, 1, longest), years, places, shuffled)

    def laid_out(self, pairs: Whole) -> tuple[Whole, Whole]:
        """Return the sentence at each position [paragraphs, longest], and its number in the store [sentences]."""
        real, within = self._places(pairs)
        places = np.full(real.shape, -1)
        places[real] = np.arange(int(real.sum()))
        return places, (self.starts[pairs][:, None] + within)[real]

    def _places(self, pairs: Whole) -> tuple[npt.NDArray[np.bool_], Whole]:
        """Return which positions have a sentence, and its index in its paragraph: [paragraphs, longest]."""
        sizes = self.sizes[pairs]
        real = np.arange(sizes.max()) < sizes[:, None]
        within = np.broadcast_to(np.arange(sizes.max()), real.shape)
        return real, sizes[:, None] - 1 - within if self.backwards else within

    def _shuffled(self, places: Whole, pairs: Whole) -> Whole:
        """Return the sentences of each paragraph in a random order, the same for the same batch."""
        generator = np.random.default_rng([self.seed, int(pairs[0]), len(pairs)])
        noise, sizes = generator.random(places.shape), (places >= 0).sum(axis=1)
        chosen = generator.random(len(places)) < self.kept_ends
        kept = np.flatnonzero(chosen & (sizes > 3))  # three sentences with fixed ends have one order
        noise[kept, 0], noise[kept, sizes[kept] - 1] = -1.0, 1.5
        order = np.argsort(np.where(places >= 0, noise, 2.0), axis=1)  # padding stays at the end
        return np.take_along_axis(places, order, axis=1)


def _windows(offsets: Whole, fewest: int, most: int, window: int) -> tuple[Whole, Whole]:
    """Return the first sentence and the number of sentences of each window.

    Example:
        >>> starts, sizes = _windows(np.array([0, 1, 8]), fewest=2, most=9, window=3)
        >>> starts.tolist(), sizes.tolist()
        ([1, 3, 5], [3, 3, 3])
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    if not window:
        chosen = (sizes >= fewest) & (sizes <= most)
        return starts[chosen], sizes[chosen]
    starts, sizes = starts[sizes >= fewest], sizes[sizes >= fewest]
    stride = window - 1  # windows share one sentence
    pieces = np.maximum(1, -(-(sizes - 1) // stride))  # [paragraphs]
    owner = np.repeat(np.arange(len(sizes)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)  # of the piece in its paragraph
    return starts[owner] + number * stride, np.minimum(window, sizes[owner] - number * stride)
