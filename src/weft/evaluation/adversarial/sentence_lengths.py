"""How long the sentences of both sides are: what gives a system away before a word of it is read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weft.evaluation.adversarial.chunks import CONTEXT
from weft.evaluation.adversarial.opponents import Bout
from weft.evaluation.adversarial.token_rows import Whole


def tokens_a_sentence(bout: Bout) -> tuple[float, float]:
    """Mean tokens of the sentences that continue, in the test part: of people, and of their opponents."""
    human, machine = (bout.rows.lengths[side["test"][:, CONTEXT:]].mean() for side in (bout.human, bout.machine))
    return float(human), float(machine)


def alike_in_length(bout: Bout, *, seed: int) -> Bout:
    """The same with only so many chunks of either side that of every length both have equally many, in every part.

    Weighing the verdicts of evaluators that have learned from unlike lengths would not do: they have learned that
    what is long is human, and are fooled by any system's long continuations.

    Args:
        bout: Human chunks and their opponents.
        seed: Of the choice among chunks of one length.

    Example:
        >>> from weft.evaluation.adversarial.token_rows import IdRows
        >>> rows = IdRows.of([[1], [1] * 9])
        >>> short, long = [0, 0, 0, 0], [0, 0, 0, 1]
        >>> sides = np.array([short, long, long]), np.array([short, short, long])
        >>> bout = Bout(rows, {"test": sides[0]}, {"test": sides[1]}, {"test": (["a", "b", "c"], ["a", "b", "c"])})
        >>> found = alike_in_length(bout, seed=1)
        >>> found.human["test"][:, -1].tolist(), found.machine["test"][:, -1].tolist()
        ([0, 1], [0, 1])
    """
    human, machine, pages = {}, {}, {}
    for part, names in bout.pages.items():
        sides = bout.human[part], bout.machine[part]
        kept = _matched(_lengths(bout, sides[0]), _lengths(bout, sides[1]), seed)
        human[part], machine[part] = (side[chosen] for side, chosen in zip(sides, kept, strict=True))
        chosen_pages = [[own[place] for place in chosen] for own, chosen in zip(names, kept, strict=True)]
        pages[part] = chosen_pages[0], chosen_pages[1]
    return replace(bout, human=human, machine=machine, pages=pages)


def _matched(human: Whole, machine: Whole, seed: int) -> tuple[Whole, Whole]:
    """Of two lists of lengths, places that hold equally many of every length."""
    generator = np.random.default_rng([seed, 3])
    longest = int(max(human.max(initial=0), machine.max(initial=0))) + 1
    room = np.minimum(np.bincount(human, minlength=longest), np.bincount(machine, minlength=longest))  # [lengths]
    found = [_first_of_each(lengths, room, generator.permutation(len(lengths))) for lengths in (human, machine)]
    return found[0], found[1]


def _first_of_each(lengths: Whole, room: Whole, order: Whole) -> Whole:
    """Places of the first so many of every length along an order, sorted."""
    by_length = order[np.argsort(lengths[order], kind="stable")]
    known = lengths[by_length]
    rank = np.arange(len(known)) - np.searchsorted(known, known)  # among those of the same length
    found: Whole = np.sort(by_length[rank < room[known]])
    return found


def _lengths(bout: Bout, chunks: Whole) -> Whole:
    """Tokens of continuations: [chunks]."""
    found: Whole = bout.rows.lengths[chunks[:, CONTEXT:]].sum(axis=1)
    return found
