"""A model whose links and breaks are known: sentences about bees follow each other, all others do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.scoring.break_calibration import BreakCalibration
from weft.settings import Settings as ModelSettings

STRONG, WEAK = 2.0, -2.0
ODDS = 3.0  # of a break between a sentence about bees and another one: 95%
SHUFFLES = 0.87  # share of own shuffles that every text beats

BEES = (
    "Bees leave the hive at dawn.",
    "The bees look for clover in the fields.",
    "The committee adjourned without a vote.",
    "Clover gives the bees nectar.",
    "In the hive the bees turn nectar into honey.",
    "Bees eat this honey in winter.",
    "In spring the bees begin again.",
)


@dataclass(frozen=True, kw_only=True)
class NoSettings(ModelSettings):
    """There is nothing to set."""

    model_name: ClassVar[str] = "known-breaks"


class KnownBreaks:
    """Knows that a text breaks where it leaves the bees."""

    card = ModelCard(
        summary="known breaks",
        reference="none",
        score_range="-2 to 2",
        meaning="sentences are about bees",
        comparable="between all texts",
        needs_training=False,
    )
    Settings = NoSettings
    settings = NoSettings()
    break_calibration: BreakCalibration | None = BreakCalibration(slope=1.0, intercept=0.0, threshold=0.5)

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        bees = _about_bees(document)
        return np.where(np.outer(bees, bees), STRONG, WEAK)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [self._score(document) for document in documents]

    def _score(self, document: Document) -> Score:
        links = np.diagonal(self.pair_table(document), offset=1).tolist()
        return Score(sum(links) / len(links), tuple(links)) if links else Score(None)

    def break_odds(self, document: Document) -> npt.NDArray[np.float64]:
        bees = _about_bees(document)
        return np.where(bees[1:] == bees[:-1], -ODDS, ODDS)

    def break_probabilities(self, document: Document) -> tuple[float, ...]:
        assert self.break_calibration is not None
        return self.break_calibration.probabilities(self.break_odds(document))

    def shuffles_beaten(self, document: Document) -> float | None:
        return SHUFFLES if len(document) > 2 else None

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        return self

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        raise NotImplementedError

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        return cls()


def _about_bees(document: Document) -> npt.NDArray[np.bool_]:
    return np.array(["bees" in sentence.lower() for sentence in document.sentences])
