"""Scoring with models that read all sentences before: whole texts, and the search for an order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from weft.document import Document, Score
from weft.protocols import SentenceModel, SequenceModel
from weft.scoring.pairs import (
    BoundedCache,
    Combine,
    PairLogProbs,
    Table,
    check_numbers,
    check_parts,
    estimator_of,
    inverted,
    prior_log_probs,
)

GROUP_SENTENCES = 256  # of several texts that are read in one batch
# Log-probabilities by sentences and orders, shared by uni, bi and MMI.
OrderCache = BoundedCache[tuple[tuple[str, ...], tuple[tuple[int, ...], ...]], list[PairLogProbs]]


@dataclass(frozen=True)
class Inverted:
    """Marks a model that only reads forwards: its backward model is Bayes' rule over the model itself.

    log p_B(s_{n−1} | s_n) = log p_F(s_n | s_1 … s_{n−1}) − log p_L(s_n) + log p_L(s_{n−1}). It is exact for the second
    sentence of a text; further on, the information of all earlier sentences about s_n is attributed to the nearest. In
    MMI both directions then hold the same information, divided by the length of one sentence and of the other.
    """


@dataclass(frozen=True)
class SequenceScorer:
    """A coherence model made of models that read all sentences before: uni, bi or MMI.

    Attributes:
        forward: p_F, the next sentence given all before it.
        backward: p_B, the same of texts read from their end, or `Inverted`; not needed for ``uni``.
        prior: p_L, a sentence alone; needed for ``mmi``, and where ``backward`` is `Inverted`.
        combine: The combination.
        memory: Cache of log-probabilities, shared between combinations of the same models.
    """

    forward: SequenceModel
    backward: SequenceModel | Inverted | None = None
    prior: SentenceModel | None = None
    combine: Combine = "mmi"
    memory: OrderCache = field(default_factory=OrderCache)

    def __post_init__(self) -> None:
        inverts = self.combine == "bi" and isinstance(self.backward, Inverted)
        check_parts(self, "mmi" if inverts else self.combine)

    @property
    def estimator(self) -> str:
        """``exact``, or the name of the estimate of the forward model's log-probabilities."""
        return estimator_of(self.forward)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document: the mean over its transitions."""
        found: list[Score] = []
        for group in _groups(documents):
            sentences = tuple(sentence for document in group for sentence in document.sentences)
            ends = np.cumsum([len(document) for document in group])
            found += self._scores(
                sentences, [range(end - len(document), end) for document, end in zip(group, ends, strict=True)]
            )
        return found

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the scores of a document's sentences in several orders; the sentences are read once."""
        return [score.value for score in self._scores(document.sentences, orders)]

    def backward_table(self, sentences: Sequence[str]) -> Table:
        """Return log p_B(left | right) of every pair, without what follows: [sentences, sentences], row: left.

        The table is zero without a backward model.
        """
        size = len(sentences)
        table = np.zeros((size, size))
        if self.backward is not None and not isinstance(self.backward, Inverted):
            pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
            for (i, j), values in zip(
                pairs, self.backward.log_probs(sentences, [(j, i) for i, j in pairs]), strict=True
            ):
                table[i, j] = values[0]
        return table

    def _scores(self, sentences: tuple[str, ...], orders: Sequence[Sequence[int]]) -> list[Score]:
        key = sentences, tuple(tuple(order) for order in orders)
        found = []
        for pairs in self.memory.get(key, lambda: self._pairs(*key)):
            values = pairs.combined(self.combine)
            check_numbers(values)
            parts = tuple(values.tolist())
            found.append(Score(math.fsum(parts) / len(parts), parts, self.estimator) if parts else Score(None))
        return found

    def _pairs(self, sentences: Sequence[str], orders: Sequence[Sequence[int]]) -> list[PairLogProbs]:
        """Return the log-probabilities of the transitions of each order."""
        counts = np.array(self.forward.token_counts(sentences), dtype=np.float64)
        prior = prior_log_probs(self.prior, sentences)
        forward = self.forward.log_probs(sentences, orders)
        backward = [np.zeros_like(values) for values in forward]
        if self.backward is not None and not isinstance(self.backward, Inverted):
            backwards = self.backward.log_probs(sentences, [list(order)[::-1] for order in orders])
            backward = [values[::-1] for values in backwards]  # the first sentence was predicted last
        found = []
        for order, one, other in zip(orders, forward, backward, strict=True):
            places = np.asarray(order, dtype=np.int64)
            left, right = places[:-1], places[1:]
            if isinstance(self.backward, Inverted):
                other = inverted(one, prior[left], prior[right])
            found.append(PairLogProbs(one, other, prior[left], prior[right], counts[left], counts[right]))
        return found


def _groups(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Yield groups of documents of bounded size: a batch of one short document would be mostly overhead."""
    group: list[Document] = []
    count = 0
    for document in documents:
        if group and count + len(document) > GROUP_SENTENCES:
            yield group
            group, count = [], 0
        group.append(document)
        count += len(document)
    if group:
        yield group


class Paths(Protocol):
    """Partial orders of a text under a model that remembers them."""

    def begin(self, firsts: Sequence[int]) -> None:
        """Start one path with each of these sentences."""

    def log_probs(self) -> Table:
        """Return log p_F of every sentence after every path: [paths, sentences]; placed sentences are unused."""

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Continue with some paths, each one sentence longer."""


class SequenceOrderSearch:
    """The scores of next sentences in partial orders; a `weft.protocols.OrderSearch`.

    The forward model reads all sentences that are placed. The backward model reads the next sentence alone, since
    those after it are not placed yet.

    Args:
        scorer: The models put together.
        paths: The forward model's partial orders.
        sentences: Of the text.
    """

    def __init__(self, scorer: SequenceScorer, paths: Paths, sentences: Sequence[str]) -> None:
        self.combine, self.paths, self.inverts = scorer.combine, paths, isinstance(scorer.backward, Inverted)
        self.backward = scorer.backward_table(sentences)  # [sentences, sentences]
        self.prior = prior_log_probs(scorer.prior, sentences)  # [sentences]
        self.counts = np.array(scorer.forward.token_counts(sentences), dtype=np.float64)

    def begin(self, firsts: Sequence[int]) -> Table:
        """Start one path with each of these sentences; the first sentence has no score."""
        self.last = np.asarray(firsts, dtype=np.int64)
        self.paths.begin(firsts)
        return np.zeros(len(firsts))

    def gains(self) -> Table:
        """[paths, sentences]."""
        last = self.last[:, None]
        forward, backward = self.paths.log_probs(), self.backward[self.last]
        prior, counts = self.prior, self.counts
        if self.inverts:
            backward = inverted(forward, prior[last], prior[None])
        pairs = PairLogProbs(forward, backward, prior[last], prior[None], counts[last], counts[None])
        return pairs.combined(self.combine)

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Continue with some paths, each one sentence longer."""
        self.last = np.asarray(columns, dtype=np.int64)
        self.paths.keep(rows, columns)
