"""Negatives: permutations and replacements, seeded, the same for every model and on every machine.

A permutation is a pure function of (seed, document id, number): the positions are sorted by a hash, so it
depends on no random-number library and never changes between versions. `weft.corpora.negatives.files` writes them down.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

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


def inner_permutations(document: Document, *, count: int = 20, seed: int = 1) -> tuple[tuple[int, ...], ...]:
    """Up to ``count`` distinct orders in which the first and the last sentence stay where they are.

    On these, MMI and bi agree: their difference is what a language model says of the two ends.

    Example:
        >>> inner_permutations(Document("d", ("a", "b", "c", "d")))
        ((0, 2, 1, 3),)
    """
    if len(document) < 4:  # nothing to exchange between the ends
        return ()
    inner = replace(document, sentences=document.sentences[1:-1], paragraph_starts=(0,))
    last = len(document) - 1
    return tuple((0, *(place + 1 for place in order), last) for order in permutations(inner, count=count, seed=seed))


NEIGHBOURS, SWAPS = "neighbours", (1, 2, 4, 8)  # two neighbours exchanged; any two, so many times


def swaps_name(order: Sequence[int]) -> str:
    """What an order did to a text: ``neighbours``, or how many exchanges of two sentences it takes to undo.

    Example:
        >>> swaps_name([0, 2, 1]), swaps_name([2, 1, 0]), swaps_name([1, 2, 0])
        ('neighbours', 'swaps_1', 'swaps_2')
    """
    moved = [place for place, was in enumerate(order) if place != was]
    if len(moved) == 2 and moved[1] - moved[0] == 1:
        return NEIGHBOURS
    return f"swaps_{len(order) - _cycles(order)}"


def _cycles(order: Sequence[int]) -> int:
    """Rings of places that pass their sentences on: a text needs one exchange for each place beyond one a ring."""
    seen: set[int] = set()
    count = 0
    for start in range(len(order)):
        count += start not in seen
        while start not in seen:
            seen.add(start)
            start = order[start]
    return count


def swapped_orders(document: Document, *, count: int = 20, seed: int = 1) -> tuple[tuple[int, ...], ...]:
    """Orders that differ little from a document's own: `NEIGHBOURS` and every number of `SWAPS` get an equal share.

    An order with n swaps takes n exchanges to undo, not fewer; one swap never exchanges neighbours, which has a name
    of its own. Orders that read like the original, or like one that is already there, are left out, and a text that
    is too short for a number of swaps has none of that number.

    Example:
        >>> [swaps_name(order) for order in swapped_orders(Document("d", tuple("abcdef")), count=5)]
        ['neighbours', 'swaps_1', 'swaps_2', 'swaps_4']
    """
    seen = {document.sentences}
    orders = []
    for swaps in (0, *SWAPS):
        if len(document) <= max(swaps, 1):
            continue  # n exchanges that no fewer undo need n + 1 sentences
        found = 0
        # A short text has few orders of a kind: the draws end, whether or not there were enough.
        for number in range(20 * count):
            if found == count // (len(SWAPS) + 1):
                break
            order = _swapped(len(document), swaps, (seed, document.id, swaps, number))
            text = tuple(document.sentences[i] for i in order)
            if text not in seen and swaps_name(order) == (f"swaps_{swaps}" if swaps else NEIGHBOURS):
                seen.add(text)
                orders.append(order)
                found += 1
    return tuple(orders)


def _swapped(length: int, swaps: int, seed: tuple[object, ...]) -> tuple[int, ...]:
    """An order after so many exchanges, each joining two rings; 0 stands for one exchange of neighbours."""
    order = list(range(length))
    if not swaps and length > 1:
        place = hash_order(length - 1, *seed)[0]
        order[place], order[place + 1] = order[place + 1], order[place]
    ring = list(range(length))  # the ring that each place belongs to
    for one, other in _pairs_of_places(length, seed):
        if length - len(set(ring)) == swaps:
            break
        if ring[one] != ring[other]:
            order[one], order[other] = order[other], order[one]
            ring = [ring[one] if name == ring[other] else name for name in ring]
    return tuple(order)


def _pairs_of_places(length: int, seed: tuple[object, ...]) -> Iterator[tuple[int, int]]:
    """Pairs of places, drawn by hash; a thousand are far more than the few exchanges ever need."""
    for number in range(1000 if length else 0):
        key = hash_key(*seed, "pair", number)
        yield int.from_bytes(key[:8], "big") % length, int.from_bytes(key[8:], "big") % length


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
