"""Sentences as bags of words, the input of topic models."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.text.words import words_only
from weft.document import Document
from weft.errors import CorpusError
from weft.models.common.hidden_markov import Chains
from weft.progress import Progress, silent

REPORT_EVERY = 1000  # documents between two progress reports


@dataclass(frozen=True)
class Vocabulary:
    """The vocabulary of a topic model."""

    words: tuple[str, ...]  # the words, most frequent first

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def numbers(self, sentence: str) -> list[int]:
        """Return the numbers of the known words of a sentence, in order."""
        find = self.index.get
        return [number for word in words_only(sentence) if (number := find(word)) is not None]

    def bags(self, documents: Iterable[Sequence[str]]) -> Bags:
        """Return the counts of known words in each sentence; a document is a sequence of sentences."""
        return count_words((map(self.numbers, sentences) for sentences in documents), len(self.words))


@dataclass(frozen=True)
class Bags:
    """Word counts of sentences, in documents."""

    counts: Any  # sparse [sentences, words], float32
    offsets: npt.NDArray[np.int64]  # first sentence of each document: [documents + 1]

    @property
    def tokens(self) -> float:
        """Number of words."""
        return float(self.counts.data.sum(dtype=np.float64))

    @cached_property
    def chains(self) -> Chains:
        """The layout of the sentences as chains, one per document."""
        return Chains(self.offsets)

    @cached_property
    def laid_out(self) -> Any:
        """The counts in the layout of the chains: sparse [sentences, words]."""
        return self.counts[self.chains.sentences]

    def blocks(self, sentences: int) -> Iterator[tuple[slice, Bags]]:
        """Yield blocks of whole documents with up to ``sentences`` sentences, and the slice of their numbers."""
        start = 0
        while start < len(self.offsets) - 1:
            stop = int(np.searchsorted(self.offsets, self.offsets[start] + sentences, side="right")) - 1
            stop = max(stop, start + 1)
            rows = slice(int(self.offsets[start]), int(self.offsets[stop]))
            yield slice(start, stop), Bags(self.counts[rows], self.offsets[start : stop + 1] - self.offsets[start])
            start = stop


def count_words(documents: Iterable[Iterable[Iterable[int]]], words: int) -> Bags:
    """Return the bags of documents, each a sequence of sentences that are sequences of word numbers.

    Example:
        >>> count_words([[[0, 0], [1]]], 3).counts.toarray().tolist()
        [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    ids, ends, offsets = array("i"), array("q", [0]), array("q", [0])
    for sentences in documents:
        for numbers in sentences:
            ids.extend(numbers)
            ends.append(len(ids))
        offsets.append(len(ends) - 1)
    return make_bags(np.asarray(ids), np.asarray(ends), np.asarray(offsets), words)


def make_bags(ids: npt.NDArray[Any], ends: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], words: int) -> Bags:
    """Return the bags of a flat sequence of words.

    Args:
        ids: The number of each word: [tokens].
        ends: First word of each sentence: [sentences + 1].
        offsets: First sentence of each document: [documents + 1].
        words: Number of words of the vocabulary.
    """
    from scipy.sparse import csr_matrix

    ones = np.ones(len(ids), dtype=np.float32)
    counts = csr_matrix((ones, ids.astype(np.int32), ends), shape=(len(ends) - 1, words))
    counts.sum_duplicates()
    return Bags(counts, offsets.astype(np.int64))


def read_bags(
    documents: Iterable[Document], *, vocabulary: int, drop_top: int, rarest: int, progress: Progress = silent
) -> tuple[Vocabulary, Bags]:
    """Return a vocabulary and the word counts of documents, which are read once.

    The most frequent words are dropped: they are function words, which occur in sentences of all topics. Rare words are
    dropped because nothing can be learned about them.

    Args:
        documents: The documents; each paragraph is a chain.
        vocabulary: Number of words to keep.
        drop_top: Number of most frequent words to drop.
        rarest: Words that occur fewer times are dropped.
        progress: Called with the progress of reading.

    Raises:
        CorpusError: No word is left.
    """
    numbers: dict[str, int] = {}
    totals: Counter[int] = Counter()
    ids, ends, offsets = array("i"), array("q", [0]), array("q", [0])
    for number, document in enumerate(documents):
        for paragraph in document.paragraphs():
            for sentence in paragraph.sentences:
                found = [numbers.setdefault(word, len(numbers)) for word in words_only(sentence)]
                totals.update(found)
                ids.extend(found)
                ends.append(len(ids))
            offsets.append(len(ends) - 1)
        if number % REPORT_EVERY == 0:
            progress("reading words", number)
    ranked = [number for number, count in totals.most_common(drop_top + vocabulary)[drop_top:] if count >= rarest]
    if not ranked:
        raise CorpusError(
            "no words to learn topics from",
            seen=f"{len(numbers)} different words",
            allowed=f"words that occur {rarest} times or more, except the {drop_top} most frequent",
            next_step="give more training text, or lower `drop_top` or `rarest`",
        )
    names = list(numbers)
    kept = Vocabulary(tuple(names[number] for number in ranked))
    lookup = np.full(len(names), -1, dtype=np.int64)
    lookup[ranked] = np.arange(len(ranked))
    return kept, _renumbered(np.asarray(ids), np.asarray(ends), np.asarray(offsets), lookup, len(ranked))


def _renumbered(
    ids: npt.NDArray[Any],
    ends: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    lookup: npt.NDArray[np.int64],
    words: int,
) -> Bags:
    """Return the bags with new word numbers; words whose new number is −1 are dropped."""
    new = lookup[ids]
    kept = new >= 0
    before = np.concatenate([[0], np.cumsum(kept)])  # [tokens + 1], number of words kept before each token
    return make_bags(new[kept], before[ends], offsets, words)
