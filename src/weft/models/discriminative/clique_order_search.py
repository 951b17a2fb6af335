"""Orders that grow to the right under the clique model: each clique is judged once it is complete."""

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
AT_ONCE = 2**14  # cliques: a search begins with every sentence before every other, a million pairs of a thousand


class CliqueOrderSearch:
    """What each next sentence gains in partial orders; satisfies `weft.models.OrderSearch`.

    The clique around a sentence is complete when ``window`` more are placed; the last sentence of a text also
    completes those that reach over its end. The sum of all gains is the sum of all cliques.

    Args:
        head: What judges cliques.
        rows: The sentences as cliques are made of.
    """

    def __init__(self, head: CliqueHead, rows: CliqueRows) -> None:
        self.head, self.rows, self.window = head, rows, head.window
        self.count = len(rows) - EDGES

    def begin(self, firsts: Sequence[int]) -> Values:
        """Start with these sentences; nothing is complete yet, unless the text is one sentence."""
        first = torch.tensor(firsts, dtype=torch.int64)[:, None] + EDGES  # [paths, 1]
        before = torch.full((len(first), 2 * self.window - 1), START)
        self.last = torch.cat([before, first], dim=1)  # [paths, 2 · window] what stands at the end of each
        self.placed = 1
        return np.zeros(len(firsts))

    def gains(self) -> Values:
        """[paths, sentences]."""
        paths = len(self.last)
        nexts = torch.arange(self.count) + EDGES
        cliques = torch.cat(
            [
                self.last[:, None, :].expand(paths, self.count, -1),
                nexts[None, :, None].expand(paths, self.count, 1),
            ],
            dim=2,
        )  # [paths, sentences, 2 · window + 1]
        total = self._odds(cliques) if self.placed >= self.window else torch.zeros(paths, self.count).double()
        if self.placed == self.count - 1:
            total = total + self._tail(cliques)
        return total.numpy()

    def _tail(self, cliques: Tensor) -> Tensor:
        """Log-odds of the cliques that reach over the end: [paths, sentences]."""
        total = torch.zeros(cliques.shape[:2]).double()
        for beyond in range(1, self.window + 1):
            if self.placed + beyond >= self.window:  # the centre is a sentence, not what stands before the text
                after = torch.full((*cliques.shape[:2], beyond), END)
                total = total + self._odds(torch.cat([cliques[:, :, beyond:], after], dim=2))
        return total

    @torch.inference_mode()
    def _odds(self, cliques: Tensor) -> Tensor:
        flat = cliques.flatten(0, 1)  # [paths · sentences, places]
        device = self.rows.moved.device
        parts = [
            self.head(self.rows, flat[start : start + AT_ONCE].to(device)).double().cpu()
            for start in range(0, len(flat), AT_ONCE)
        ]
        return torch.cat(parts).view(cliques.shape[:2])

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Go on with some paths, each grown by a sentence."""
        grown = torch.tensor(columns, dtype=torch.int64)[:, None] + EDGES
        self.last = torch.cat([self.last[list(rows), 1:], grown], dim=1)
        self.placed += 1
