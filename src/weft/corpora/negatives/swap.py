"""Seeded orders that differ from a document by a few exchanges of two sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.document import Document
from weft.io.seeded_hash import hash_key, hash_order

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
