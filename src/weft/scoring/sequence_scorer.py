"""Scoring with models that read all previous sentences: scores of texts, and the search for an order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Protocol

import numpy as np

from weft.document import Document, Score
from weft.protocols import OrderSearch, SentenceModel, SequenceModel
from weft.scoring.uni_bi_mmi import (
    CACHED_BYTES,
    BoundedCache,
    Combine,
    PairLogProbs,
    Table,
    check_numbers,
    check_parts,
    estimator_of,
    inverted,
    mean_score,
    prior_log_probs,
    text_bytes,
)

GROUP_SENTENCES = 256  # sentences of the texts that are read in one batch
# Log-probabilities by sentences and orders, shared by uni, bi and MMI.
OrderCache = BoundedCache[tuple[tuple[str, ...], tuple[tuple[int, ...], ...]], list[PairLogProbs]]


def order_cache() -> OrderCache:
    """Return an empty cache of at most `CACHED_BYTES`.

    Example:
        >>> order_cache().total
        0
    """
    return BoundedCache(CACHED_BYTES, lambda key, found: text_bytes(key[0]) + sum(one.nbytes for one in found))


@dataclass(frozen=True)
class Inverted:
    """Marks a scorer whose backward probabilities follow from the forward model and the prior by Bayes' rule.

    log p_B(s_{n−1} | s_n) = log p_F(s_n | s_1 … s_{n−1}) − log p_L(s_n) + log p_L(s_{n−1}). It is exact for the second
    sentence of a text. For later ones, it attributes the information of all earlier sentences about s_n to the nearest
    one. In MMI, both directions then hold the same information, divided by the lengths of the two sentences.
    """


@dataclass(frozen=True)
class SequenceScorer:
    """A coherence model made of models that read all previous sentences: uni, bi or MMI."""

    forward: SequenceModel  # the model of p_F, of a sentence given all before it
    # The model of p_B, of a sentence given all after it, or `Inverted`; not needed for ``uni``.
    backward: SequenceModel | Inverted | None = None
    # The model of p_L, of a sentence without context; needed for ``mmi``, and if ``backward`` is `Inverted`.
    prior: SentenceModel | None = None
    combine: Combine = "mmi"
    # Cache of log-probabilities, shared by all combinations of the same models.
    memory: OrderCache = field(default_factory=order_cache)

    @staticmethod
    def new_memory() -> OrderCache:
        """Return an empty cache for `memory`."""
        return order_cache()

    def __post_init__(self) -> None:
        inverts = self.combine == "bi" and isinstance(self.backward, Inverted)
        check_parts(self, "mmi" if inverts else self.combine)

    @property
    def estimator(self) -> str:
        """How the forward model computes log-probabilities: ``exact``, or the name of its estimate."""
        return estimator_of(self.forward)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document: the mean over its transitions."""
        found: list[Score] = []
        for group in document_groups(documents):
            sentences = tuple(sentence for document in group for sentence in document.sentences)
            ends = np.cumsum([len(document) for document in group])
            found += self._scores(
                sentences, [range(end - len(document), end) for document, end in zip(group, ends, strict=True)]
            )
        return found

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the scores of a document's sentences in several orders; the sentences are read once."""
        return [score.value for score in self._scores(document.sentences, orders)]

    def backward_tables(self, texts: Sequence[Sequence[str]]) -> list[Table]:
        """Return log p_B(left | right) of each pair of a text, with right as the only context: [left, right] each.

        The tables are zero without a backward model.
        """
        tables = [np.zeros((len(sentences), len(sentences))) for sentences in texts]
        if self.backward is None or isinstance(self.backward, Inverted):
            return tables
        starts = np.cumsum([0, *map(len, texts)])[:-1].tolist()
        cells = [(table, i, j) for table in range(len(texts)) for i, j in permutations(range(len(texts[table])), 2)]
        orders = [(starts[table] + j, starts[table] + i) for table, i, j in cells]
        found = self.backward.log_probs([sentence for sentences in texts for sentence in sentences], orders)
        for (table, i, j), values in zip(cells, found, strict=True):
            tables[table][i, j] = values[0]
        return tables

    def _scores(self, sentences: tuple[str, ...], orders: Sequence[Sequence[int]]) -> list[Score]:
        key = sentences, tuple(tuple(order) for order in orders)
        found = []
        for pairs in self.memory.get(key, lambda: self._pairs(*key)):
            values = pairs.combined(self.combine)
            check_numbers(values)
            found.append(mean_score(values.tolist(), self.estimator))
        return found

    def _pairs(self, sentences: Sequence[str], orders: Sequence[Sequence[int]]) -> list[PairLogProbs]:
        """Return the log-probabilities of the transitions of each order."""
        counts = np.array(self.forward.token_counts(sentences), dtype=np.float64)
        prior = prior_log_probs(self.prior, sentences)
        forward = self.forward.log_probs(sentences, orders)
        backward = [np.zeros_like(values) for values in forward]
        if self.backward is not None and not isinstance(self.backward, Inverted):
            backwards = self.backward.log_probs(sentences, [list(order)[::-1] for order in orders])
            backward = [values[::-1] for values in backwards]  # in reading order
        found = []
        for order, one, other in zip(orders, forward, backward, strict=True):
            places = np.asarray(order, dtype=np.int64)
            left, right = places[:-1], places[1:]
            if isinstance(self.backward, Inverted):
                other = inverted(one, prior[left], prior[right])
            found.append(PairLogProbs(one, other, prior[left], prior[right], counts[left], counts[right]))
        return found


def document_groups(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Yield groups of documents of limited size; a batch of one short document is mostly overhead."""
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
    """Partial orders of a text, with the state of a model that reads all previous sentences."""

    def begin(self, firsts: Sequence[int]) -> None:
        """Start one path with each of these sentences."""

    def log_probs(self) -> Table:
        """Return log p_F of each sentence after each path, [paths, sentences]; placed ones are unused."""

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths (``rows``) and add one sentence (``columns``) to each."""


class JointPaths(Protocol):
    """Partial orders of several texts, whose next sentences are computed in one batch; otherwise like `Paths`."""

    def begin(self, firsts: Sequence[Sequence[int]]) -> None:
        """Start one path with each of these sentences of each text."""

    def log_probs(self) -> list[Table]:
        """Return log p_F of each sentence after each path, [paths, sentences] for each text."""

    def keep(self, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> None:
        """Keep some paths of each text and add one sentence to each."""


class NextGains:
    """The gain of each sentence of a text if it comes next, from log p_F.

    The forward model reads all placed sentences. The backward model reads only the next sentence, because those after
    it are not placed yet.
    """

    def __init__(self, scorer: SequenceScorer, sentences: Sequence[str], backward: Table) -> None:
        self.combine, self.inverts = scorer.combine, isinstance(scorer.backward, Inverted)
        self.backward = backward  # [sentences, sentences]
        self.prior = prior_log_probs(scorer.prior, sentences)  # [sentences]
        self.counts = np.array(scorer.forward.token_counts(sentences), dtype=np.float64)

    def after(self, last: Sequence[int], forward: Table) -> Table:
        """Return the gains after paths that end with the sentences ``last``, from log p_F: [paths, sentences]."""
        rows = np.asarray(last, dtype=np.int64)
        backward, before, prior, counts = self.backward[rows], rows[:, None], self.prior, self.counts
        if self.inverts:
            backward = inverted(forward, prior[before], prior[None])
        pairs = PairLogProbs(forward, backward, prior[before], prior[None], counts[before], counts[None])
        return pairs.combined(self.combine)


class SequenceOrderSearch:
    """The state of a beam search with a `SequenceScorer`; a `weft.protocols.OrderSearch`."""

    def __init__(self, scorer: SequenceScorer, paths: Paths, sentences: Sequence[str]) -> None:
        self.paths, self.next = paths, NextGains(scorer, sentences, scorer.backward_tables([sentences])[0])

    def begin(self, firsts: Sequence[int]) -> Table:
        """Start one path with each of these sentences; a first sentence gains 0: [paths]."""
        self.last = firsts
        self.paths.begin(firsts)
        return np.zeros(len(firsts))

    def gains(self) -> Table:
        """Return the gain of each sentence if it comes next: [paths, sentences]."""
        return self.next.after(self.last, self.paths.log_probs())

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths (``rows``) and add one sentence (``columns``) to each."""
        self.last = columns
        self.paths.keep(rows, columns)


class SequenceOrderSearches:
    """The states of the beam searches of several texts with a `SequenceScorer`; an `OrderSearches`."""

    def __init__(self, scorer: SequenceScorer, paths: JointPaths, texts: Sequence[Sequence[str]]) -> None:
        tables = scorer.backward_tables(texts)
        self.paths, self.next = paths, [NextGains(scorer, *each) for each in zip(texts, tables, strict=True)]

    def begin(self, firsts: Sequence[Sequence[int]]) -> list[Table]:
        """Start one path with each of these sentences of each text; a first sentence gains 0: [paths] each."""
        self.last = firsts
        self.paths.begin(firsts)
        return [np.zeros(len(starts)) for starts in firsts]

    def gains(self) -> list[Table]:
        """Return the gain of each sentence if it comes next: [paths, sentences] each."""
        each = zip(self.next, self.last, self.paths.log_probs(), strict=True)
        return [one.after(last, forward) for one, last, forward in each]

    def keep(self, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> None:
        """Keep some paths of each text and add one sentence to each."""
        self.last = columns
        self.paths.keep(rows, columns)


class WeightedOrderSearch:
    """The state of a beam search by the weighted sum of several searches' gains; a `weft.protocols.OrderSearch`."""

    def __init__(self, parts: Sequence[OrderSearch], weights: Table) -> None:
        self.parts, self.weights = parts, weights

    def begin(self, firsts: Sequence[int]) -> Table:
        """Start one path with each of these sentences, and return their gains: [paths]."""
        found: Table = self.weights @ np.array([part.begin(firsts) for part in self.parts])
        return found

    def gains(self) -> Table:
        """Return the gain of each next sentence: [paths, sentences]."""
        found: Table = np.tensordot(self.weights, np.array([part.gains() for part in self.parts]), axes=1)
        return found

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        for part in self.parts:
            part.keep(rows, columns)
