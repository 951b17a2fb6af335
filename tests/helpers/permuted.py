"""Documents with their seeded permutations."""

from __future__ import annotations

from collections.abc import Iterable

from weft.corpora.negatives.permute import permutations
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.document import Document


def permute_documents(documents: Iterable[Document], *, count: int = 20, seed: int = 1) -> list[PermutedDocument]:
    """Every document with its seeded permutations."""
    return [PermutedDocument(one, permutations(one, count=count, seed=seed)) for one in documents]
