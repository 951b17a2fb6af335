"""Log-probabilities of pairs of sentences that were computed before: after an edit, only what changed is computed."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

LIMIT = 2**15  # pairs, and sentences: 10 MiB; more than three tables of 100 sentences
DIGEST = 16  # bytes of the hash of a sentence

Item = TypeVar("Item")
Pair = tuple[str, str]
Table = npt.NDArray[np.float64]
Known = dict[bytes, tuple[float, float]]


class PairMemory:
    """A cache of two numbers for each pair of sentences, and for each sentence; the oldest are dropped first.

    Sentences are known by a hash with a secret key of this object, so it keeps no text. A number may differ in its last
    digits from one that is computed anew, because rounding depends on what is computed in the same batch.

    Args:
        limit: Number of pairs, and of sentences, that are kept.

    Example:
        >>> memory, computed = PairMemory(), []
        >>> def lengths(pairs):
        ...     computed.extend(pairs)
        ...     return np.array([[len(left), len(right)] for left, right in pairs], float).T
        >>> memory.pairs([("a", "bc"), ("bc", "d")], lengths).tolist()
        [[1.0, 2.0], [2.0, 1.0]]
        >>> _ = memory.pairs([("a", "bc"), ("bc", "new")], lengths)
        >>> computed
        [('a', 'bc'), ('bc', 'd'), ('bc', 'new')]
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._secret = secrets.token_bytes(DIGEST)
        self._pairs: Known = {}
        self._sentences: Known = {}

    def pairs(self, pairs: Sequence[Pair], compute: Callable[[Sequence[Pair]], Table]) -> Table:
        """Return two numbers for each pair: [2, pairs]; ``compute`` is called with the new pairs, if there are any."""
        return self._recall(self._pairs, self._keys(pairs), pairs, compute)

    def sentences(self, sentences: Sequence[str], compute: Callable[[Sequence[str]], Table]) -> Table:
        """Return two numbers for each sentence: [2, sentences]."""
        return self._recall(self._sentences, list(map(self._digest, sentences)), sentences, compute)

    def new_pairs(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs that are not known."""
        return [pair for pair, key in zip(pairs, self._keys(pairs), strict=True) if key not in self._pairs]

    def _keys(self, pairs: Iterable[Pair]) -> list[bytes]:
        digests: dict[str, bytes] = {}
        for pair in pairs:
            for sentence in pair:
                if sentence not in digests:
                    digests[sentence] = self._digest(sentence)
        return [digests[left] + digests[right] for left, right in pairs]

    def _digest(self, sentence: str) -> bytes:
        return hashlib.blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=DIGEST, key=self._secret).digest()

    def _recall(
        self, known: Known, keys: Sequence[bytes], items: Sequence[Item], compute: Callable[[Sequence[Item]], Table]
    ) -> Table:
        found = {key: known[key] for key in keys if key in known}
        new = {key: item for key, item in zip(keys, items, strict=True) if key not in found}
        if new:
            first, second = compute(list(new.values())).tolist()
            added = dict(zip(new, zip(first, second, strict=True), strict=True))
            found |= added
            known |= added
            while len(known) > self.limit:
                known.pop(next(iter(known)))
        return np.array([found[key] for key in keys], float).reshape(len(keys), 2).T  # [2, items]
