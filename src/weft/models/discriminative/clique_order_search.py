"""Beam search for an order with a classifier of cliques: each clique is scored once, when it is complete."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.models.discriminative.clique_windows import EDGES
from weft.models.discriminative.networks import CliqueHead, CliqueRows

Values = npt.NDArray[np.float64]
START, END = 0, 1
AT_ONCE = 2**14  # cliques scored at once; the first step of a search over 1,000 sentences has a million


class CliqueOrderSearch:
    """The state of a beam search with a classifier of cliques; a `weft.protocols.OrderSearch`.

    The clique around a sentence is complete when ``window`` more sentences are placed; the last sentence of a text also
    completes those that cross its end. The sum of all gains is the sum of all cliques.
    """

    def __init__(self, head: CliqueHead, rows: CliqueRows) -> None:
        self.head, self.rows, self.window = head, rows, head.window
        self.count = len(rows) - EDGES

    def begin(self, firsts: Sequence[int]) -> Values:
        """Start one path with each of these sentences; no clique is complete yet, so gains are 0: [paths]."""
        first = torch.tensor(firsts, dtype=torch.int64)[:, None] + EDGES  # [paths, 1]
        before = torch.full((len(first), 2 * self.window - 1), START)
        self.last = torch.cat([before, first], dim=1)  # [paths, 2 · window] the last rows of each path
        self.placed = 1
        return np.zeros(len(firsts))

    def gains(self) -> Values:
        """Return the gain of each sentence if it comes next: [paths, sentences]."""
        paths = len(self.last)
        nexts = torch.arange(self.count) + EDGES
        before = self.last[:, None, :].expand(paths, self.count, -1)
        cliques = torch.cat([before, nexts[None, :, None].expand(paths, self.count, 1)], dim=2)
        # [paths, sentences, 2 · window + 1]
        total = self._odds(cliques) if self.placed >= self.window else torch.zeros(paths, self.count).double()
        if self.placed == self.count - 1:
            total = total + self._tail(cliques)
        return total.numpy()

    def _tail(self, cliques: Tensor) -> Tensor:
        """Return the log-odds of the cliques that cross the end of the text: [paths, sentences]."""
        total = torch.zeros(cliques.shape[:2]).double()
        for beyond in range(1, self.window + 1):
            if self.placed + beyond >= self.window:  # the centre is a sentence, not padding
                after = torch.full((*cliques.shape[:2], beyond), END)
                total = total + self._odds(torch.cat([cliques[:, :, beyond:], after], dim=2))
        return total

    @torch.inference_mode()
    def _odds(self, cliques: Tensor) -> Tensor:
        flat = cliques.flatten(0, 1)  # [paths · sentences, places]
        device = self.rows.projected.device
        parts = [
            self.head(self.rows, flat[start : start + AT_ONCE].to(device)).double().cpu()
            for start in range(0, len(flat), AT_ONCE)
        ]
        return torch.cat(parts).view(cliques.shape[:2])

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        grown = torch.tensor(columns, dtype=torch.int64)[:, None] + EDGES
        self.last = torch.cat([self.last[list(rows), 1:], grown], dim=1)
        self.placed += 1
