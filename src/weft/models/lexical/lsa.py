"""Foltz coherence over latent semantic analysis, the measure of Foltz et al. (1998).

Reference: T. K. Landauer and S. T. Dumais, "A solution to Plato's problem", Psychological Review 104 (1997), for the
log-entropy weighting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.text.words import words_only
from weft.document import Document
from weft.errors import CorpusError
from weft.io.model_folder import Artifact
from weft.models.common.setting_checks import check_seed, untrained
from weft.models.common.trained_model import TrainedModel
from weft.models.common.word_vectors import Vectors, WordVectors, weighted_sums
from weft.models.lexical.cosine import COMPARABLE, SCORE_RANGE, CosineModel
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings, setting


def paragraph_texts(documents: Iterable[Document], progress: Progress) -> Iterable[str]:
    """Yield each paragraph of the documents as one string."""
    for number, document in enumerate(documents):
        if number % 200 == 0:
            progress("reading documents", number)
        for paragraph in document.paragraphs():
            yield " ".join(paragraph.sentences)


def entropy_weights(counts: Any) -> npt.NDArray[np.float64]:
    """Return the global log-entropy weight of each word: 1 if it is in one paragraph, 0 if it is spread evenly.

    Args:
        counts: A sparse matrix, [paragraphs, words].
    """
    by_word = counts.tocsc()
    totals = np.asarray(by_word.sum(axis=0), dtype=np.float64).ravel()  # [words]
    word_of = np.repeat(np.arange(by_word.shape[1]), np.diff(by_word.indptr))  # [nonzeros]
    shares = by_word.data / totals[word_of]
    spread = np.bincount(word_of, weights=-shares * np.log(shares), minlength=by_word.shape[1])
    weights: npt.NDArray[np.float64] = 1.0 - spread / np.log(max(by_word.shape[0], 2))
    return weights


@dataclass(frozen=True, kw_only=True)
class FoltzLsaSettings(Settings):
    """Settings of `foltz-lsa`."""

    model_name: ClassVar[str] = "foltz-lsa"
    dimensions: int = setting(300, "Size of the space; Landauer and Dumais found about 300 best.", minimum=1)
    vocabulary: int = setting(15000, "Number of most frequent words to keep.", minimum=2)


class FoltzLsa(CosineModel, TrainedModel):
    """Mean cosine of adjacent sentences in a latent semantic space (Foltz-LSA).

    A sentence is the sum over its words of log(1 + count) · entropy weight · the word's singular vector.

    Example:
        >>> texts = [("cats purr", "a cat sleeps"), ("stocks fell", "the market and stocks fell")] * 3
        >>> model = FoltzLsa(FoltzLsaSettings(dimensions=2)).fit(Document(str(i), pair) for i, pair in enumerate(texts))
        >>> round(model.score([Document("d", ("stocks fell", "the market fell"))])[0].value, 1)
        1.0
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentences in a latent semantic space learned from a corpus",
        reference="Foltz et al. 1998; Landauer & Dumais 1997",
        score_range=SCORE_RANGE,
        bar_range=(0.0, 1.0),
        meaning="adjacent sentences use words that occur in the same paragraphs",
        comparable=COMPARABLE,
        needs="trained weights (pip install ./zoo) or training",
    )

    Settings = FoltzLsaSettings
    settings: FoltzLsaSettings
    table: WordVectors | None = None  # learned by `fit`

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn the space: counts of words by paragraph, log-entropy weights, the largest singular vectors."""
        check_seed("foltz-lsa", seed)
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import CountVectorizer

        counter = CountVectorizer(analyzer=words_only, max_features=self.settings.vocabulary, dtype=np.float32)
        try:
            counts = counter.fit_transform(paragraph_texts(documents, progress))  # sparse [paragraphs, words]
        except ValueError as error:
            raise _too_little(str(error)) from error
        weights = entropy_weights(counts)
        counts.data = np.log1p(counts.data)
        weighted = counts.multiply(weights.astype(np.float32)).tocsr()
        size = min(self.settings.dimensions, min(weighted.shape) - 1)
        if size < 1:
            raise _too_little(f"{weighted.shape[0]} paragraphs with {weighted.shape[1]} different words")
        progress("singular value decomposition", 0)
        svd = TruncatedSVD(n_components=size, random_state=seed, n_iter=5).fit(weighted)
        vectors = (svd.components_ * weights).T.astype(np.float32)  # [words, dimensions]
        # int8 from the start, so that a saved model scores exactly as the fitted one.
        self.table = WordVectors(tuple(counter.get_feature_names_out()), vectors).quantized()
        return self

    def sentence_vectors(self, sentences: Sequence[str]) -> Vectors:
        """Return sentence vectors: [sentences, dimensions]."""
        return weighted_sums(self._learned(), sentences, _log_counts)

    def _learned(self) -> WordVectors:
        if self.table is None:
            raise untrained("foltz-lsa")
        return self.table

    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder."""
        return self._learned().to_artifact("foltz-lsa", self.settings.to_dict())

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the space from the contents of a model folder."""
        self.table = WordVectors.from_artifact(artifact, folder)


def _log_counts(counts: Counter[int]) -> Iterable[float]:
    return (float(np.log1p(count)) for count in counts.values())


def _too_little(why: str) -> CorpusError:
    return CorpusError(
        "not enough text to learn from",
        seen=why,
        allowed="at least two paragraphs with two different words",
        next_step="give more training text",
    )
