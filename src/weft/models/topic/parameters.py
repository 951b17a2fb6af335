"""What a sentence-level topic model learns, what it is made of in learning, and how it lies on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import ModelError
from weft.io.model_folder import Artifact
from weft.models.common.bag_of_words import Bags
from weft.models.common.hidden_markov import Reals
from weft.models.common.setting_checks import check_finite


@dataclass
class Parameters:
    """What is learned.

    Attributes:
        words: log p(word | topic), [words, topics].
        base: p(topic), of the first sentence (matrix) or of a draw (switch): [topics].
        matrix: p(next topic | topic), [topics, topics]; unused by the switch.
        redraw: ε; unused by the matrix.
    """

    words: Reals
    base: Reals
    matrix: Reals
    redraw: float

    def packed(self) -> dict[str, npt.NDArray[Any]]:
        """As written to disk: log-probabilities in float16, which holds them to a thousandth."""
        types = {"words": np.float16, "base": np.float32, "matrix": np.float32}
        return {name: getattr(self, name).astype(kind) for name, kind in types.items()}

    def rounded(self) -> Parameters:
        """As they will be saved, so that saving changes no score."""
        return Parameters.unpacked(self.packed(), self.redraw)

    @staticmethod
    def unpacked(tensors: Mapping[str, npt.NDArray[Any]], redraw: float) -> Parameters:
        """As read from disk."""
        base, matrix = (tensors[name].astype(np.float64) for name in ("base", "matrix"))
        return Parameters(tensors["words"].astype(np.float32), base, matrix, redraw)


@dataclass
class Expectations:
    """Sums over sentences that the next parameters are made of.

    Attributes:
        words: [words, topics] expected uses.
        first: [topics] expected first topics, or draws.
        moves: [topics, topics].
        redraws: How many redraws are expected.
        chances: Transitions there were.
        evidence: log p(all sentences).
    """

    words: Reals
    first: Reals
    moves: Reals
    redraws: float = 0.0
    chances: int = 0
    evidence: float = 0.0


def read_parameters(artifact: Artifact, words: int, topics: int, folder: str | Path) -> Parameters:
    """What a folder holds, once its shapes are seen to fit.

    Raises:
        ModelError: They do not.
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
        raise ModelError(
            f"the topics in {folder} do not fit together",
            seen=f"{words} words, {shares.shape} log-probabilities",
            allowed=f"{topics} topics throughout",
            next_step="copy or train the model again",
        )
    return Parameters.unpacked(artifact.tensors, float(artifact.config["redraw"]))


def word_shares(bags: Bags) -> Reals:
    """How much of the corpus each word is: [words]."""
    counts = np.asarray(bags.counts.sum(axis=0), dtype=np.float64).ravel() + 0.1
    shares: Reals = counts / counts.sum()
    return shares


def log_shares(counts: Reals) -> Reals:
    """Log of each column's shares, in float32: [words, topics]."""
    shares: Reals = np.log(counts / counts.sum(axis=0)).astype(np.float32)
    return shares


def added(parts: Iterable[Expectations]) -> Expectations:
    """The sums of several corpora together; the first is added to in place."""
    waiting = iter(parts)
    first = next(waiting)
    for part in waiting:
        first.words += part.words
        first.first = first.first + part.first
        first.moves = first.moves + part.moves
        first.redraws += part.redraws
        first.chances += part.chances
        first.evidence += part.evidence
    return first
