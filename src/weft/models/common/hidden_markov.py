"""Hidden Markov chains of sentence topics: forward and backward passes over many documents at once, in numpy.

Each sentence has one topic. It depends on the topic of the previous sentence through a matrix (topic to topic) or a
switch (the topic stays, or is drawn from the mixture of the document: Gruber et al. 2007). All documents are processed
together, sentence by sentence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.floating[Any]]  # float32 in training, which halves time and memory
Whole = npt.NDArray[np.int64]


class Chains:
    """A layout of documents for passes that process the n-th sentence of all documents at once.

    Documents are sorted longest first. Sentences are sorted by step: the first sentences of all documents, then the
    second ones, and so on. Each step is then one slice.

    Attributes:
        documents: Numbers of the documents that have a sentence, longest first: [documents].
        sentences: Numbers of the sentences in this layout: [sentences].
        steps: The slice of the n-th sentences, for n = 0, 1, ….

    Example:
        >>> chains = Chains(np.array([0, 1, 4]))
        >>> chains.documents.tolist(), chains.sentences.tolist(), chains.steps
        ([1, 0], [1, 0, 2, 3], [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)])
    """

    def __init__(self, offsets: Whole) -> None:
        lengths = np.diff(offsets)
        order = np.argsort(-lengths, kind="stable")
        self.documents: Whole = order[lengths[order] > 0]
        falling = -lengths[self.documents]
        longest = int(lengths.max()) if len(lengths) else 0
        counts = [int(np.searchsorted(falling, -place)) for place in range(longest)]
        ends = np.cumsum([0, *counts])
        self.steps = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        starts = offsets[self.documents]
        pieces = [starts[:count] + place for place, count in enumerate(counts)]
        self.sentences: Whole = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)

    def moves(self) -> Iterator[tuple[slice, slice]]:
        """Yield the slice of the n-th sentences and that of the sentences before them, for n = 1, 2, …."""
        for before, now in itertools.pairwise(self.steps):
            yield now, slice(before.start, before.start + now.stop - now.start)

    def restored(self, values: Reals) -> Reals:
        """Return rows of this layout in the order of the sentences."""
        found = np.empty_like(values)
        found[self.sentences] = values
        return found


class Transitions(Protocol):
    """Transitions between topics, for documents sorted longest first."""

    def first(self, count: int) -> Reals:
        """Return p(topic of the first sentence) of the first ``count`` documents: [count, topics]."""

    def advance(self, filtered: Reals) -> Reals:
        """Return p(next topic) from p(topic) of the first ``count`` documents: [count, topics]."""

    def retreat(self, weights: Reals) -> Reals:
        """Return Σ_j p(next = j | topic) · weights_j of the first ``count`` documents: [count, topics]."""


@dataclass(frozen=True, slots=True)
class MatrixTransitions:
    """Transitions by a matrix, as in the paper: "drawn given the topic of the sentence before"."""

    initial: Reals  # p(topic of the first sentence): [topics]
    matrix: Reals  # p(next topic | topic), row: topic: [topics, topics]

    def first(self, count: int) -> Reals:
        """Return p(first topic), the same for all documents."""
        return np.broadcast_to(self.initial, (count, len(self.initial)))

    def advance(self, filtered: Reals) -> Reals:
        """Return p(next topic) by the matrix."""
        moved: Reals = filtered @ self.matrix
        return moved

    def retreat(self, weights: Reals) -> Reals:
        """Return the weights one step earlier."""
        moved: Reals = weights @ self.matrix.T
        return moved


@dataclass(frozen=True, slots=True)
class SwitchTransitions:
    """The topic stays, or is drawn from the document's mixture with probability ``redraw`` (Gruber et al. 2007)."""

    redraw: float  # probability ε of a draw
    mixtures: Reals  # mixture θ of each document, longest document first: [documents, topics]

    def first(self, count: int) -> Reals:
        """Return the mixtures, because the first topic is always drawn."""
        return self.mixtures[:count]

    def advance(self, filtered: Reals) -> Reals:
        """Return p(next topic), which stays or is drawn."""
        moved: Reals = filtered * (1.0 - self.redraw)
        moved += self.mixtures[: len(filtered)] * self.redraw
        return moved

    def retreat(self, weights: Reals) -> Reals:
        """Return the weights one step earlier."""
        drawn = np.einsum("ij,ij->i", weights, self.mixtures[: len(weights)])  # [count]
        moved: Reals = weights * (1.0 - self.redraw)
        moved += self.redraw * drawn[:, None]
        return moved


class OnlineSwitch:
    """The switch for new documents, whose mixtures are estimated along the chain.

    The mixture is the base distribution, which counts as ``weight`` draws, plus the draws expected so far. A prediction
    therefore depends only on the sentences before it.
    """

    def __init__(self, redraw: float, base: Reals, weight: float, documents: int) -> None:
        self.redraw = redraw
        self.draws = np.tile(weight * base, (documents, 1))  # [documents, topics]
        self._share = np.ones_like(self.draws)  # share of a prediction that was drawn; all of the first

    def first(self, count: int) -> Reals:
        """Return the base distribution."""
        return self._mixtures(count)

    def advance(self, filtered: Reals) -> Reals:
        """Add the draws of the previous sentence, and return p(next topic)."""
        count = len(filtered)
        self.draws[:count] += filtered * self._share[:count]
        drawn = self.redraw * self._mixtures(count)
        ahead: Reals = (1.0 - self.redraw) * filtered + drawn
        self._share[:count] = drawn / ahead
        return ahead

    def _mixtures(self, count: int) -> Reals:
        draws = self.draws[:count]
        mixtures: Reals = draws / draws.sum(axis=1, keepdims=True)
        return mixtures

    def retreat(self, weights: Reals) -> Reals:
        """Raise NotImplementedError: the mixtures change along the chain."""
        raise NotImplementedError("an online switch has no backward pass; use SwitchTransitions")


@dataclass(frozen=True, slots=True)
class Passes:
    """Results of passes over chains, each [sentences, topics], in the layout of the chains."""

    predicted: Reals  # p(z_n | s_1 … s_{n−1})
    filtered: Reals  # p(z_n | s_1 … s_n)
    evidence: Reals  # log p(s_n | s_1 … s_{n−1}): [sentences]
    # The evidence of s_n and all later sentences about z_n, so that p(z_n | all sentences) is ``predicted · onward``;
    # None before a backward pass.
    onward: Reals | None = None

    @property
    def smoothed(self) -> Reals:
        """p(z_n | all sentences)."""
        assert self.onward is not None
        found: Reals = self.predicted * self.onward
        found /= found.sum(axis=1, keepdims=True)
        return found

    def of(self, kind: str) -> Reals:
        """Return the topics of a kind: predicted, filtered or smoothed."""
        if kind == "smoothed":
            return self.smoothed
        return self.filtered if kind == "filtered" else self.predicted


def forward_pass(log_likelihood: Reals, chains: Chains, transitions: Transitions) -> tuple[Passes, Reals]:
    """Run the forward pass, which predicts and filters.

    Args:
        log_likelihood: log p(s_n | topic), [sentences, topics], in the layout of the chains; it is overwritten.
        chains: The documents.
        transitions: The transitions between topics.

    Returns:
        The results, and p(s_n | z_n) / p(s_n | s_1 … s_{n−1}), [sentences, topics].
    """
    highest = log_likelihood.max(axis=1)  # [sentences]
    likelihood = np.exp(np.subtract(log_likelihood, highest[:, None], out=log_likelihood), out=log_likelihood)
    # No topic gets probability 0, so that a sum of products does not become 0.
    np.maximum(likelihood, np.finfo(likelihood.dtype).tiny ** 0.5, out=likelihood)
    predicted, filtered = np.empty_like(likelihood), np.empty_like(likelihood)
    totals = np.empty(len(likelihood), dtype=likelihood.dtype)
    if chains.steps:
        start = chains.steps[0]
        predicted[start] = transitions.first(start.stop)
        _filter(predicted, likelihood, filtered, totals, start)
    for now, before in chains.moves():
        predicted[now] = transitions.advance(filtered[before])
        _filter(predicted, likelihood, filtered, totals, now)
    likelihood /= totals[:, None]
    return Passes(predicted, filtered, np.log(totals, dtype=np.float64) + highest), likelihood


def _filter(predicted: Reals, likelihood: Reals, filtered: Reals, totals: Reals, rows: slice) -> None:
    """Apply Bayes' rule to the sentences of one step."""
    joint = np.multiply(predicted[rows], likelihood[rows], out=filtered[rows])  # [documents, topics]
    np.sum(joint, axis=1, out=totals[rows])
    joint /= totals[rows][:, None]


def both_passes(log_likelihood: Reals, chains: Chains, transitions: Transitions) -> Passes:
    """Run the forward and the backward pass (Rabiner 1989, scaled); ``log_likelihood`` is overwritten."""
    found, onward = forward_pass(log_likelihood, chains, transitions)
    for now, before in reversed(list(chains.moves())):
        onward[before] *= transitions.retreat(onward[now])
    return replace(found, onward=onward)


def expected_moves(passes: Passes, chains: Chains, matrix: Reals) -> Reals:
    """Return the expected number of transitions between topics: [topics, topics]."""
    assert passes.onward is not None
    total = np.zeros_like(matrix)
    for now, before in chains.moves():
        total += passes.filtered[before].T @ passes.onward[now]
    moves: Reals = total * matrix
    return moves


def expected_draws(passes: Passes, chains: Chains, switch: SwitchTransitions) -> tuple[Reals, float, int]:
    """Return the expected draws from each mixture, [documents, topics], of redraws, and the number of transitions."""
    assert passes.onward is not None
    drawn = np.zeros_like(switch.mixtures)  # redraws only, without the factor ε θ
    for now, _ in chains.moves():
        drawn[: now.stop - now.start] += passes.onward[now]
    drawn *= switch.mixtures * switch.redraw
    redraws = float(drawn.sum(dtype=np.float64))
    if chains.steps:
        first = chains.steps[0]
        begun = passes.predicted[first] * passes.onward[first]
        drawn[: first.stop] += begun / begun.sum(axis=1, keepdims=True)
    return drawn, redraws, sum(now.stop - now.start for now, _ in chains.moves())
