"""Seeded replacements of single sentences of a document."""

from __future__ import annotations

from collections.abc import Sequence

from weft.corpora.negatives.permuted_document import Replacement
from weft.document import Document
from weft.errors import CorpusError
from weft.io.seeded_hash import hash_key, hash_order


def replacements(document: Document, pool: Sequence[str], *, count: int = 1, seed: int = 1) -> tuple[Replacement, ...]:
    """Return replacements of single sentences by sentences of a pool.

    These are the negatives of section 2 of the paper: the pool is the corpus for the open domain, and the document's
    own sentences for the narrow domains. A replacement always differs from the sentence it replaces. Positions
    repeat only after all have been used.

    Raises:
        CorpusError: The pool has no sentence that differs from the one to replace.

    Example:
        >>> replacements(Document("d", ("A.",)), ["A.", "B."])
        (Replacement(position=0, sentence='B.'),)
    """
    if not document.sentences or not pool:
        return ()
    own = set(document.sentences)
    positions = hash_order(len(document), seed, document.id, "position")
    made = []
    for number in range(count):
        position = positions[number % len(positions)]
        sentence = _draw(document.sentences[position], own, pool, (seed, document.id, number))
        made.append(Replacement(position, sentence))
    return tuple(made)


def _draw(current: str, own: set[str], pool: Sequence[str], seed: tuple[object, ...]) -> str:
    """Return a sentence of the pool that differs from the current one, if possible one not in the document."""
    start = int.from_bytes(hash_key(*seed, "draw")[:8], "big") % len(pool)
    familiar = None
    for step in range(len(pool)):
        candidate = pool[(start + step) % len(pool)]
        if candidate not in own:
            return candidate
        if familiar is None and candidate != current:
            familiar = candidate
    if familiar is not None:
        return familiar
    raise CorpusError(
        "no sentence to replace with: all sentences of the pool are equal to the one to replace",
        seen=f"a pool of {len(pool)} sentences",
        allowed="a pool with at least one other sentence",
        next_step="give a larger pool",
    )


def replace_sentence(document: Document, replacement: Replacement) -> Document:
    """Return the document with a replacement applied.

    Raises:
        CorpusError: The position is outside the document.

    Example:
        >>> replace_sentence(Document("d", ("A.", "B.")), Replacement(1, "C.")).sentences
        ('A.', 'C.')
    """
    at = replacement.position
    if not 0 <= at < len(document):
        raise CorpusError(
            f"a replacement points outside document {document.id}",
            seen=at,
            allowed=f"0 to {len(document) - 1}",
            next_step="make the negatives again with `weft corrupt`",
        )
    sentences = (*document.sentences[:at], replacement.sentence, *document.sentences[at + 1 :])
    return Document(document.id, sentences, document.title, document.paragraph_starts)
