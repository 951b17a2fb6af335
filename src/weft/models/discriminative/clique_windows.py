"""Cliques as row numbers: windows over texts padded at both ends, and damaged windows.

The rows are those of a table of sentence vectors whose first two rows stand for the ends of a text, so that a sentence
is read once for all its cliques.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

EDGES = 2  # rows of the table before the sentences: 0 stands before a text, 1 after it


def clique_windows(places: Tensor, window: int) -> Tensor:
    """Return the clique around each sentence, as rows of the table: [texts, longest, 2 · window + 1].

    Args:
        places: Numbers of sentences in reading order, −1 after the end of a text: [texts, longest].
        window: Number of sentences on either side of the centre.

    Example:
        >>> clique_windows(torch.tensor([[0, 1, -1]]), 1).tolist()
        [[[0, 2, 3], [2, 3, 1], [3, 1, 1]]]
    """
    rows = places + EDGES  # −1, after the end, becomes row 1
    rows = functional.pad(rows, (window, 0), value=0)
    return functional.pad(rows, (0, window), value=1).unfold(1, 2 * window + 1, 1)


def shuffled(places: Tensor, generator: torch.Generator) -> Tensor:
    """Return the sentences of each text in a random order: [texts, longest]."""
    noise = torch.rand(places.shape, generator=generator).masked_fill(places < 0, 2.0)  # padding stays last
    return places.gather(1, noise.argsort(dim=1))


def damaged_windows(places: Tensor, window: int, negatives: str, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return one damaged clique for each sentence, and a mask of those that differ from the original.

    Args:
        places: Numbers of sentences, on the CPU: [texts, longest].
        window: Number of sentences on either side of the centre.
        negatives: ``permutation``: cliques of the text in a random order; ``document``: the centre is replaced by
            another sentence of the text; ``corpus``: by a sentence of another text of the batch.
        generator: The random numbers.

    Returns:
        Rows of the table, [texts, longest, 2 · window + 1], and a mask, [texts, longest], False for padding and for
        cliques that equal the original.
    """
    real, whole = places >= 0, clique_windows(places, window)
    if negatives == "permutation":
        order = shuffled(places, generator)
        found = clique_windows(order, window)
        own = _of_centres(whole, places, order)  # [texts, longest, 2 · window + 1] original clique of the same centre
        return found, real & (found != own).any(dim=2)
    centres = _centres(places, negatives, generator)  # [texts, longest]
    found = whole.clone()
    found[:, :, window] = centres + EDGES
    return found, real & (centres != places)


def _of_centres(windows: Tensor, places: Tensor, order: Tensor) -> Tensor:
    """Return the rows of ``windows`` in another order of the same sentences."""
    first = places[:, :1]  # sentences of a text are numbered one after the other
    back = (order - first).clamp(min=0)  # [texts, longest] position of each in its text
    return windows.gather(1, back[:, :, None].expand_as(windows))


def _centres(places: Tensor, negatives: str, generator: torch.Generator) -> Tensor:
    """Return a random other sentence for each centre: [texts, longest]."""
    if negatives == "document":
        sizes = (places >= 0).sum(dim=1, keepdim=True)  # [texts, 1]
        steps = (torch.rand(places.shape, generator=generator) * (sizes - 1)).long() + 1  # never itself
        within = (torch.arange(places.shape[1]) + steps) % sizes
        return places.gather(1, within)
    total = int(places.max()) + 1
    drawn = torch.randint(total, places.shape, generator=generator)
    first, sizes = places[:, :1], (places >= 0).sum(dim=1, keepdim=True)
    inside = (drawn >= first) & (drawn < first + sizes)
    return torch.where(inside, places, drawn)  # a sentence of the same text is not a negative from the corpus
