"""A numpy network and its tokenizer as a sentence model, which computes log-probabilities without torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.document import Window
from weft.models.common.token_cache import TokenCache, nearest
from weft.models.seq2seq.numpy_layers import Reals
from weft.models.seq2seq.numpy_network import NumpyNetwork, Source

WINDOWS_AT_ONCE = 512  # limits the memory of encoded sources to about 60 MiB
CACHED_POSITIONS = 8192  # tokens of cached sentences: about 30 MiB


class NumpyPredictor:
    """Computes p(target | context) by a `NumpyNetwork`; satisfies `weft.protocols.SentenceModel`.

    The context is the last sentence of the window. Each distinct context is encoded once for all its targets. The
    contexts of the last call are cached, because all calls for a text read the same ones.
    """

    def __init__(self, network: NumpyNetwork, ids: TokenCache) -> None:
        self.network, self.ids = network, ids
        self._cache: dict[str, Source] = {}

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included."""
        return self.ids.counts(sentences)

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return the log-probability of each target given its context, summed over tokens, ``</s>`` included."""
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
        """Return the encoded sentences."""
        distinct = tuple(sorted(set(sentences)))
        found = self._cache
        # Either all sentences are encoded or none: the rounding of a score must not depend on earlier calls.
        if distinct != tuple(found):
            found = dict(zip(distinct, self.network.encode(self.ids.to_read(distinct)), strict=True))
            positions = sum(max(1, source.keys.shape[1]) for source in found.values())
            self._cache = found if positions <= CACHED_POSITIONS else {}
        return [found[sentence] for sentence in sentences]

    def starts(self, sentences: Sequence[str]) -> Reals:
        """Return the start states of the decoder: [sentences, 2 · hidden]."""
        return np.stack([source.start.ravel() for source in self.sources(sentences)])
