"""A network in numpy and its tokenizer as a model of the next sentence: text in, log-probabilities out, no torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.document import Window
from weft.models.common.token_cache import TokenCache, nearest
from weft.models.seq2seq.numpy_layers import Reals
from weft.models.seq2seq.numpy_network import PlainNetwork, Source

WINDOWS_AT_ONCE = 512  # bounds what is remembered of sources at a time: about 60 MiB
KNOWN_POSITIONS = 8192  # tokens of the sentences that stay remembered: about 30 MiB


class PlainPredictor:
    """p(target | context) by a `PlainNetwork`; satisfies `weft.models.SentenceModel`.

    The context is the nearest sentence: the last of the window's. Every distinct context is encoded once, however many
    targets it is paired with, and those of the last call stay known: all that is asked of a text reads the same ones.

    Args:
        network: The network.
        ids: Sentences tokenised, shared with other predictors of the same tokenizer.
    """

    def __init__(self, network: PlainNetwork, ids: TokenCache) -> None:
        self.network, self.ids = network, ids
        self._known: dict[str, Source] = {}

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Tokens of each sentence, ``</s>`` included."""
        return [len(ids) + 1 for ids in self.ids(sentences)]

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Natural log-probability of every target given its context, summed over tokens, ``</s>`` included."""
        values: list[float] = []
        for start in range(0, len(windows), WINDOWS_AT_ONCE):
            values += self._log_prob(windows[start : start + WINDOWS_AT_ONCE])
        return values

    def _log_prob(self, windows: Sequence[Window]) -> list[float]:
        read = [nearest(window) if self.network.encoder else None for window in windows]
        contexts = list(dict.fromkeys(context for context in read if context is not None))
        number_of: dict[str | None, int] = {context: number for number, context in enumerate(contexts)}
        chosen = [number_of.get(context, -1) for context in read]
        return self.network.log_prob(self.sources(contexts), chosen, self.ids([window.target for window in windows]))

    def sources(self, sentences: Sequence[str]) -> list[Source]:
        """What the encoder remembers of each sentence."""
        distinct = tuple(sorted(set(sentences)))
        found = self._known
        # All sentences or none: were only the new ones read, the last places of a score would tell what came before.
        if distinct != tuple(found):
            found = dict(zip(distinct, self.network.encode(self.ids.to_read(distinct)), strict=True))
            positions = sum(max(1, source.keys.shape[1]) for source in found.values())
            self._known = found if positions <= KNOWN_POSITIONS else {}
        return [found[sentence] for sentence in sentences]

    def starts(self, sentences: Sequence[str]) -> Reals:
        """What the encoder hands to its decoder: [sentences, 2 · hidden]."""
        return np.stack([source.start.ravel() for source in self.sources(sentences)])
