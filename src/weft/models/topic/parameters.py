"""The parameters of a sentence-level topic model, their estimation, and their form on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.io.model_folder import Artifact
from weft.models.common.bag_of_words import Bags
from weft.models.common.hidden_markov import Reals
from weft.models.common.setting_checks import check_finite, misfit

MIXTURE_WEIGHT = 0.3  # weight of the base distribution in the mixture of a document, in draws
MOVE_SMOOTHING = 0.1  # added to each expected number of transitions between two topics


@dataclass
class Parameters:
    """The learned parameters."""

    words: Reals  # log p(word | topic): [words, topics]
    base: Reals  # p(topic) of the first sentence (matrix) or of a draw (switch): [topics]
    matrix: Reals  # p(next topic | topic), unused by the switch: [topics, topics]
    redraw: float  # probability ε of a draw, unused by the matrix

    def packed(self) -> dict[str, npt.NDArray[Any]]:
        """Return the tensors to write: log-probabilities in float16, precise to a thousandth."""
        types = {"words": np.float16, "base": np.float32, "matrix": np.float32}
        return {name: vars(self)[name].astype(kind) for name, kind in types.items()}

    def rounded(self) -> Parameters:
        """Return the parameters rounded as they are saved."""
        return Parameters.unpacked(self.packed(), self.redraw)

    @staticmethod
    def unpacked(tensors: Mapping[str, npt.NDArray[Any]], redraw: float) -> Parameters:
        """Return the parameters from the tensors of a folder."""
        base, matrix = (tensors[name].astype(np.float64) for name in ("base", "matrix"))
        return Parameters(tensors["words"].astype(np.float32), base, matrix, redraw)


@dataclass
class Expectations:
    """Sums over sentences, from which the next parameters are computed."""

    words: Reals  # expected number of uses: [words, topics]
    first: Reals  # expected number of first sentences, or of draws: [topics]
    moves: Reals  # expected number of transitions: [topics, topics]
    redraws: float = 0.0  # expected number of redraws
    chances: int = 0  # number of transitions
    evidence: float = 0.0  # log p(all sentences)


def read_parameters(artifact: Artifact, words: int, topics: int, folder: str | Path) -> Parameters:
    """Return the parameters in a folder.

    Raises:
        ModelError: Their shapes do not fit.
    """
    shares, base, matrix = (artifact.tensors[name] for name in ("words", "base", "matrix"))
    redraw = artifact.config.get("redraw")
    check_finite(folder, words=shares, base=base, matrix=matrix)
    fits = (
        shares.shape == (words, topics)
        and base.shape == (topics,)
        and matrix.shape == (topics, topics)
        and isinstance(redraw, float)
        and 0.0 <= redraw <= 1.0
    )
    if not fits:
        seen = f"{words} words, {shares.shape} log-probabilities"
        raise misfit(folder, seen, f"{topics} topics throughout", what="topics")
    return Parameters.unpacked(artifact.tensors, float(artifact.config["redraw"]))


def word_shares(bags: Bags) -> Reals:
    """Return the share of each word in the corpus: [words]."""
    counts = np.asarray(bags.counts.sum(axis=0), dtype=np.float64).ravel() + 0.1
    shares: Reals = counts / counts.sum()
    return shares


def log_shares(counts: Reals) -> Reals:
    """Return the logarithm of the shares in each column, in float32: [words, topics]."""
    shares: Reals = np.log(counts / counts.sum(axis=0)).astype(np.float32)
    return shares


def added(parts: Iterable[Expectations]) -> Expectations:
    """Return the total of several sums; the first is changed in place."""
    remaining = iter(parts)
    first = next(remaining)
    for part in remaining:
        first.words += part.words
        first.first = first.first + part.first
        first.moves = first.moves + part.moves
        first.redraws += part.redraws
        first.chances += part.chances
        first.evidence += part.evidence
    return first


def initial_parameters(bags: Bags, topics: int, seed: int) -> Parameters:
    """Return initial parameters: each topic is the word distribution of the corpus with random noise."""
    shares = word_shares(bags)
    generator = np.random.default_rng(seed)
    disturbed = shares[:, None] * (0.5 + generator.random((len(shares), topics)))  # [words, topics]
    even = np.full(topics, 1.0 / topics)
    return Parameters(log_shares(disturbed), even, 0.7 * np.eye(topics) + 0.3 * even, redraw=0.5)


def maximised(
    total: Expectations, before: Parameters, corpus: Reals, *, switch: bool, prior_words: float
) -> Parameters:
    """Return the parameters that maximise the expected likelihood.

    Args:
        total: Expectations over all documents.
        before: The parameters they were computed with.
        corpus: Shares of the words in the corpus: [words].
        switch: Whether transitions are a switch, not a matrix.
        prior_words: Prior of each topic, in words.
    """
    words = log_shares(total.words + prior_words * corpus[:, None])
    base = (total.first + 1.0) / (total.first + 1.0).sum()
    if switch:
        return Parameters(words, base, before.matrix, (total.redraws + 1.0) / (total.chances + 2.0))
    moves = total.moves.astype(np.float64) + MOVE_SMOOTHING
    return Parameters(words, base, moves / moves.sum(axis=1, keepdims=True), before.redraw)


def mixtures_of(drawn: Reals, base: Reals) -> Reals:
    """Return mixtures of documents from expected draws and the base: [documents, topics]."""
    mixed = drawn + np.float32(MIXTURE_WEIGHT) * base.astype(drawn.dtype)
    shares: Reals = mixed / mixed.sum(axis=1, keepdims=True)
    return shares
