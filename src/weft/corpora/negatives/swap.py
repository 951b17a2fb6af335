"""Seeded orders that differ from a document by a few exchanges of two sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.document import Document
from weft.io.seeded_hash import hash_key, hash_order

NEIGHBOURS, SWAPS = "neighbours", (1, 2, 4, 8)  # one exchange of neighbours; numbers of exchanges of any two sentences


def swaps_name(order: Sequence[int]) -> str:
    """Return the kind of an order: ``neighbours``, or ``swaps_n`` if n exchanges of two sentences undo it.

    Example:
        >>> swaps_name([0, 2, 1]), swaps_name([2, 1, 0]), swaps_name([1, 2, 0])
        ('neighbours', 'swaps_1', 'swaps_2')
    """
    moved = [place for place, was in enumerate(order) if place != was]
    if len(moved) == 2 and moved[1] - moved[0] == 1:
        return NEIGHBOURS
    return f"swaps_{len(order) - _cycles(order)}"


def _cycles(order: Sequence[int]) -> int:
    """Return the number of cycles of a permutation; it takes length − cycles exchanges to undo it."""
    seen: set[int] = set()
    count = 0
    for start in range(len(order)):
        count += start not in seen
        while start not in seen:
            seen.add(start)
            start = order[start]
    return count


def swapped_orders(document: Document, *, count: int = 20, seed: int = 1) -> tuple[tuple[int, ...], ...]:
    """Return orders that differ from the original by a few exchanges, with equal shares of all kinds.

    The kinds are `NEIGHBOURS` and each number of `SWAPS`.

    An order with n swaps takes exactly n exchanges to undo; ``swaps_1`` does not contain exchanges of neighbours, which
    are a kind of their own. Orders that give the original text or a text that is already included are omitted. A text
    that is too short for a number of swaps has no order of that kind.

    Example:
        >>> [swaps_name(order) for order in swapped_orders(Document("d", tuple("abcdef")), count=5)]
        ['neighbours', 'swaps_1', 'swaps_2', 'swaps_4']
    """
    seen = {document.sentences}
    orders = []
    for swaps in (0, *SWAPS):
        if len(document) <= max(swaps, 1):
            continue  # n swaps need at least n + 1 sentences
        found = 0
        # A short text has few orders of a kind, so the number of draws is limited.
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
    """Return an order with a number of swaps, each of which joins two cycles; 0 means one exchange of neighbours."""
    order = list(range(length))
    if not swaps and length > 1:
        place = hash_order(length - 1, *seed)[0]
        order[place], order[place + 1] = order[place + 1], order[place]
    cycle = list(range(length))  # the cycle of each position
    for one, other in _pairs_of_positions(length, seed):
        if length - len(set(cycle)) == swaps:
            break
        if cycle[one] != cycle[other]:
            order[one], order[other] = order[other], order[one]
            cycle = [cycle[one] if name == cycle[other] else name for name in cycle]
    return tuple(order)


def _pairs_of_positions(length: int, seed: tuple[object, ...]) -> Iterator[tuple[int, int]]:
    """Yield pairs of positions drawn by hash; a thousand are far more than needed."""
    for number in range(1000 if length else 0):
        key = hash_key(*seed, "pair", number)
        yield int.from_bytes(key[:8], "big") % length, int.from_bytes(key[8:], "big") % length
