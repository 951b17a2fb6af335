"""Word-vector tables, and Foltz coherence over their means (the paper's Foltz-GloVe).

A table is kept in the form it was stored in (float, or int8 with one scale a word) and is widened only for the
words of the sentences at hand, so that the embedded 30,000 words cost 3 MiB and not 12.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.data_folder import find_data
from weft.document import Document, Score
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.models.common.setting_checks import at_least, check_choice, check_text, rebuild
from weft.models.common.word_vectors import EMBEDDED, VOCABULARY, Vectors, WordVectors, read_glove, weighted_sums
from weft.models.lexical.cosine import COMPARABLE, SCORE_RANGE, cosine_scores, cosine_table
from weft.progress import Progress, silent
from weft.protocols import ModelCard


class FoltzGlove:
    """Mean cosine of adjacent sentences, a sentence being the mean of its word vectors (Foltz-GloVe).

    Paper: "300-dimensional Glove word vectors, embeddings for a sentence computed by averaging the embeddings of its
    words" (section 4.1). The embedded table has 100 dimensions; any GloVe file can be named instead.

    Args:
        vectors: A GloVe file or folder, here or below the data folder; empty for the embedded 30,000 words.
        limit: Keep only the so many most frequent words; 0 keeps all.
        precision: ``stored`` keeps the numbers as they are; ``int8`` rounds them to one byte with a scale a word.
        weighting: ``mean`` counts every word alike; ``sif`` weighs a word by a / (a + p(word)), with p(word) from its
            rank (Arora et al. 2017); ``content`` leaves English function words out.

    Example:
        >>> close, far = FoltzGlove().score([
        ...     Document("close", ("The cat chased a mouse.", "The mouse ran from the cat.")),
        ...     Document("far", ("The cat chased a mouse.", "Interest rates rose sharply.")),
        ... ])
        >>> close.value > far.value
        True
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentences, a sentence being the mean of its GloVe word vectors",
        reference="Foltz et al. 1998; Pennington et al. 2014; Li & Jurafsky 2017 (Foltz-GloVe)",
        score_range=SCORE_RANGE,
        meaning="neighbouring sentences use related words; says nothing about the direction of reading",
        comparable=COMPARABLE,
    )

    name = "foltz-glove"

    def __init__(self, vectors: str = "", limit: int = 0, precision: str = "stored", weighting: str = "mean") -> None:
        check_text(self.name, "vectors", vectors)
        at_least(self.name, "limit", limit, 0)
        check_choice(self.name, "weighting", weighting, ("mean", "sif", "content"))
        check_choice(self.name, "precision", precision, ("stored", "int8"))
        self.vectors, self.limit, self.precision, self.weighting = vectors, limit, precision, weighting

    @cached_property
    def table(self) -> WordVectors:
        """The word vectors, read when first needed."""
        if not self.vectors:
            return WordVectors.from_artifact(load_artifact(EMBEDDED), EMBEDDED)
        table = read_glove(find_data(self.vectors), limit=self.limit or None)
        return table.quantized() if self.precision == "int8" else table

    def sentence_vectors(self, sentences: Sequence[str]) -> Vectors:
        """[sentences, dimensions]. A sum points the same way as a mean, and only the direction counts."""
        return weighted_sums(self.table, sentences, self._weigh)

    def _weigh(self, counts: Counter[int]) -> Iterable[float]:
        if self.weighting == "sif":
            return (count * self._sif[row] for row, count in counts.items())
        if self.weighting == "content":
            return (0.0 if row in self._function_words else count for row, count in counts.items())
        return counts.values()

    @cached_property
    def _sif(self) -> npt.NDArray[np.float64]:
        """A / (a + p) with p from Zipf's law over the ranks, as a GloVe file holds no counts."""
        ranks = np.arange(1, len(self.table.vocabulary) + 1)
        probabilities = (1 / ranks) / (1 / ranks).sum()
        weights: npt.NDArray[np.float64] = 1e-3 / (1e-3 + probabilities)
        return weights

    @cached_property
    def _function_words(self) -> frozenset[int]:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(self.table.index[word] for word in ENGLISH_STOP_WORDS if word in self.table.index)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean cosine of neighbours."""
        return cosine_scores(documents, self.sentence_vectors)

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        """All cosines: [sentences, sentences]."""
        return cosine_table(self.sentence_vectors(document.sentences))

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:  # noqa: ARG002
        """Nothing to learn: the vectors are given."""
        return self

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the table itself, so that the folder stands alone."""
        texts = {VOCABULARY: "\n".join(self.table.vocabulary)}
        config = {"weighting": self.weighting}
        save_artifact(Artifact(self.name, config, self.table.tensors(), texts, training or {}), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        artifact = load_artifact(folder)
        model = rebuild(cls, artifact, folder, ("weighting",))
        model.__dict__["table"] = WordVectors.from_artifact(artifact, folder)  # fills the cached property
        return model


class FoltzSif(FoltzGlove):
    """Foltz-GloVe with frequent words weighed down: the embedded default of the command line.

    A plain mean is ruled by function words, which occur in every sentence; with smooth inverse frequency weights
    (S. Arora, Y. Liang and T. Ma, ICLR 2017) a sentence that does not belong stands out.

    Example:
        >>> text = ("Bees visit flowers.", "They drink the nectar.", "The court adjourned the trial.")
        >>> first, second = FoltzSif().score([Document("d", text)])[0].transitions
        >>> first > second
        True
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentences, a sentence being the SIF-weighted mean of its GloVe word vectors",
        reference="Foltz et al. 1998; Pennington et al. 2014; Arora et al. 2017",
        score_range=SCORE_RANGE,
        meaning="neighbouring sentences use related content words; says nothing about the direction of reading",
        comparable=COMPARABLE,
    )
    name = "foltz-sif"

    def __init__(self, vectors: str = "", limit: int = 0, precision: str = "stored", weighting: str = "sif") -> None:
        super().__init__(vectors, limit, precision, weighting)
