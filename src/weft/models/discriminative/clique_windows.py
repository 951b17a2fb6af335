"""Cliques as numbers of sentences: windows over texts padded at both ends, and damaged windows beside them.

All is index arithmetic over a table of sentence vectors whose first two rows are the edges of a text, so that a
sentence is read once however many cliques it is in.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

EDGES = 2  # rows of the table before the sentences: 0 stands before a text, 1 after it


def clique_windows(places: Tensor, window: int) -> Tensor:
    """The clique around every sentence, as rows of the table: [texts, longest, 2 · window + 1].

    Args:
        places: [texts, longest] numbers of sentences in reading order; −1 after the end of a text.
        window: Sentences on either side of the centre.

    Example:
        >>> clique_windows(torch.tensor([[0, 1, -1]]), 1).tolist()
        [[[0, 2, 3], [2, 3, 1], [3, 1, 1]]]
    """
    rows = places + EDGES  # what stands after the end, −1, becomes row 1
    rows = functional.pad(rows, (window, 0), value=0)
    return functional.pad(rows, (0, window), value=1).unfold(1, 2 * window + 1, 1)


def shuffled(places: Tensor, generator: torch.Generator) -> Tensor:
    """The sentences of every text in a random order: [texts, longest]."""
    noise = torch.rand(places.shape, generator=generator).masked_fill(places < 0, 2.0)  # what is no sentence stays last
    return places.gather(1, noise.argsort(dim=1))


def damaged_windows(places: Tensor, window: int, negatives: str, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """One damaged clique for every sentence, and which of them are damaged indeed.

    Args:
        places: [texts, longest], on the CPU, as random numbers are.
        window: Sentences on either side of the centre.
        negatives: ``permutation``: the cliques of the text in a random order; ``document``: the clique as it is, its
            centre replaced by another sentence of the text; ``corpus``: by a sentence of another text of the batch.
        generator: Of the random numbers.

    Returns:
        Rows of the table [texts, longest, 2 · window + 1], and [texts, longest] False for what is no sentence or has
        come out as it was.
    """
    real, whole = places >= 0, clique_windows(places, window)
    if negatives == "permutation":
        order = shuffled(places, generator)
        found = clique_windows(order, window)
        own = _of_centres(whole, places, order)  # [texts, longest, 2 · window + 1] the true clique of the same centre
        return found, real & (found != own).any(dim=2)
    centres = _centres(places, negatives, generator)  # [texts, longest]
    found = whole.clone()
    found[:, :, window] = centres + EDGES
    return found, real & (centres != places)


def _of_centres(windows: Tensor, places: Tensor, order: Tensor) -> Tensor:
    """The rows of ``windows`` in another order of the same sentences."""
    first = places[:, :1]  # sentences of a text are numbered one after the other
    back = (order - first).clamp(min=0)  # [texts, longest] where each stands in its text
    return windows.gather(1, back[:, :, None].expand_as(windows))


def _centres(places: Tensor, negatives: str, generator: torch.Generator) -> Tensor:
    """Another sentence for every centre, at random: [texts, longest]."""
    if negatives == "document":
        sizes = (places >= 0).sum(dim=1, keepdim=True)  # [texts, 1]
        steps = (torch.rand(places.shape, generator=generator) * (sizes - 1)).long() + 1  # never itself
        within = (torch.arange(places.shape[1]) + steps) % sizes
        return places.gather(1, within)
    total = int(places.max()) + 1
    drawn = torch.randint(total, places.shape, generator=generator)
    first, sizes = places[:, :1], (places >= 0).sum(dim=1, keepdim=True)
    inside = (drawn >= first) & (drawn < first + sizes)
    return torch.where(inside, places, drawn)  # one of the same text is no negative from the corpus
