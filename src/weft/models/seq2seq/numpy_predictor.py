"""A numpy network and its tokenizer as a sentence model, which computes log-probabilities without torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.document import Window
from weft.models.common.first_order_model import FirstOrderModel
from weft.models.common.token_cache import TokenCache, nearest
from weft.models.seq2seq.numpy_layers import Reals
from weft.models.seq2seq.numpy_network import NumpyNetwork, Source

CACHED_POSITIONS = 8192  # tokens of cached sentences: about 30 MiB


class NumpyPredictor(FirstOrderModel):
    """Computes p(target | context) by a `NumpyNetwork`; satisfies `weft.protocols.SentenceModel`.

    The context is the last sentence of the window. Each distinct context is encoded once for all its targets. The
    contexts of the last call are cached, because all calls for a text read the same ones.
    """

    windows_at_once = 512  # about 60 MiB of encoded contexts
    positions_at_once = 2**15  # half of them contexts: about 80 MiB

    def __init__(self, network: NumpyNetwork, ids: TokenCache) -> None:
        self.network, self.ids = network, ids
        self._cache: dict[str, Source] = {}

    def group_log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return the log-probability of each target given its context; each distinct context is encoded once."""
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
