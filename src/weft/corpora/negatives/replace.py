"""Seeded replacements of single sentences of a document."""

from __future__ import annotations

from collections.abc import Sequence

from weft.corpora.negatives.permuted_document import Replacement
from weft.document import Document
from weft.errors import CorpusError
from weft.io.seeded_hash import hash_key, hash_order


def replacements(document: Document, pool: Sequence[str], *, count: int = 1, seed: int = 1) -> tuple[Replacement, ...]:
    """Choose sentences of the pool to put, one at a time, in the place of a document's own.

    The paper's negatives (its section 2): a pool of the corpus for the open domain, the document's own
    sentences for the narrow domains. In the second case the replacement differs from the sentence it stands for.

    Args:
        document: The text to corrupt.
        pool: Where the new sentences come from.
        count: How many negatives to make; positions are drawn without repeats, then start again.
        seed: Determines everything together with the document's id.

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
    """A sentence from the pool, foreign to the document where the pool has one."""
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
        "no sentence to replace with: every sentence of the pool is already there",
        seen=f"a pool of {len(pool)}",
        allowed="a pool with at least one other sentence",
        next_step="give a larger pool",
    )


def replace_sentence(document: Document, replacement: Replacement) -> Document:
    """The document with the replacement's sentence in the place of its own.

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
