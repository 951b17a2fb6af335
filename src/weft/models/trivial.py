"""Trivial baselines: random numbers, and sorting by year."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from weft.corpora.text.years import first_year
from weft.document import Document, Score
from weft.io.seeded_hash import hash_key, hash_order
from weft.models.common.fixed_model import FixedModel
from weft.protocols import ModelCard
from weft.settings import HIGHEST_SEED, Settings, setting


@dataclass(frozen=True, kw_only=True)
class RandomSettings(Settings):
    """Settings of `random`."""

    model_name: ClassVar[str] = "random"
    seed: int = setting(1, "Seed of all numbers.", minimum=0, maximum=HIGHEST_SEED)


class RandomModel(FixedModel):
    """A table of random numbers; equal sentences get equal numbers.

    Example:
        >>> RandomModel().score([Document("d", ("A.", "B."))]) == RandomModel().score([Document("d", ("A.", "B."))])
        True
    """

    card = ModelCard(
        summary="random numbers, the chance level of every task",
        reference="none",
        score_range="0 to 1",
        bar_range=(0.0, 1.0),
        meaning="nothing",
        comparable="no",
        needs_training=False,
    )
    Settings = RandomSettings
    settings: RandomSettings

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        """Return uniform numbers that depend on the two sentences: [sentences, sentences]."""
        seed, sentences = self.settings.seed, document.sentences
        values = [[_uniform(seed, left, right) for right in sentences] for left in sentences]
        return np.array(values, dtype=np.float64).reshape(len(document), len(document))

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the mean of the table along each document."""
        return [self._score(document.sentences) for document in documents]

    def _score(self, sentences: tuple[str, ...]) -> Score:
        parts = tuple(_uniform(self.settings.seed, *pair) for pair in pairwise(sentences))
        return Score(float(np.mean(parts)), parts) if parts else Score(None)


def _uniform(*parts: object) -> float:
    return int.from_bytes(hash_key(*parts)[:6], "big") / 2**48


@dataclass(frozen=True, kw_only=True)
class YearSortSettings(Settings):
    """Settings of `year-sort`: none."""

    model_name: ClassVar[str] = "year-sort"


class YearSort(FixedModel):
    """Orders sentences by the first year they mention, and scores a text by the share of its years that ascend.

    Example:
        >>> YearSort().arrange(Document("d", ("He died in 1870.", "He was born in 1812.")))
        (1, 0)
    """

    card = ModelCard(
        summary="sorts by the first year a sentence mentions; undated sentences are placed in the middle",
        reference="none; chronology as a baseline",
        score_range="0 to 1",
        bar_range=(0.0, 1.0),
        meaning="the share of dated sentence pairs in the order of their years; 0 if no two years differ",
        comparable="no: most texts mention few years",
        needs_training=False,
    )
    Settings = YearSortSettings

    def arrange(self, document: Document, *, first: int | None = None, seed: int = 1) -> tuple[int, ...]:
        """Return the order by year; an undated sentence gets the median year, and the seed breaks ties."""
        years = [first_year(sentence) for sentence in document.sentences]
        dated = [year for year in years if year is not None]
        middle = float(np.median(dated)) if dated else 0.0
        shuffled = hash_order(len(document), seed, document.id, "year-sort")
        ranked = sorted(shuffled, key=lambda i: middle if years[i] is None else float(years[i] or 0))
        rest = [i for i in ranked if i != first]
        return tuple(rest) if first is None else (first, *rest)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the share of dated pairs in order; None for fewer than two sentences, 0 if all years are equal."""
        return [Score(_ascending(document)) for document in documents]


def _ascending(document: Document) -> float | None:
    if len(document) < 2:
        return None
    dated = [year for year in map(first_year, document.sentences) if year is not None]
    values = np.array(dated)  # [dated]
    later = np.triu(np.ones((len(values), len(values)), dtype=bool), k=1)  # pairs i < j
    difference = values[None, :] - values[:, None] if len(values) else np.zeros((0, 0))
    differing = int(((difference != 0) & later).sum())
    return float(((difference > 0) & later).sum() / differing) if differing else 0.0
