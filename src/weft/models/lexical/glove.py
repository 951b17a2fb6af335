"""Foltz coherence over means of word vectors (the paper's Foltz-GloVe, and a weighted variant)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.data_folder import find_data
from weft.document import Document
from weft.io.model_folder import Artifact, load_artifact
from weft.models.common.trained_model import TrainedModel
from weft.models.common.word_vectors import EMBEDDED, Vectors, WordVectors, read_glove, weighted_sums
from weft.models.lexical.cosine import COMPARABLE, SCORE_RANGE, CosineModel
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings, setting

WEIGHTINGS = ("mean", "sif", "content")
WEIGHTING_HELP = (
    "Weight of each word: mean (all equal), sif (a / (a + p(word)), with p(word) estimated from its rank; Arora et al. "
    "2017) or content (English function words count 0)."
)


@dataclass(frozen=True, kw_only=True)
class VectorFields:
    """Settings of a table of word vectors."""

    vectors: str = setting("", "GloVe file or folder, here or in the data folder; empty: the embedded 30,000 words.")
    limit: int = setting(0, "Number of most frequent words to keep; 0 keeps all.", minimum=0)
    precision: str = setting(
        "stored", "stored keeps the numbers of the file; int8 rounds each to one byte.", choices=("stored", "int8")
    )


@dataclass(frozen=True, kw_only=True)
class FoltzGloveSettings(VectorFields, Settings):
    """Settings of `foltz-glove`."""

    model_name: ClassVar[str] = "foltz-glove"
    weighting: str = setting("mean", WEIGHTING_HELP, choices=WEIGHTINGS)


@dataclass(frozen=True, kw_only=True)
class FoltzSifSettings(VectorFields, Settings):
    """Settings of `foltz-sif`."""

    model_name: ClassVar[str] = "foltz-sif"
    weighting: str = setting("sif", WEIGHTING_HELP, choices=WEIGHTINGS)


class WordVectorModel:
    """Sentence vectors as weighted sums of word vectors."""

    settings: FoltzGloveSettings | FoltzSifSettings

    @cached_property
    def table(self) -> WordVectors:
        """The word vectors, read on first use."""
        if not self.settings.vectors:
            return WordVectors.from_artifact(load_artifact(EMBEDDED), EMBEDDED)
        table = read_glove(find_data(self.settings.vectors), limit=self.settings.limit or None)
        return table.quantized() if self.settings.precision == "int8" else table

    def sentence_vectors(self, sentences: Sequence[str]) -> Vectors:
        """Return sums of word vectors, [sentences, dimensions]; a sum has the same cosines as a mean."""
        return weighted_sums(self.table, sentences, self._weigh)

    def _weigh(self, counts: Counter[int]) -> Iterable[float]:
        if self.settings.weighting == "sif":
            return (count * self._sif[row] for row, count in counts.items())
        if self.settings.weighting == "content":
            return (0.0 if row in self._function_words else count for row, count in counts.items())
        return counts.values()

    @cached_property
    def _sif(self) -> npt.NDArray[np.float64]:
        """A / (a + p) of each word; p follows Zipf's law over ranks, because a GloVe file holds no counts."""
        ranks = np.arange(1, len(self.table.vocabulary) + 1)
        probabilities = (1 / ranks) / (1 / ranks).sum()
        weights: npt.NDArray[np.float64] = 1e-3 / (1e-3 + probabilities)
        return weights

    @cached_property
    def _function_words(self) -> frozenset[int]:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(self.table.index[word] for word in ENGLISH_STOP_WORDS if word in self.table.index)

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:  # noqa: ARG002
        """Return the model itself; there is nothing to learn."""
        return self

    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder: the word vectors, so that the folder needs no other file."""
        return self.table.to_artifact(self.settings.model_name, {"weighting": self.settings.weighting})

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the word vectors from the contents of a model folder."""
        self.table = WordVectors.from_artifact(artifact, folder)


class FoltzGlove(WordVectorModel, CosineModel, TrainedModel):
    """Mean cosine of adjacent sentences; a sentence's vector is the mean of its word vectors (Foltz-GloVe).

    score = 1 / (N − 1) · Σ_n cos(v_n, v_{n+1}), where v_n is the mean word vector of sentence n.

    Paper: "300-dimensional Glove word vectors, embeddings for a sentence computed by averaging the embeddings of its
    words" (section 4.1). The embedded table has 100 dimensions; `vectors` names another one.

    Example:
        >>> close, far = FoltzGlove().score([
        ...     Document("close", ("The cat chased a mouse.", "The mouse ran from the cat.")),
        ...     Document("far", ("The cat chased a mouse.", "Interest rates rose sharply.")),
        ... ])
        >>> close.value > far.value
        True
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentences; a sentence is the mean of its GloVe word vectors",
        reference="Foltz et al. 1998; Pennington et al. 2014; Li & Jurafsky 2017 (Foltz-GloVe)",
        score_range=SCORE_RANGE,
        bar_range=(0.0, 1.0),
        meaning="adjacent sentences use related words; the direction of reading does not matter",
        comparable=COMPARABLE,
        needs_training=False,
    )
    Settings = FoltzGloveSettings
    settings: FoltzGloveSettings


class FoltzSif(WordVectorModel, CosineModel, TrainedModel):
    """Foltz-GloVe with smooth inverse frequency weights (SIF), which reduce the weight of frequent words.

    Function words occur in every sentence and dominate a plain mean. With SIF weights, a sentence on another subject
    stands out. Reference: S. Arora, Y. Liang and T. Ma, ICLR 2017.

    Example:
        >>> text = ("Bees visit flowers.", "They drink the nectar.", "The court adjourned the trial.")
        >>> first, second = FoltzSif().score([Document("d", text)])[0].transitions
        >>> first > second
        True
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentences; a sentence is the SIF-weighted mean of its GloVe word vectors",
        reference="Foltz et al. 1998; Pennington et al. 2014; Arora et al. 2017",
        score_range=SCORE_RANGE,
        bar_range=(0.0, 1.0),
        meaning="adjacent sentences use related content words; the direction of reading does not matter",
        comparable=COMPARABLE,
        needs_training=False,
    )
    Settings = FoltzSifSettings
    settings: FoltzSifSettings
