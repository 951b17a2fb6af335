"""The arithmetic of Foltz et al. (1998): coherence is the mean cosine of adjacent sentence vectors.

Reference: P. W. Foltz, W. Kintsch and T. K. Landauer, "The measurement of textual coherence with latent semantic
analysis", Discourse Processes 25 (1998). The models of this folder differ in how they compute a sentence's vector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score
from weft.models.common.word_vectors import Vectors

COMPARABLE = "roughly, between texts of the same kind; long sentences score higher than short ones"
SCORE_RANGE = "-1 to 1"


def unit_rows(vectors: Vectors) -> Vectors:
    """Return rows scaled to length 1; a zero row (a sentence without known words) stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)  # [sentences, 1]
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


def cosine_table(vectors: Vectors) -> npt.NDArray[np.float64]:
    """Return the cosines of all pairs of sentences: [sentences, sentences], symmetric.

    Example:
        >>> cosine_table(np.array([[1, 0], [0, 2]], dtype=np.float32)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    unit = unit_rows(vectors).astype(np.float64)  # [sentences, dimensions]
    table = unit @ unit.T  # [sentences, sentences]
    # The product is symmetric only up to rounding; an order and its reverse must tie exactly.
    return np.clip((table + table.T) / 2, -1.0, 1.0)


class CosineModel(ABC):
    """Scores texts by the cosines of their sentence vectors."""

    @abstractmethod
    def sentence_vectors(self, sentences: Sequence[str]) -> Vectors:
        """Return sentence vectors: [sentences, dimensions]."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the mean cosine of adjacent sentences of each document; a distinct sentence is embedded once."""
        longer = [document for document in documents if len(document) > 1]
        distinct = list(dict.fromkeys(sentence for document in longer for sentence in document.sentences))
        if not distinct:
            return [Score(None) for _ in documents]
        unit = unit_rows(self.sentence_vectors(distinct)).astype(np.float64)  # [distinct, dimensions]
        row = {sentence: number for number, sentence in enumerate(distinct)}
        return [
            _score_rows(unit[[row[sentence] for sentence in document.sentences]]) if len(document) > 1 else Score(None)
            for document in documents
        ]

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        """Return all cosines: [sentences, sentences]."""
        return cosine_table(self.sentence_vectors(document.sentences))


def _score_rows(unit: npt.NDArray[np.float64]) -> Score:
    cosines = np.clip(np.einsum("nd,nd->n", unit[:-1], unit[1:]), -1.0, 1.0)  # [sentences - 1]
    return Score(float(cosines.mean()), tuple(float(cosine) for cosine in cosines))
