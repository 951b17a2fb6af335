"""Seeded permutations of the sentences of a document.

A permutation is a pure function of (seed, document id, number), so it is the same for every model and machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from weft.document import Document
from weft.io.seeded_hash import hash_order


def permutations(document: Document, *, count: int = 20, seed: int = 1) -> tuple[tuple[int, ...], ...]:
    """Return up to ``count`` distinct orders of a document, none of which gives the original text.

    Sentences with the same text are interchangeable: an order that only exchanges equal sentences is omitted. A short
    text has fewer than ``count`` orders, and a text whose sentences are all equal has none.

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
    """Return the number of distinct texts: n! divided by the factorials of the repeats."""
    total = math.factorial(len(sentences))
    for sentence in set(sentences):
        total //= math.factorial(sentences.count(sentence))
    return total


def inner_permutations(document: Document, *, count: int = 20, seed: int = 1) -> tuple[tuple[int, ...], ...]:
    """Return up to ``count`` distinct orders that keep the first and the last sentence in place.

    MMI and bi give the same result on these orders: they differ only in the language-model scores of the two ends.

    Example:
        >>> inner_permutations(Document("d", ("a", "b", "c", "d")))
        ((0, 2, 1, 3),)
    """
    if len(document) < 4:  # fewer than two sentences between the ends
        return ()
    inner = replace(document, sentences=document.sentences[1:-1], paragraph_starts=(0,))
    last = len(document) - 1
    return tuple((0, *(place + 1 for place in order), last) for order in permutations(inner, count=count, seed=seed))
