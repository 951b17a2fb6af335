"""The contracts: what models, scorers and searches promise each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score, Window
from weft.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a person must know to read a model's score.

    Attributes:
        summary: One line on what the model does.
        reference: The publication behind it.
        score_range: The values a score can take.
        meaning: What a higher score says.
        comparable: Whether scores of different texts can be compared.
        needs: What has to be there before it can score: nothing, training, or an extra.
    """

    summary: str
    reference: str
    score_range: str
    meaning: str
    comparable: str
    needs: str = "nothing"


@runtime_checkable
class DocumentScorer(Protocol):
    """Scores documents; higher is more coherent, always. All that orderings and tasks ask for."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document, in order."""


@runtime_checkable
class CoherenceModel(DocumentScorer, Protocol):
    """A scorer that can also learn, be saved and say what its score means: what the registry holds."""

    card: ModelCard

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn from documents; a model with nothing to learn returns itself."""

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write a model folder."""

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model folder."""


@runtime_checkable
class RemarkingModel(Protocol):
    """A model that can say why a text is not one to judge, or how far its score can be trusted."""

    def remarks(self, document: Document) -> tuple[str, ...]:
        """What a person should know of the text; nothing of most."""


@runtime_checkable
class PairwiseModel(Protocol):
    """A first-order model: a document's score is the mean over adjacent pairs of one table.

    Permutations and orders are then look-ups, and nothing is scored twice.
    """

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        """``table[i, j]``: how well sentence j follows sentence i. Shape [sentences, sentences]; diagonal unused."""


@runtime_checkable
class PrecedenceModel(Protocol):
    """A model that may also know which of two sentences comes first, however far apart they stand."""

    def precedence_table(self, document: Document) -> npt.NDArray[np.float64] | None:
        """``table[i, j]``: what it counts that sentence i stands before j, antisymmetric; None if never learned."""


@runtime_checkable
class Arranger(Protocol):
    """A model that puts sentences in order by a rule of its own instead of a search over scores."""

    def arrange(self, document: Document, *, first: int | None = None, seed: int = 1) -> tuple[int, ...]:
        """The order it proposes, starting with ``first`` where that is given."""


@runtime_checkable
class SentenceModel(Protocol):
    """A model of the next sentence; `weft.scoring.pairs.Scorer` makes a CoherenceModel of it."""

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Natural log-probability of each target given its context, SUMMED over its tokens, ``</s>`` included."""

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """How many tokens each sentence has, ``</s>`` included: the N that sums are divided by."""


@runtime_checkable
class SequenceModel(Protocol):
    """A model of the next sentence that remembers all before it; `SequenceScorer` makes a scorer of it."""

    def log_probs(self, sentences: Sequence[str], orders: Sequence[Sequence[int]]) -> list[npt.NDArray[np.float64]]:
        """For every order of some sentences, log p(s_n | all before it) of its second sentence and those after."""

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """How many tokens each sentence has, ``</s>`` included: the N that sums are divided by."""


@runtime_checkable
class OrderScorer(Protocol):
    """A model with memory that scores several orders of one text at once, reading its sentences once."""

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """One score per order."""


class PrefixSteps(Protocol):
    """Partial orders of a text that grow to the right; what is known of them is carried along."""

    def begin(self, firsts: Sequence[int]) -> npt.NDArray[np.float64]:
        """Start with these sentences, one a path; what each path is worth so far: [paths]."""

    def gains(self) -> npt.NDArray[np.float64]:
        """What each sentence would gain next, whether it is placed already or not: [paths, sentences]."""

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Go on with some paths (``rows``), each grown by a sentence (``columns``)."""


@runtime_checkable
class PrefixModel(Protocol):
    """A model with memory whose beam search carries what is known of every partial order."""

    def prefix_steps(self, document: Document) -> PrefixSteps:
        """A search over a document's sentences."""
