"""Scorers with known results: the truth, its opposite, and one that gives only ties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score
from weft.progress import Progress, silent
from weft.protocols import ModelCard

CARD = ModelCard("a test's scorer", "none", "any", "nothing", "no")


class TestScorer:
    """Base of all test scorers."""

    __test__ = False
    card = CARD

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        return self

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        raise NotImplementedError

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        raise NotImplementedError


def place(sentence: str) -> int:
    """Return the true place of a sentence of `synthetic` documents, which end in ``s7``, for example."""
    return int(sentence.rsplit("s", 1)[1])


class OracleTable(TestScorer):
    """A pairwise oracle: 1 for the true successor, otherwise 0."""

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        places = np.array([place(sentence) for sentence in document.sentences])
        table: npt.NDArray[np.float64] = (places[None, :] == places[:, None] + 1).astype(np.float64)
        return table

    def score(self, documents: Sequence[Document]) -> list[Score]:
        tables = [self.pair_table(document) for document in documents]
        return [
            Score(float(np.diagonal(table, 1).mean()), tuple(np.diagonal(table, 1))) if len(table) > 1 else Score(None)
            for table in tables
        ]


class OracleWhole(TestScorer):
    """An oracle without a pair table, searched by prefixes: the share of true successors."""

    step = 1

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [Score(self._value([place(sentence) for sentence in document.sentences])) for document in documents]

    def _value(self, places: list[int]) -> float | None:
        pairs = list(pairwise(places))
        return sum(b == a + self.step for a, b in pairs) / len(pairs) if pairs else None


class AntiOracle(OracleWhole):
    """Prefers the reverse of every text."""

    step = -1


class Constant(TestScorer):
    """Gives every text the same score, so that all comparisons are ties."""

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        return np.ones((len(document), len(document)))

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [Score(1.0 if len(document) > 1 else None) for document in documents]


def synthetic(count: int, length: int) -> list[Document]:
    """Return documents whose sentences are all different and end with their place."""
    return [Document(f"d{n}", tuple(f"d{n} s{i}" for i in range(length))) for n in range(count)]
