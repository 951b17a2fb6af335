"""Chains of sentence topics: forward and backward passes over many documents at once, in numpy.

Every sentence has one topic, which depends on the topic of the sentence before, in one of two forms: a matrix (topic
to topic), or a switch (the topic stays, or is drawn anew from the mixture of the document: Gruber et al. 2007).
Documents are processed in parallel, sentence by sentence, longest first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.floating[Any]]  # float32 in training, where half the memory is half the time
Whole = npt.NDArray[np.int64]


class Chains:
    """Documents laid out for passes that take the n-th sentence of all documents at once.

    Documents are sorted longest first, and sentences by step: the first sentences of all documents, then the second
    ones, and so on. Each step is then one slice, and so is the step before it.

    Args:
        offsets: [documents + 1], where each document begins among the sentences.

    Attributes:
        documents: [documents that have a sentence], longest first.
        sentences: [sentences] numbers of the sentences in this layout.
        steps: For n = 0, 1, …: the slice of the n-th sentences.

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
        """For n = 1, 2, …: the slice of the n-th sentences, and that of the sentences before them."""
        for before, now in itertools.pairwise(self.steps):
            yield now, slice(before.start, before.start + now.stop - now.start)

    def restored(self, values: Reals) -> Reals:
        """Rows of this layout back in the order of the sentences."""
        found = np.empty_like(values)
        found[self.sentences] = values
        return found


class Transitions(Protocol):
    """Transitions between topics, for documents sorted longest first."""

    def first(self, count: int) -> Reals:
        """p(topic of the first sentence) of the first ``count`` documents: [count, topics]."""

    def advance(self, filtered: Reals) -> Reals:
        """p(next topic) from p(topic), of as many of the first documents as there are rows: [count, topics]."""

    def retreat(self, weights: Reals) -> Reals:
        """Σ_j p(next = j | topic) · weights_j: both [count, topics]."""


@dataclass(frozen=True, slots=True)
class MatrixTransitions:
    """Transitions by a matrix, as in the paper: "drawn given the topic of the sentence before".

    Attributes:
        initial: [topics].
        matrix: [topics, topics], row: from.
    """

    initial: Reals
    matrix: Reals

    def first(self, count: int) -> Reals:
        """The same for all documents."""
        return np.broadcast_to(self.initial, (count, len(self.initial)))

    def advance(self, filtered: Reals) -> Reals:
        """One step along the matrix."""
        moved: Reals = filtered @ self.matrix
        return moved

    def retreat(self, weights: Reals) -> Reals:
        """One step back."""
        moved: Reals = weights @ self.matrix.T
        return moved


@dataclass(frozen=True, slots=True)
class SwitchTransitions:
    """The topic stays, or with probability ``redraw`` is drawn anew from the document's mixture (Gruber et al. 2007).

    Attributes:
        redraw: ε.
        mixtures: θ, [documents, topics], longest document first.
    """

    redraw: float
    mixtures: Reals

    def first(self, count: int) -> Reals:
        """The first topic is always drawn."""
        return self.mixtures[:count]

    def advance(self, filtered: Reals) -> Reals:
        """Stay or redraw."""
        moved: Reals = filtered * (1.0 - self.redraw)
        moved += self.mixtures[: len(filtered)] * self.redraw
        return moved

    def retreat(self, weights: Reals) -> Reals:
        """Stayed or redrawn."""
        drawn = np.einsum("ij,ij->i", weights, self.mixtures[: len(weights)])  # [count]
        moved: Reals = weights * (1.0 - self.redraw)
        moved += self.redraw * drawn[:, None]
        return moved


class OnlineSwitch:
    """The switch for documents of unknown mixture, which is estimated along the chain from the sentences so far.

    The mixture is a base distribution plus the draws expected so far, so that a prediction depends only on the
    sentences before it.

    Args:
        redraw: ε.
        base: [topics].
        weight: Weight of the base, in draws.
        documents: Number of documents.
    """

    def __init__(self, redraw: float, base: Reals, weight: float, documents: int) -> None:
        self.redraw = redraw
        self.draws = np.tile(weight * base, (documents, 1))  # [documents, topics]
        self._share = np.ones_like(self.draws)  # of a prediction, how much was drawn: the first is nothing else

    def first(self, count: int) -> Reals:
        """The base."""
        return self._mixtures(count)

    def advance(self, filtered: Reals) -> Reals:
        """Count what was drawn in the sentence before, then stay or redraw."""
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
        """Mixtures change along the chain, so there is no way back."""
        raise NotImplementedError("an online switch only goes forward; use SwitchTransitions")


@dataclass(frozen=True, slots=True)
class Passes:
    """Results of passes over chains, each [sentences, topics], in the layout of the chains.

    Attributes:
        predicted: p(z_n | s_1 … s_{n−1}), one step ahead, without the sentence itself.
        filtered: p(z_n | s_1 … s_n).
        evidence: [sentences] log p(s_n | s_1 … s_{n−1}).
        onward: After a backward pass, the evidence of sentence n and those after it about z_n, relative to the
            prediction: p(z_n | all sentences) is ``predicted · onward``.
    """

    predicted: Reals
    filtered: Reals
    evidence: Reals
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
    """Run the forward pass: predict and filter.

    Args:
        log_likelihood: log p(s_n | topic), [sentences, topics], in the layout of the chains; it is overwritten.
        chains: The documents.
        transitions: Between topics.

    Returns:
        The results, and p(s_n | z_n) / p(s_n | s_1 … s_{n−1}), [sentences, topics].
    """
    highest = log_likelihood.max(axis=1)  # [sentences]
    likelihood = np.exp(np.subtract(log_likelihood, highest[:, None], out=log_likelihood), out=log_likelihood)
    # No topic is ever ruled out: a sum of products must not become 0.
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
    """Return expected draws from each mixture, [documents, topics]; the number of redraws; of transitions."""
    assert passes.onward is not None
    drawn = np.zeros_like(switch.mixtures)  # of redraws only, and not yet weighed by ε θ
    for now, _ in chains.moves():
        drawn[: now.stop - now.start] += passes.onward[now]
    drawn *= switch.mixtures * switch.redraw
    redraws = float(drawn.sum(dtype=np.float64))
    if chains.steps:
        first = chains.steps[0]
        begun = passes.predicted[first] * passes.onward[first]
        drawn[: first.stop] += begun / begun.sum(axis=1, keepdims=True)
    return drawn, redraws, sum(now.stop - now.start for now, _ in chains.moves())
