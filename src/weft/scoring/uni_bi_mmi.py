"""Scores as means over pairs of sentences: along tables of pairs, and uni, bi and MMI over sentence models.

This module holds the paper's equations 1 to 3, as corrected in docs/paper.md. No other module normalises by length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score, Window
from weft.errors import ConfigError, ModelError
from weft.progress import Steps
from weft.protocols import (
    DocumentScorer,
    EstimatingModel,
    OrderScorer,
    PairwiseModel,
    SearchEstimatingModel,
    SentenceModel,
)
from weft.scoring.known_pairs import PairMemory

Table = npt.NDArray[np.float64]
Combine = Literal["uni", "bi", "mmi"]
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
COMBINATIONS: tuple[Combine, ...] = ("uni", "bi", "mmi")
CACHED_BYTES = 32 * 2**20  # of log-probabilities: 200 texts of 100 sentences, or thousands of 15
STEP_PAIRS = 16  # pairs that `table_steps` computes at a time: about 60 ms with `weft-small`
LONG_STEP_PAIRS = 64  # pairs that `score_steps` computes at a time: more, because each has sentences of its own
TEXT_OVERHEAD = 64  # bytes of a string beside its letters


def checked_combine(combine: str) -> Combine:
    """Return a combination as a typed value.

    Raises:
        ConfigError: ``combine`` is not one of uni, bi, mmi.

    Example:
        >>> checked_combine("bi")
        'bi'
    """
    for known in COMBINATIONS:
        if combine == known:
            return known
    raise ConfigError(
        "unknown combination", seen=str(combine), allowed=", ".join(COMBINATIONS), next_step="change `combine`"
    )


def mean_score(transitions: Sequence[float], estimator: str = "exact") -> Score:
    """Return the score of a text as the mean of its transitions, summed exactly; its value is None without transitions.

    Example:
        >>> mean_score([0.5, 1.5]).value
        1.0
    """
    if not len(transitions):
        return Score(None)
    return Score(math.fsum(transitions) / len(transitions), tuple(transitions), estimator)


def path_value(table: Table, order: Sequence[int]) -> float | None:
    """Return the mean of a table's entries along an order; None for fewer than two sentences.

    The sum is exact (`math.fsum`). Orders of equal value therefore tie, such as a text and its reverse under a
    symmetric table.

    Example:
        >>> path_value(np.array([[0.0, 1.0], [3.0, 0.0]]), [1, 0])
        3.0
    """
    if len(order) < 2:
        return None
    steps = table[np.asarray(order[:-1]), np.asarray(order[1:])]  # [sentences - 1]
    return math.fsum(steps.tolist()) / len(steps)


def order_values(model: DocumentScorer, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
    """Return the scores of a document in other orders; a model with a table of pairs computes it once."""
    if isinstance(model, PairwiseModel):
        table = model.pair_table(document)
        return [path_value(table, order) for order in orders]
    if isinstance(model, OrderScorer):
        return model.order_scores(document, orders)
    return [score.value for score in model.score([document.reorder(order) for order in orders])]


@dataclass(frozen=True, slots=True)
class PairLogProbs:
    """Log-probabilities and lengths of the sentence pairs of a text, before any combination."""

    forward: Table  # log p_F(right | left), [pairs] or [sentences, sentences] (row: left)
    backward: Table  # log p_B(left | right), of the same shape; zeros without a backward model
    prior_left: Table  # log p_L(left), of a shape that broadcasts; zeros without a prior
    prior_right: Table  # log p_L(right)
    count_left: Table  # number of tokens of left, ``</s>`` included
    count_right: Table  # number of tokens of right

    @property
    def nbytes(self) -> int:
        """The size of the two tables; the others are small."""
        return self.forward.nbytes + self.backward.nbytes

    def combined(self, combine: Combine) -> Table:
        """Return the coherence of each pair per token (equations 1 to 3)."""
        # Paper: eq. 2 prints log(1/N · p_F); 1/N belongs outside the log, as in eq. 1.
        if combine == "uni":
            return self.forward / self.count_right
        if combine == "bi":
            return self.backward / self.count_left + self.forward / self.count_right
        # Paper: eq. 3 prints p_B in both terms; the second is p_F, as in eq. 2.
        gain_left = (self.backward - self.prior_left) / self.count_left
        return gain_left + (self.forward - self.prior_right) / self.count_right


def inverted(forward: Table, prior_left: Table, prior_right: Table) -> Table:
    """Return log p_B(left | right) by Bayes' rule from a forward model and its own language model.

    Example:
        >>> inverted(np.log([0.5]), np.log([0.1]), np.log([0.25])).round(6).tolist() == np.log([0.2]).round(6).tolist()
        True
    """
    return forward - prior_right + prior_left


def one_entry(_key: object, _value: object) -> int:
    """Return 1: the size of an entry in a cache that is limited by the number of its entries."""
    return 1


class BoundedCache(Generic[Key, Value]):
    """A cache of limited size, which drops its oldest entries first.

    Args:
        limit: The size of all entries together; a single larger entry is kept alone.
        size: Size of an entry.

    Example:
        >>> cache = BoundedCache[str, str](5, lambda key, value: len(value))
        >>> [cache.get(word, lambda: word) for word in ("abc", "de", "f")]
        ['abc', 'de', 'f']
        >>> "abc" in cache, "de" in cache
        (False, True)
    """

    def __init__(self, limit: int, size: Callable[[Key, Value], int] = one_entry) -> None:
        self.limit, self.size = limit, size
        self.total = 0
        self._cache: dict[Key, Value] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._cache

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the cached value, or compute and cache it with ``make``."""
        if key in self._cache:
            return self._cache[key]
        value = make()
        added = self.size(key, value)
        while self._cache and self.total + added > self.limit:
            oldest = next(iter(self._cache))
            self.total -= self.size(oldest, self._cache.pop(oldest))
        self._cache[key] = value
        self.total += added
        return value

    def get_in_steps(self, key: Key, make: Callable[[], Steps[Value]]) -> Steps[Value]:
        """Return the cached value, or compute it in steps and cache it; others may use the cache between two steps."""
        if key in self._cache:
            return self._cache[key]
        value = yield from make()
        return self.get(key, lambda: value)


# By the sentences of a text: uni, bi, MMI and all orders of the text use the same log-probabilities.
TableCache = BoundedCache[tuple[str, ...], PairLogProbs]


def table_cache() -> TableCache:
    """Return an empty cache of at most `CACHED_BYTES`.

    Example:
        >>> table_cache().total
        0
    """
    return BoundedCache(CACHED_BYTES, lambda sentences, found: text_bytes(sentences) + found.nbytes)


def text_bytes(sentences: Sequence[str]) -> int:
    """Return about how many bytes the sentences of a text take in memory."""
    return sum(TEXT_OVERHEAD + len(sentence) for sentence in sentences)


@dataclass(frozen=True)
class Scorer:
    """A coherence model made of sentence models that read one neighbour: uni, bi or MMI."""

    forward: SentenceModel  # the model of p_F, of a sentence given the one before
    backward: SentenceModel | None = None  # the model of p_B, of a sentence given the one after; not needed for ``uni``
    prior: SentenceModel | None = None  # the model of p_L, of a sentence without context; needed for ``mmi``
    combine: Combine = "mmi"
    # Cache of log-probabilities, shared by all combinations of the same models.
    memory: TableCache = field(default_factory=table_cache)
    known: PairMemory | None = None  # reuses what was computed for pairs of other texts; None: computes each text anew

    @staticmethod
    def new_memory() -> TableCache:
        """Return an empty cache for `memory`."""
        return table_cache()

    @property
    def estimator(self) -> str:
        """How the forward model computes log-probabilities: ``exact``, or the name of its estimate."""
        return estimator_of(self.forward)

    def __post_init__(self) -> None:
        check_parts(self, self.combine)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document: the mean over adjacent pairs, all documents in one batch."""
        pairs = [pair for document in documents for pair in pairwise(document.sentences)]
        found = self._log_probs(pairs).combined(self.combine)
        check_numbers(found)
        values = iter(found.tolist())
        scores = []
        for document in documents:
            parts = tuple(next(values) for _ in range(max(len(document) - 1, 0)))
            scores.append(mean_score(parts, self.estimator))
        return scores

    def pair_table(self, document: Document) -> Table:
        """Return the scores of all ordered pairs, in one batch: [sentences, sentences], zero on the diagonal."""
        log_probs = self.memory.get(document.sentences, lambda: self._table_log_probs(document.sentences))
        table = log_probs.combined(self.combine)
        np.fill_diagonal(table, 0.0)
        return table

    def table_steps(self, document: Document) -> Steps[None]:
        """Compute what `pair_table` needs in steps of a few pairs; without `known`, there are no steps.

        Between two steps the model may compute something else, and whoever wants the table no longer can stop.
        """
        if self.known is None or document.sentences in self.memory:
            return
        sentences = dict.fromkeys(document.sentences)
        yield from self._steps([(left, right) for left in sentences for right in sentences if left != right])

    def score_steps(self, document: Document) -> Steps[None]:
        """Compute what `score` needs for a long text in steps, as `table_steps` does."""
        if self.known is not None:
            yield from self._steps(list(pairwise(document.sentences)), LONG_STEP_PAIRS)

    def _steps(self, pairs: Sequence[tuple[str, str]], size: int = STEP_PAIRS) -> Steps[None]:
        assert self.known is not None
        new = list(dict.fromkeys(self.known.new_pairs(pairs)))
        for start in range(0, len(new), size):
            self._log_probs(new[start : start + size])
            yield

    def _table_log_probs(self, sentences: Sequence[str]) -> PairLogProbs:
        size = len(sentences)
        off_diagonal = ~np.eye(size, dtype=bool)
        tables = np.zeros((2, size, size))
        pairs = [(left, right) for i, left in enumerate(sentences) for j, right in enumerate(sentences) if i != j]
        tables[:, off_diagonal] = self._both_directions(pairs)  # row by row, like `pairs`
        forward, backward = tables
        prior, counts = self._priors_and_counts(sentences)
        return PairLogProbs(forward, backward, prior[:, None], prior[None, :], counts[:, None], counts[None, :])

    def _log_probs(self, pairs: Sequence[tuple[str, str]]) -> PairLogProbs:
        forward, backward = self._both_directions(pairs)
        # Both sides in one call: most sentences are the left of one pair and the right of another.
        prior, counts = self._priors_and_counts([*(left for left, _ in pairs), *(right for _, right in pairs)])
        middle = len(pairs)
        return PairLogProbs(forward, backward, prior[:middle], prior[middle:], counts[:middle], counts[middle:])

    def _both_directions(self, pairs: Sequence[tuple[str, str]]) -> Table:
        """Return log p_F(right | left) and log p_B(left | right): [2, pairs]."""
        return self._computed(pairs) if self.known is None else self.known.pairs(pairs, self._computed)

    def _computed(self, pairs: Sequence[tuple[str, str]]) -> Table:
        both = np.zeros((2, len(pairs)))
        both[0] = self.forward.log_prob([Window((left,), right) for left, right in pairs])
        if self.backward is not None:
            both[1] = self.backward.log_prob([Window((right,), left) for left, right in pairs])
        return both

    def _priors_and_counts(self, sentences: Sequence[str]) -> tuple[Table, Table]:
        """Return log p_L and the number of tokens of each sentence."""
        prior, counts = self._alone(sentences) if self.known is None else self.known.sentences(sentences, self._alone)
        return prior, counts

    def _alone(self, sentences: Sequence[str]) -> Table:
        """Return log p_L and the number of tokens of each sentence: [2, sentences]."""
        return np.stack([prior_log_probs(self.prior, sentences), np.array(self.forward.token_counts(sentences), float)])


def estimator_of(model: object, *, searching: bool = False) -> str:
    """Return how a model computes log-probabilities: ``exact``, or the name of its estimate.

    Args:
        model: Any model.
        searching: Whether the model searches for an order, in which some models use fewer samples.
    """
    if searching and isinstance(model, SearchEstimatingModel):
        return model.search_estimate.name
    return model.estimate.name if isinstance(model, EstimatingModel) else "exact"


def check_parts(scorer: object, combine: str) -> None:
    """Check that a scorer has the models that its combination needs.

    Raises:
        ConfigError: A model is missing.
    """
    missing = [name for name in NEEDED[combine] if vars(scorer)[name] is None]
    if missing:
        raise ConfigError(
            f"{combine} needs the {' and the '.join(missing)} model",
            seen=combine,
            allowed="uni with forward; bi with backward too; mmi with prior too",
            next_step="add the missing model, or choose another combination",
        )


def check_numbers(scores: Table) -> None:
    """Check that scores are finite; those of a damaged or diverged model may not be.

    Raises:
        ModelError: A score is NaN or infinite.
    """
    if not np.isfinite(scores).all():
        raise ModelError(
            "the model's scores are not all finite",
            seen=f"{int((~np.isfinite(scores)).sum())} of {scores.size}",
            allowed="finite scores",
            next_step="train the model again, or use another",
        )


def prior_log_probs(prior: SentenceModel | None, sentences: Sequence[str]) -> Table:
    """Return log p_L of each sentence; zeros without a language model. A distinct sentence is computed once."""
    if prior is None:
        return np.zeros(len(sentences))
    distinct = list(dict.fromkeys(sentences))
    values = dict(zip(distinct, prior.log_prob([Window((), s) for s in distinct]), strict=True))
    return np.array([values[sentence] for sentence in sentences])


NEEDED: dict[str, tuple[str, ...]] = {
    "uni": ("forward",),
    "bi": ("forward", "backward"),
    "mmi": ("forward", "backward", "prior"),
}
