"""The base of sentence models that read token ids: counts of tokens, and windows in groups of limited size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from weft.document import Window
from weft.models.common.token_cache import TokenCache, nearest


class FirstOrderModel:
    """Satisfies `weft.protocols.SentenceModel`, given the log-probabilities of a group of windows."""

    windows_at_once: ClassVar[int]  # limits the memory of encoded contexts
    positions_at_once: ClassVar[int] = 2**20  # tokens of the windows of a group: the limit where sentences are long
    ids: TokenCache

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included."""
        return self.ids.counts(sentences)

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return the log-probability of each target given its context, summed over tokens, ``</s>`` included."""
        values: list[float] = []
        for group in self._groups(windows):
            values += self.group_log_prob(group)
        return values

    def _groups(self, windows: Sequence[Window]) -> Iterator[Sequence[Window]]:
        """Yield the windows in groups of limited size; a window too large for any is a group of its own."""
        start = used = 0
        for number, size in enumerate(self._sizes(windows)):
            if number > start and (number - start == self.windows_at_once or used + size > self.positions_at_once):
                yield windows[start:number]
                start, used = number, 0
            used += size
        if windows:
            yield windows[start:]

    def _sizes(self, windows: Sequence[Window]) -> Iterator[int]:
        """Yield the tokens that each window adds to a group: a context that follows itself is encoded once."""
        targets = self.token_counts([window.target for window in windows])
        contexts = [nearest(window) or "" for window in windows]
        lengths = self.token_counts(contexts)
        for number, target in enumerate(targets):
            yield target + (0 if number and contexts[number] == contexts[number - 1] else lengths[number])

    def group_log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return the log-probabilities of a group of windows."""
        raise NotImplementedError
