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
class Replacement:
    """One sentence of a document exchanged for another; `replace_sentence` makes the text."""

    position: int
    sentence: str


@dataclass(frozen=True, slots=True)
class PermutedDocument:
    """A document and its negatives: orders of its sentences, and sentences put in the place of its own.

    An order may leave sentences out; it is then compared with the document restricted to the same sentences.
    """

    document: Document
    orders: tuple[tuple[int, ...], ...]
    replacements: tuple[Replacement, ...] = ()


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


def fingerprint_orders(documents: Iterable[PermutedDocument]) -> str:
    """A hash of all negatives and their documents' ids, recorded with every result.

    Two results are comparable if it is the same.
    """
    digest = hashlib.sha256()
    for item in documents:
        # Documents without replacements hash as they did before there were any: old results stay comparable.
        exchanged = [[[one.position, one.sentence] for one in item.replacements]] if item.replacements else []
        digest.update(json.dumps([item.document.id, item.orders, *exchanged]).encode("utf-8"))
    return digest.hexdigest()
