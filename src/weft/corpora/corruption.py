"""Negatives: permutations and replacements, seeded, the same for every model and on every machine.

A permutation is a pure function of (seed, document id, number): the positions are sorted by a hash, so it
depends on no random-number library and never changes between versions. `weft.corpora.negatives` writes them down.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from weft.document import Document
from weft.errors import CorpusError


@dataclass(frozen=True, slots=True)
class PermutedDocument:
    """A document and the orders of its sentences that it is compared with.

    An order may leave sentences out; it is then compared with the document restricted to the same sentences.
    """

    document: Document
    orders: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """A document in which one sentence was replaced by a sentence from elsewhere."""

    document: Document
    position: int
    sentence: str


def hash_key(*parts: object) -> bytes:
    """A stable hash of a tuple of simple values: the source of all randomness here."""
    return hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def hash_order(length: int, *seed: object) -> tuple[int, ...]:
    """A uniformly random order of ``range(length)`` determined by the seed parts alone.

    Example:
        >>> sorted(hash_order(5, 1, "essay"))
        [0, 1, 2, 3, 4]
    """
    return tuple(sorted(range(length), key=lambda i: hash_key(*seed, i)))


def permutations(document: Document, *, count: int = 20, seed: int = 1) -> tuple[tuple[int, ...], ...]:
    """Up to ``count`` distinct orders of a document, none of them one that reads like the original.

    Sentences with the same text are interchangeable, so an order that only swaps equal sentences is the original
    in disguise and is left out; a short text has fewer than ``count`` orders, and a text whose sentences are all
    equal has none.

    Example:
        >>> permutations(Document("d", ("a", "b")), count=20)
        ((1, 0),)
    """
    wanted = min(count, _distinct_orders(document.sentences) - 1)
    seen = {document.sentences}
    orders: list[tuple[int, ...]] = []
    number = 0
    while len(orders) < wanted:
        order = hash_order(len(document), seed, document.id, number)
        number += 1
        text = tuple(document.sentences[i] for i in order)
        if text not in seen:
            seen.add(text)
            orders.append(order)
    return tuple(orders)


def _distinct_orders(sentences: Sequence[str]) -> int:
    """How many texts the sentences can make: n! over the factorials of the repeats."""
    total = math.factorial(len(sentences))
    for sentence in set(sentences):
        total //= math.factorial(sentences.count(sentence))
    return total


def permute_documents(documents: Iterable[Document], *, count: int = 20, seed: int = 1) -> Iterator[PermutedDocument]:
    """Attach seeded permutations to every document."""
    for document in documents:
        yield PermutedDocument(document, permutations(document, count=count, seed=seed))


def replacements(document: Document, pool: Sequence[str], *, count: int = 1, seed: int = 1) -> tuple[Replacement, ...]:
    """Replace one sentence at a time by a sentence of the pool that the document does not contain.

    The paper's negatives (its section 2): a pool of the corpus for the open domain, the document's own
    sentences for the narrow domains. In the second case the replacement differs from the sentence it stands for.

    Args:
        document: The text to corrupt.
        pool: Where the new sentences come from.
        count: How many corrupted documents to make; positions are drawn without repeats, then start again.
        seed: Determines everything together with the document's id.

    Raises:
        CorpusError: The pool has no sentence that differs from the one to replace.
    """
    if not document.sentences or not pool:
        return ()
    own = set(document.sentences)
    positions = hash_order(len(document), seed, document.id, "position")
    made = []
    for number in range(count):
        position = positions[number % len(positions)]
        sentence = _draw(document.sentences[position], own, pool, (seed, document.id, number))
        made.append(Replacement(_replace_at(document, position, sentence), position, sentence))
    return tuple(made)


def _draw(current: str, own: set[str], pool: Sequence[str], seed: tuple[object, ...]) -> str:
    """A sentence from the pool, foreign to the document where the pool has one."""
    start = int.from_bytes(hash_key(*seed, "draw")[:8], "big") % len(pool)
    same_document = all(sentence in own for sentence in pool[:1000])
    for step in range(len(pool)):
        candidate = pool[(start + step) % len(pool)]
        if candidate != current and (same_document or candidate not in own):
            return candidate
    raise CorpusError(
        "no sentence to replace with: every sentence of the pool is already there",
        seen=f"a pool of {len(pool)}",
        allowed="a pool with at least one other sentence",
        next_step="give a larger pool",
    )


def _replace_at(document: Document, position: int, sentence: str) -> Document:
    sentences = (*document.sentences[:position], sentence, *document.sentences[position + 1 :])
    return Document(document.id, sentences, document.title, document.paragraph_starts)


def fingerprint_orders(documents: Iterable[PermutedDocument]) -> str:
    """A hash of all negatives, recorded with every result: two results are comparable if it is the same."""
    digest = hashlib.sha256()
    for item in documents:
        digest.update(json.dumps([item.document.id, item.orders]).encode("utf-8"))
    return digest.hexdigest()
