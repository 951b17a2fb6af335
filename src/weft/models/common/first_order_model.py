"""The base of sentence models that read token ids: counts of tokens, and windows in groups of limited size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from weft.document import Window
from weft.models.common.token_cache import TokenCache


class FirstOrderModel:
    """Satisfies `weft.protocols.SentenceModel`, given the log-probabilities of a group of windows."""

    windows_at_once: ClassVar[int]  # limits the memory of encoded contexts
    ids: TokenCache

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included."""
        return self.ids.counts(sentences)

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return the log-probability of each target given its context, summed over tokens, ``</s>`` included."""
        values: list[float] = []
        for start in range(0, len(windows), self.windows_at_once):
            values += self.group_log_prob(windows[start : start + self.windows_at_once])
        return values

    def group_log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return the log-probabilities of a group of windows."""
        raise NotImplementedError
