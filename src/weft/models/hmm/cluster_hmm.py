"""A hidden Markov model over clusters of sentences, each sentence a bag of patterns: learned, and applied to orders.

Reference: R. Barzilay and L. Lee, "Catching the drift: probabilistic content models", NAACL 2004; Louis & Nenkova 2012
for syntax. Clusters of sentences become states; emissions are smoothed shares of patterns; a state ends a text, begins
it and follows another as its sentences do; sentences are then assigned anew by the model itself, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weft.errors import CorpusError
from weft.models.common.bag_of_words import Bags, make_bags
from weft.models.common.hidden_markov import Chains, MatrixTransitions, both_passes, expected_moves, forward_pass
from weft.models.hmm.syntax_patterns import Patterns

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
KMEANS_STARTS = 3
# Of a background distribution, so that a pattern that all states lack has a probability.
BACKGROUND = 0.5


@dataclass(frozen=True, slots=True)
class HmmOptions:
    """How a hidden Markov model is learned.

    Attributes:
        clusters: How many states.
        smoothing: How much every pattern counts in every state beforehand, on the average; frequent ones count more.
        move_smoothing: The same for every move from state to state.
        power: Of the likelihoods of sentences. Patterns of a sentence depend on each other; multiplied as if they did
            not, they drown what the states before say.
        iterations: Of re-estimation.
        reassign: ``expected`` (expectation maximisation) or ``best`` (the likeliest path, as Barzilay and Lee do).
        smallest: Clusters of fewer sentences go into one state for all the rest, which emits what the others do not;
            0 for no such state.
    """

    clusters: int = 24
    smoothing: float = 0.1
    move_smoothing: float = 0.1
    power: float = 0.3
    iterations: int = 10
    reassign: str = "expected"
    smallest: int = 0


@dataclass(frozen=True, slots=True)
class PatternVocabulary:
    """The patterns that a model knows; all others are left out of a bag.

    Attributes:
        numbers: Of each pattern.
    """

    numbers: dict[str, int]

    @classmethod
    def of(cls, sentences: Sequence[Patterns], rarest: int, most: int) -> Self:
        """The patterns found in at least ``rarest`` of some sentences, at most ``most``, most frequent first.

        Raises:
            CorpusError: There are none.
        """
        counts = Counter(pattern for sentence in sentences for pattern in dict.fromkeys(sentence))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
        kept = [pattern for pattern, count in ranked if count >= rarest]
        if not kept:
            raise CorpusError(
                "no patterns to learn from",
                seen=f"{len(counts)} different ones in {len(sentences)} sentences",
                allowed=f"patterns found in {rarest} sentences or more",
                next_step="give more training text, or lower `rarest`",
            )
        return cls({pattern: number for number, pattern in enumerate(kept)})

    @classmethod
    def read(cls, text: str) -> Self:
        """The patterns of a saved model, one a line."""
        return cls({pattern: number for number, pattern in enumerate(text.split("\n"))})

    def bags(self, documents: Sequence[Sequence[Patterns]]) -> Bags:
        """Count the known patterns of every sentence."""
        ids: list[int] = []
        ends, offsets = [0], [0]
        for document in documents:
            for sentence in document:
                ids += [number for pattern in sentence if (number := self.numbers.get(pattern)) is not None]
                ends.append(len(ids))
            offsets.append(len(ends) - 1)
        return make_bags(np.array(ids, dtype=np.int64), np.array(ends), np.array(offsets), len(self.numbers))


@dataclass(frozen=True, slots=True)
class ClusterHmm:
    """The states: what they emit, and how they follow each other.

    Attributes:
        emissions: log p(pattern | state): [states, patterns].
        start: p(state of the first sentence): [states].
        moves: p(state, next state), without the chance that the text ends: [states, states].
        end: p(the text ends | state): [states].
        power: Of the likelihoods.
    """

    emissions: Reals
    start: Reals
    moves: Reals
    end: Reals
    power: float

    @property
    def usual(self) -> Reals:
        """How often each state is to be expected anywhere in a text: [states]."""
        uses = np.linalg.solve((np.eye(len(self.start)) - self.moves).T, self.start)  # expected visits in a text
        shares: Reals = uses / uses.sum()
        return shares

    def likelihood(self, counts: Any) -> Reals:
        """Log p(sentence | state), to the power: [sentences, states]."""
        found: Reals = self.power * np.asarray(counts @ self.emissions.T, dtype=np.float64)
        return found

    def alone(self, likelihood: Reals) -> Reals:
        """Log p(sentence) by itself, wherever it may stand: [sentences]."""
        highest = likelihood.max(axis=1)
        found: Reals = np.log(np.exp(likelihood - highest[:, None]) @ self.usual) + highest
        return found

    def transitions(self) -> MatrixTransitions:
        """As the passes want them."""
        return MatrixTransitions(self.start, self.moves)

    def gains(self, likelihood: Reals, orders: Sequence[Sequence[int]]) -> list[Reals]:
        """What is gained by knowing what came before each sentence of some orders: [length of the order] each.

        log p(s_n | s_1 … s_{n−1}) − log p(s_n); the last also has the chance that the text ends there.

        Args:
            likelihood: Of the sentences: [sentences, states].
            orders: Of those sentences, or of some of them.
        """
        numbers = np.array([number for order in orders for number in order], dtype=np.int64)
        offsets = np.cumsum([0, *map(len, orders)])
        chains = Chains(offsets)
        laid = with_ends(likelihood[numbers], offsets, self.end)[chains.sentences]
        evidence = chains.restored(forward_pass(laid, chains, self.transitions())[0].evidence)
        return np.split(evidence - self.alone(likelihood)[numbers], offsets[1:-1])


def with_ends(likelihood: Reals, offsets: Whole, end: Reals) -> Reals:
    """Likelihoods of sentences, of the last of a text together with the text's end: [sentences, states]."""
    found = likelihood.copy()
    lasts = offsets[1:][np.diff(offsets) > 0] - 1
    found[lasts] += np.log(end)
    return found


def learn_hmm(bags: Bags, options: HmmOptions, *, seed: int) -> ClusterHmm:
    """Cluster sentences, make states of the clusters, and re-estimate.

    Args:
        bags: Patterns of sentences in documents.
        options: How.
        seed: Of the clustering.
    """
    clusters, rest = _clusters(bags.counts, options, seed)
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


def _clusters(counts: Any, options: HmmOptions, seed: int) -> tuple[Whole, bool]:
    """A cluster for every sentence, by k-means over its patterns; whether the last one is for all the rest."""
    from scipy.sparse import diags
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import normalize

    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()  # [patterns]
    vectors = counts.astype(np.float64).log1p() @ diags(np.log(counts.shape[0] / frequency) + 1e-6)
    vectors = normalize(vectors)
    distinct = len({row.indices.tobytes() + row.data.tobytes() for row in vectors})
    means = KMeans(min(options.clusters, distinct), n_init=KMEANS_STARTS, random_state=seed % 2**32)
    found = means.fit_predict(vectors).astype(np.int64)
    sizes = np.bincount(found, minlength=means.n_clusters)
    small = sizes < options.smallest
    if not small.any():
        return found, False
    order = np.cumsum(~small) - 1  # large clusters keep their order, the rest goes last
    renamed = np.where(small, (~small).sum(), order)
    return renamed[found], not small.all()


def _counted_moves(offsets: Whole, shares: Reals) -> Reals:
    """How often a state follows a state: [states, states]."""
    inside = np.ones(len(shares), dtype=bool)
    inside[offsets[1:][np.diff(offsets) > 0] - 1] = False
    lefts = np.flatnonzero(inside)
    found: Reals = shares[lefts].T @ shares[lefts + 1]
    return found


def _estimated(bags: Bags, shares: Reals, moves: Reals, options: HmmOptions, *, rest: bool) -> ClusterHmm:
    """The model that sentences, each in its states, make likely, smoothed."""
    totals = np.asarray(bags.counts.sum(axis=0), dtype=np.float64).ravel() + BACKGROUND  # [patterns]
    prior = options.smoothing * totals / totals.mean()
    emissions = np.asarray(bags.counts.T @ shares, dtype=np.float64).T + prior  # [states, patterns]
    emissions /= emissions.sum(axis=1, keepdims=True)
    if rest:  # what the other states do not emit
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
    """p(state) of every sentence given its whole document, and expected moves."""
    chains = bags.chains
    likelihood = with_ends(hmm.likelihood(bags.counts), bags.offsets, hmm.end)[chains.sentences]
    passes = both_passes(likelihood, chains, hmm.transitions())
    shares = chains.restored(passes.smoothed)
    return np.asarray(shares, dtype=np.float64), np.asarray(expected_moves(passes, chains, hmm.moves), dtype=np.float64)


def _best(hmm: ClusterHmm, bags: Bags) -> tuple[Reals, Reals]:
    """The likeliest states of every document (Viterbi), and its moves."""
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
    states = likelihood.argmax(axis=1)  # of the last sentences; the others are overwritten from behind
    for now, before in reversed(list(chains.moves())):
        states[before] = came_from[now][np.arange(now.stop - now.start), states[now]]
    shares = np.eye(len(hmm.start))[states][np.argsort(chains.sentences)]
    return shares, _counted_moves(bags.offsets, shares)
