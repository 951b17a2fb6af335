"""The arithmetic of Foltz et al. (1998): coherence is the mean cosine of adjacent sentence vectors.

Reference: P. W. Foltz, W. Kintsch and T. K. Landauer, "The measurement of textual coherence with latent semantic
analysis", Discourse Processes 25 (1998). The models of this folder differ in how they compute a sentence's vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score
from weft.models.common.word_vectors import Vectors

Embed = Callable[[Sequence[str]], Vectors]

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


def cosine_scores(documents: Sequence[Document], embed: Embed) -> list[Score]:
    """Return the mean cosine of adjacent sentences of each document; a distinct sentence is embedded once."""
    distinct = list(dict.fromkeys(sentence for document in documents for sentence in document.sentences))
    if not distinct:
        return [Score(None) for _ in documents]
    unit = unit_rows(embed(distinct)).astype(np.float64)  # [distinct, dimensions]
    row = {sentence: number for number, sentence in enumerate(distinct)}
    return [_score_rows(unit[[row[sentence] for sentence in document.sentences]]) for document in documents]


def _score_rows(unit: npt.NDArray[np.float64]) -> Score:
    if len(unit) < 2:
        return Score(None)
    cosines = np.clip(np.einsum("nd,nd->n", unit[:-1], unit[1:]), -1.0, 1.0)  # [sentences - 1]
    return Score(float(cosines.mean()), tuple(float(cosine) for cosine in cosines))
