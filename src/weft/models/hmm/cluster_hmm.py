"""A hidden Markov model over clusters of sentences; a sentence is a bag of patterns.

Reference: R. Barzilay and L. Lee, "Catching the drift: probabilistic content models", NAACL 2004; Louis & Nenkova 2012
for syntax. Clusters of sentences are the initial states. Emissions are smoothed shares of patterns. Start, transition
and end probabilities are counted over the training texts. Then sentences are reassigned to states by the model, and
all probabilities are estimated again, for a number of iterations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weft.errors import CorpusError
from weft.models.common.bag_of_words import Bags, count_words
from weft.models.common.hidden_markov import Chains, MatrixTransitions, both_passes, expected_moves, forward_pass
from weft.models.hmm.syntax_patterns import Patterns
from weft.settings import setting

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
KMEANS_STARTS = 3
BACKGROUND = 0.5  # pseudo-count of each pattern, so that none has probability 0


def weight_setting(default: float, help: str) -> float:
    """Declare a positive weight, whose default differs between models."""
    chosen: float = setting(default, help, minimum=1e-6, maximum=1000.0)
    return chosen


SMOOTHING_HELP = "Mean pseudo-count of each pattern in each state."
POWER_HELP = "Exponent of sentence likelihoods; below 1, because the patterns of a sentence are not independent."
RAREST_HELP = "Number of sentences that a pattern must occur in to be kept."


@dataclass(frozen=True, kw_only=True)
class HmmFields:
    """Settings shared by the syntax HMM and the content HMM."""

    clusters: int = setting(24, "Number of states.", minimum=1, maximum=1000)
    members: int = setting(8, "Number of averaged models, each from another clustering.", minimum=1, maximum=100)
    smoothing: float = weight_setting(0.1, SMOOTHING_HELP)
    move_smoothing: float = weight_setting(0.1, "Pseudo-count of each transition between states.")
    power: float = weight_setting(0.3, POWER_HELP)
    iterations: int = setting(10, "Number of iterations of re-estimation.", minimum=0)
    reassign: str = setting(
        "expected",
        "expected (expectation maximisation) or best (the most probable path, as in Barzilay and Lee).",
        choices=("expected", "best"),
    )
    rarest: int = setting(2, RAREST_HELP, minimum=1)
    vocabulary: int = setting(2000, "Number of most frequent patterns to keep.", minimum=1)


@dataclass(frozen=True, slots=True)
class PatternVocabulary:
    """The patterns of a model and their numbers; all others are ignored."""

    numbers: dict[str, int]

    @classmethod
    def of(cls, sentences: Sequence[Patterns], rarest: int, most: int) -> Self:
        """Return the ``most`` most frequent patterns that occur in at least ``rarest`` sentences.

        Raises:
            CorpusError: There are none.
        """
        counts = Counter(pattern for sentence in sentences for pattern in dict.fromkeys(sentence))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
        kept = [pattern for pattern, count in ranked if count >= rarest]
        if not kept:
            raise CorpusError(
                "no patterns to learn from",
                seen=f"{len(counts)} patterns in {len(sentences)} sentences",
                allowed=f"patterns that occur in at least {rarest} sentences",
                next_step="give more training text, or lower `rarest`",
            )
        return cls({pattern: number for number, pattern in enumerate(kept)})

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the vocabulary of a saved model, one pattern per line."""
        return cls({pattern: number for number, pattern in enumerate(text.split("\n"))})

    def bags(self, documents: Sequence[Sequence[Patterns]]) -> Bags:
        """Return the counts of known patterns of each sentence."""
        return count_words((map(self._known, document) for document in documents), len(self.numbers))

    def _known(self, sentence: Patterns) -> list[int]:
        return [number for pattern in sentence if (number := self.numbers.get(pattern)) is not None]


@dataclass(frozen=True, slots=True)
class ClusterHmm:
    """The states of a hidden Markov model with their probabilities."""

    emissions: Reals  # log p(pattern | state): [states, patterns]
    start: Reals  # p(state of the first sentence): [states]
    moves: Reals  # p(next state | state); each row sums to 1 − end: [states, states]
    end: Reals  # p(the text ends | state): [states]
    power: float  # exponent of sentence likelihoods

    @property
    def state_shares(self) -> Reals:
        """The expected share of each state in a text: [states]."""
        uses = np.linalg.solve((np.eye(len(self.start)) - self.moves).T, self.start)  # expected visits per text
        shares: Reals = uses / uses.sum()
        return shares

    def likelihood(self, counts: Any) -> Reals:
        """Return power · log p(sentence | state): [sentences, states]."""
        found: Reals = self.power * np.asarray(counts @ self.emissions.T, dtype=np.float64)
        return found

    def marginal(self, likelihood: Reals) -> Reals:
        """Return log p(sentence) at an unknown position: [sentences]."""
        highest = likelihood.max(axis=1)
        found: Reals = np.log(np.exp(likelihood - highest[:, None]) @ self.state_shares) + highest
        return found

    def transitions(self) -> MatrixTransitions:
        """Return the transitions in the form that forward and backward passes need."""
        return MatrixTransitions(self.start, self.moves)

    def gains(self, likelihood: Reals, orders: Sequence[Sequence[int]]) -> list[Reals]:
        """Return log p(s_n | s_1 … s_{n−1}) − log p(s_n) of the sentences of each order: [length of the order] each.

        The last gain includes the probability that the text ends. ``likelihood`` is [sentences, states].
        """
        numbers = np.array([number for order in orders for number in order], dtype=np.int64)
        offsets = np.cumsum([0, *map(len, orders)])
        chains = Chains(offsets)
        laid = with_ends(likelihood[numbers], offsets, self.end)[chains.sentences]
        evidence = chains.restored(forward_pass(laid, chains, self.transitions())[0].evidence)
        return np.split(evidence - self.marginal(likelihood)[numbers], offsets[1:-1])


def with_ends(likelihood: Reals, offsets: Whole, end: Reals) -> Reals:
    """Return log-likelihoods of sentences; those of last sentences include the end of the text: [sentences, states]."""
    found = likelihood.copy()
    lasts = offsets[1:][np.diff(offsets) > 0] - 1
    found[lasts] += np.log(end)
    return found


def learn_hmm(bags: Bags, options: HmmFields, *, smallest: int = 0, seed: int) -> ClusterHmm:
    """Return the model learned from clusters of sentences and re-estimation.

    Args:
        bags: The patterns of the sentences of documents.
        options: How the model is learned.
        smallest: Clusters of fewer sentences are merged into one state, which emits what the others do not; 0: none.
        seed: Seed of the clustering.
    """
    clusters, rest = _clusters(bags.counts, options.clusters, smallest, seed)
    states = max(int(clusters.max()) + 1, 1) if len(clusters) else 1
    shares = np.eye(states)[clusters]  # [sentences, states]
    hmm = _estimated(bags, shares, _counted_moves(bags.offsets, shares), options, rest=rest)
    for _ in range(options.iterations):
        before = shares
        shares, moves = (_expected if options.reassign == "expected" else _best)(hmm, bags)
        hmm = _estimated(bags, shares, moves, options, rest=rest)
        if np.abs(shares - before).max(initial=0.0) < 1e-6:
            break
    return hmm


def _clusters(counts: Any, clusters: int, smallest: int, seed: int) -> tuple[Whole, bool]:
    """Return the cluster of each sentence, by k-means, and whether the last cluster merges all small ones."""
    from scipy.sparse import diags
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import normalize

    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()  # [patterns]
    vectors = counts.astype(np.float64).log1p() @ diags(np.log(counts.shape[0] / frequency) + 1e-6)
    vectors = normalize(vectors)
    distinct = len({row.indices.tobytes() + row.data.tobytes() for row in vectors})
    means = KMeans(min(clusters, distinct), n_init=KMEANS_STARTS, random_state=seed % 2**32)
    found = means.fit_predict(vectors).astype(np.int64)
    sizes = np.bincount(found, minlength=means.n_clusters)
    small = sizes < smallest
    if not small.any():
        return found, False
    order = np.cumsum(~small) - 1  # large clusters keep their order; the merged one is last
    renamed = np.where(small, (~small).sum(), order)
    return renamed[found], not small.all()


def _counted_moves(offsets: Whole, shares: Reals) -> Reals:
    """Return the number of transitions between states: [states, states]."""
    inside = np.ones(len(shares), dtype=bool)
    inside[offsets[1:][np.diff(offsets) > 0] - 1] = False
    lefts = np.flatnonzero(inside)
    found: Reals = shares[lefts].T @ shares[lefts + 1]
    return found


def _estimated(bags: Bags, shares: Reals, moves: Reals, options: HmmFields, *, rest: bool) -> ClusterHmm:
    """Return the model estimated from the states of sentences, with smoothing."""
    totals = np.asarray(bags.counts.sum(axis=0), dtype=np.float64).ravel() + BACKGROUND  # [patterns]
    prior = options.smoothing * totals / totals.mean()
    emissions = np.asarray(bags.counts.T @ shares, dtype=np.float64).T + prior  # [states, patterns]
    emissions /= emissions.sum(axis=1, keepdims=True)
    if rest:  # the merged state emits what the others do not
        complement = 1.0 - emissions[:-1].max(axis=0)
        emissions[-1] = complement / complement.sum()
    full = np.diff(bags.offsets) > 0
    begins, ends = bags.offsets[:-1][full], bags.offsets[1:][full] - 1
    start = shares[begins].sum(axis=0) + options.move_smoothing
    end = shares[ends].sum(axis=0) + options.move_smoothing
    moved = moves + options.move_smoothing
    left = moved.sum(axis=1) + end
    return ClusterHmm(np.log(emissions), start / start.sum(), moved / left[:, None], end / left, options.power)


def _expected(hmm: ClusterHmm, bags: Bags) -> tuple[Reals, Reals]:
    """Return p(state of a sentence | its document), and the expected numbers of transitions."""
    chains = bags.chains
    likelihood = with_ends(hmm.likelihood(bags.counts), bags.offsets, hmm.end)[chains.sentences]
    passes = both_passes(likelihood, chains, hmm.transitions())
    shares = chains.restored(passes.smoothed)
    return np.asarray(shares, dtype=np.float64), np.asarray(expected_moves(passes, chains, hmm.moves), dtype=np.float64)


def _best(hmm: ClusterHmm, bags: Bags) -> tuple[Reals, Reals]:
    """Return the most probable states of each document (Viterbi), and the numbers of transitions."""
    chains = bags.chains
    likelihood = with_ends(hmm.likelihood(bags.counts), bags.offsets, hmm.end)[chains.sentences]
    moves = np.log(hmm.moves)
    came_from = np.zeros(likelihood.shape, dtype=np.int64)  # [sentences, states]
    if chains.steps:
        likelihood[chains.steps[0]] += np.log(hmm.start)
    for now, before in chains.moves():
        through = likelihood[before][:, :, None] + moves  # [documents, states, next states]
        came_from[now] = through.argmax(axis=1)
        likelihood[now] += through.max(axis=1)
    states = likelihood.argmax(axis=1)  # right for last sentences; the others are overwritten below, backwards
    for now, before in reversed(list(chains.moves())):
        states[before] = came_from[now][np.arange(now.stop - now.start), states[now]]
    shares = np.eye(len(hmm.start))[states][np.argsort(chains.sentences)]
    return shares, _counted_moves(bags.offsets, shares)
