"""How alike two sentences are: in the sums of their word vectors, and in the words themselves.

A classifier of a hundred texts does not find out by itself that neighbours speak of the same things; two cosines tell
it so (docs/log.md has what they are worth). References: Foltz et al. 1998; Arora et al. 2017 (rare words count more).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

SIGNATURE = 256  # numbers that stand for a bag of words: a cosine of two is right to about 1/16
SCALE = 4.0  # cosines of neighbours differ by some tenths; other inputs of the hidden layer by some units
MEASURES = 2  # of a pair: word vectors, words


def content_size(dimensions: int) -> int:
    """How many numbers `contents` makes of a sentence.

    Example:
        >>> content_size(100)
        356
    """
    return dimensions + SIGNATURE


class Contents:
    """Sums of word vectors and bags of words, made of token ids alone: nothing in it is learned or saved.

    A word counts by the logarithm of its rank: ids are in order of frequency, and frequency falls as one over the rank.
    A bag of words is a sum of random signs, one vector a word, the same in every process.
    """

    def __init__(self) -> None:
        self._tables: tuple[Tensor, Tensor] | None = None

    def __call__(self, tokens: Tensor, starts: Tensor, vectors: Tensor) -> Tensor:
        """Sentences as cosines compare them: [sentences, dimensions + SIGNATURE], both parts of length 1.

        Args:
            tokens: [tokens] ids of all sentences, one after the other.
            starts: [sentences] where each begins.
            vectors: [vocabulary, dimensions] of the words.
        """
        rarity, signs = self._known(vectors)
        with torch.no_grad():
            weights = rarity[tokens]
            sums = [
                functional.embedding_bag(tokens, table, starts, mode="sum", per_sample_weights=weights)
                for table in (vectors.detach().float(), signs)
            ]
            return torch.cat([functional.normalize(part, dim=1) for part in sums], dim=1)

    def _known(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        if self._tables is None or self._tables[0].device != vectors.device:
            count = len(vectors)
            rarity = torch.arange(count).float().log1p() / math.log1p(count)
            signs = torch.randint(2, (count, SIGNATURE), generator=torch.Generator().manual_seed(1)).float() * 2 - 1
            self._tables = (rarity.to(vectors.device), signs.to(vectors.device))
        return self._tables


def cosines(left: Tensor, right: Tensor) -> Tensor:
    """Both measures of pairs of contents, [..., size] each: [..., MEASURES], scaled."""
    product = left * right
    cut = product.shape[-1] - SIGNATURE
    return torch.stack([product[..., :cut].sum(dim=-1), product[..., cut:].sum(dim=-1)], dim=-1) * SCALE
