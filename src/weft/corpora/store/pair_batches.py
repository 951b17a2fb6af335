"""Batches of sentence pairs from a token store, grouped by length.

The batches of an epoch depend on the seed and the number of the epoch alone, so that a run resumes from two integers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from weft.corpora.store.token_store import TokenStore
from weft.errors import CorpusError, check_known

Direction = Literal["forward", "backward", "prior"]
Whole = npt.NDArray[np.int64]
LENGTH_BUCKET = 4  # width of a length group, in tokens


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Padded sentence pairs.

    Attributes:
        source: [rows, source time] the context sentence, padded on the right; zero columns for a language model.
        source_lengths: [rows]
        target: [rows, target time] the sentence to predict, padded on the right, without special tokens.
        target_lengths: [rows]
        other: [rows, other time] another sentence of the same paragraph, for the contrastive loss.
        other_lengths: [rows]
    """

    source: Whole
    source_lengths: Whole
    target: Whole
    target_lengths: Whole
    other: Whole | None = None
    other_lengths: Whole | None = None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def tokens(self) -> int:
        """Number of predictions: all target tokens, and one end of sentence per row."""
        return int(self.target_lengths.sum()) + len(self.target_lengths)

    def places(self) -> Whole:
        """Return the flat indices of the predictions in a matrix [rows, target time + 1], padding omitted: [tokens]."""
        return np.flatnonzero(np.arange(self.target.shape[1] + 1) <= self.target_lengths[:, None])

    def rows(self, start: int, step: int) -> PairBatch:
        """Return every ``step``-th row from ``start``: the share of one process of a distributed run."""
        parts = (getattr(self, field.name) for field in fields(self))
        return PairBatch(*(None if part is None else part[start::step] for part in parts))  # type: ignore[arg-type]


def pad_rows(flat: npt.NDArray[Any], offsets: Whole, pad: int) -> tuple[Whole, Whole]:
    """Return concatenated sentences as a padded matrix [rows, longest], and their lengths [rows].

    Example:
        >>> pad_rows(np.array([5, 6, 7]), np.array([0, 1, 3]), 0)[0].tolist()
        [[5, 0], [6, 7]]
    """
    lengths = np.diff(offsets)  # [rows]
    width = int(lengths.max()) if len(lengths) else 0
    matrix = np.full((len(lengths), width), pad, dtype=np.int64)
    matrix[np.arange(width) < lengths[:, None]] = flat
    return matrix, lengths


def sentence_pairs(store: TokenStore, direction: Direction) -> tuple[Whole, Whole]:
    """Return the numbers of the context and the target sentence of every pair.

    ``forward`` predicts each sentence from the previous one of its paragraph, ``backward`` from the next one, ``prior``
    without context (−1).
    """
    check_known("direction", direction, get_args(Direction))
    if direction == "prior":
        targets = np.arange(store.sentence_count)
        return np.full_like(targets, -1), targets
    is_first = np.zeros(store.sentence_count, dtype=bool)
    starts = np.asarray(store.paragraph_offsets[:-1])
    is_first[starts[starts < store.sentence_count]] = True
    later = np.flatnonzero(~is_first)  # all but the first of each paragraph
    return (later - 1, later) if direction == "forward" else (later, later - 1)


class PairStream:
    """Training batches of one direction.

    Args:
        store: The prepared corpus.
        direction: ``forward``, ``backward`` or ``prior``.
        batch_tokens: Padded tokens per batch; of source and target, the longer one counts.
        max_tokens: Pairs with a longer sentence are omitted.
        seed: Seed of the order of batches.
        pad: The id of padding.
        contrast: Whether every pair has another sentence of its paragraph, which then needs at least three sentences.
            The other sentence may have any length and does not count in ``batch_tokens``.
    """

    def __init__(
        self,
        store: TokenStore,
        direction: Direction,
        *,
        batch_tokens: int,
        max_tokens: int,
        seed: int,
        pad: int,
        contrast: bool = False,
    ) -> None:
        self.store, self.pad, self.seed = store, pad, seed
        self.batch_tokens, self.max_tokens, self.contrast = batch_tokens, max_tokens, contrast
        contexts, targets = sentence_pairs(store, direction)
        lengths = store.lengths()
        self.has_context = direction != "prior"
        source_lengths = lengths[contexts] if self.has_context else np.zeros_like(targets)
        kept = (lengths[targets] <= max_tokens) & (source_lengths <= max_tokens) & (lengths[targets] > 0)
        kept &= (source_lengths > 0) if self.has_context else True
        kept &= _paragraphs(store, targets)[1] > 2 if contrast else True
        self.contexts, self.targets = contexts[kept], targets[kept]
        self.source_lengths, self.target_lengths = source_lengths[kept], lengths[targets][kept]
        if not len(self.targets):
            raise CorpusError(
                "the store has no sentence pair for training",
                seen=f"{store.sentence_count} sentences in {store.paragraph_count} paragraphs: {store.folder}",
                allowed=f"paragraphs of {3 if contrast else 2} or more sentences of up to {max_tokens} tokens",
                next_step="prepare a corpus with paragraphs, or raise training.max_tokens",
            )

    def epoch(self, number: int) -> list[Whole]:
        """Return the pairs of each batch of an epoch, in training order."""
        generator = np.random.default_rng([self.seed, number])
        noise = generator.random(len(self.targets))
        by_target = -(-(self.target_lengths + 1) // LENGTH_BUCKET)
        by_source = -(-self.source_lengths // (4 * LENGTH_BUCKET))
        order = np.lexsort((noise, by_source, by_target))  # by length, then at random
        batches = self._cut(order)
        generator.shuffle(batches)
        return batches

    def _cut(self, order: Whole) -> list[Whole]:
        """Return the order cut into batches of at most ``batch_tokens`` padded tokens."""
        widths = np.maximum(self.target_lengths[order] + 1, self.source_lengths[order])
        batches, start = [], 0
        while start < len(order):
            guess = max(1, self.batch_tokens // max(1, int(widths[start])))
            widest = int(widths[start : start + guess].max())
            rows = max(1, self.batch_tokens // widest)
            batches.append(order[start : start + rows])
            start += rows
        return batches

    def batch(self, pairs: Whole) -> PairBatch:
        """Return a batch of pairs, read from the store."""
        target, target_lengths = pad_rows(*self.store.gather(self.targets[pairs]), self.pad)
        if not self.has_context:
            empty = np.zeros((len(pairs), 0), dtype=np.int64)
            return PairBatch(empty, np.zeros(len(pairs), dtype=np.int64), target, target_lengths)
        source, source_lengths = pad_rows(*self.store.gather(self.contexts[pairs]), self.pad)
        if not self.contrast:
            return PairBatch(source, source_lengths, target, target_lengths)
        other, other_lengths = pad_rows(*self.store.gather(self.others(pairs)), self.pad)
        longest = max(1, min(self.max_tokens, other.shape[1]))
        other = other if other.shape[1] else np.full((len(other), 1), self.pad)
        other_lengths = np.clip(other_lengths, 1, longest)
        return PairBatch(source, source_lengths, target, target_lengths, other[:, :longest], other_lengths)

    def others(self, pairs: Whole) -> Whole:
        """Return a random sentence of the paragraph of each pair that is neither its context nor its target."""
        starts, sizes = _paragraphs(self.store, self.targets[pairs])
        generator = np.random.default_rng([self.seed, int(pairs[0]), len(pairs)])  # the same in a resumed run
        drawn = starts + (generator.random(len(pairs)) * (sizes - 2)).astype(np.int64)
        first = np.minimum(self.contexts[pairs], self.targets[pairs])  # context and target are neighbours
        return drawn + 2 * (drawn >= first)


def _paragraphs(store: TokenStore, sentences: Whole) -> tuple[Whole, Whole]:
    """Return the first sentence and the number of sentences of the paragraph of each sentence."""
    offsets = np.asarray(store.paragraph_offsets)
    owner = np.searchsorted(offsets, sentences, side="right") - 1
    return offsets[owner], offsets[owner + 1] - offsets[owner]
