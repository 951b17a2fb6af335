"""TextDescriptives: its first-order coherence, the mean cosine of neighbouring sentences by word vectors of spaCy.

The pipelines of spaCy that have word vectors are not on PyPI. The vectors are those of GloVe, as in weft's foltz-glove.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def load(data: Path, name: str) -> Callable[[list[list[str]]], list[Any]]:  # noqa: ARG001  all scorers have both
    """Return the scorer."""
    import numpy as np
    import spacy
    import textdescriptives  # noqa: F401  registers the component
    from spacy.tokens import Doc

    language = spacy.blank("en")
    vectors = np.load(data / "glove" / "vectors.f16.npy").astype("float32")
    words = (data / "glove" / "vocab.txt").read_text(encoding="utf-8").split("\n")
    for word, vector in zip(words, vectors, strict=False):
        language.vocab.set_vector(word, vector)
    component = language.add_pipe("textdescriptives/coherence")

    def one(text: list[str]) -> tuple[float | None, list[float] | None]:
        parts = [language.make_doc(sentence.lower()) for sentence in text if sentence.strip()]
        document = Doc.from_docs(parts)
        starts = np.cumsum([0, *map(len, parts)])[:-1]
        for token in document:
            token.is_sent_start = bool(token.i in set(starts.tolist()))
        component(document)
        links = document._.first_order_coherence_values
        clean = [float(value) for value in links if value is not None]
        whole = len(clean) == len(text) - 1
        return (sum(clean) / len(clean) if clean else None), (clean if whole else None)

    return lambda texts: [one(text) for text in texts]
