"""A small real sentence model: a smoothed word-bigram model of the target that also sees the context's words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from weft.document import Window

END = "</s>"


class CacheBigram:
    """Mixes a bigram model with a cache of the context's words; log-probabilities are exact and sum over words."""

    def __init__(self, corpus: Sequence[str], cache: float = 0.3) -> None:
        sentences = [[*sentence.split(), END] for sentence in corpus]
        self.vocabulary = sorted({word for sentence in sentences for word in sentence})
        self.pairs = Counter(pair for sentence in sentences for pair in pairwise(["<s>", *sentence]))
        self.left = Counter(word for sentence in sentences for word in ["<s>", *sentence[:-1]])
        self.cache = cache

    def _probability(self, before: str, word: str, context: Counter[str]) -> float:
        bigram = (self.pairs[before, word] + 0.1) / (self.left[before] + 0.1 * (len(self.vocabulary) + 1))
        if not context:
            return bigram
        return (1 - self.cache) * bigram + self.cache * context[word] / context.total()

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        sums = []
        for window in windows:
            context = Counter(word for sentence in window.context for word in [*sentence.split(), END])
            words = ["<s>", *window.target.split(), END]
            sums.append(sum(math.log(self._probability(a, b, context)) for a, b in pairwise(words)))
        return sums

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        return [len(sentence.split()) + 1 for sentence in sentences]
