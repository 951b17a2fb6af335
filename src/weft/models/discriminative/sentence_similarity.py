"""How alike two sentences are: in the sums of their word vectors, and in the words themselves.

A classifier of a hundred texts does not find out by itself that neighbours speak of the same things; two cosines tell
it so (docs/log.md has what they are worth). References: Foltz et al. 1998; Arora et al. 2017 (rare words count more).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

BAG = 2048  # numbers that a bag of words has: a larger vocabulary is folded into it, with signs that cancel out
SCALE = 4.0  # cosines of neighbours differ by some tenths; other inputs of the hidden layer by some units
MEASURES = 2  # of a pair: word vectors, words


def content_size(dimensions: int, vocabulary: int) -> int:
    """How many numbers `Contents` makes of a sentence.

    Example:
        >>> content_size(100, 1500), content_size(100, 16384)
        (1600, 2148)
    """
    return dimensions + min(BAG, vocabulary)


class Contents:
    """Sums of word vectors and bags of words, made of token ids alone: nothing in it is learned or saved.

    A word counts by the logarithm of its rank: ids are in order of frequency, and frequency falls as one over the rank.

    Args:
        vocabulary: Number of token types.
    """

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary, self.size = vocabulary, min(BAG, vocabulary)
        self._tables: tuple[Tensor, Tensor] | None = None

    def __call__(
        self, tokens: Tensor, owners: Tensor, counted: Tensor | None, sentences: int, vectors: Tensor
    ) -> Tensor:
        """Sentences as cosines compare them: [sentences, dimensions + bag], both parts of length 1.

        Args:
            tokens: [tokens] ids of all sentences.
            owners: [tokens] the sentence each is in.
            counted: [tokens] False for padding, which is not counted; None where there is none.
            sentences: How many there are.
            vectors: [vocabulary, dimensions] of the words.
        """
        rarity, signs = self._known(tokens.device)
        with torch.no_grad():
            weights = rarity[tokens] if counted is None else rarity[tokens] * counted  # [tokens]
            sums = vectors.new_zeros(sentences, vectors.shape[1], dtype=torch.float32)
            sums.index_add_(0, owners, vectors.detach().float()[tokens] * weights[:, None])
            bags = sums.new_zeros(sentences * self.size)
            bags.scatter_add_(0, owners * self.size + tokens % self.size, weights * signs[tokens])
            parts = (sums, bags.view(sentences, self.size))
            return torch.cat([functional.normalize(part, dim=1) for part in parts], dim=1)

    def _known(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """What each token counts, and its sign: [vocabulary] each."""
        if self._tables is None or self._tables[0].device != device:
            count = self.vocabulary
            rarity = torch.arange(count).float().log1p() / math.log1p(count)
            signs = torch.randint(2, (count,), generator=torch.Generator().manual_seed(1)).float() * 2 - 1
            self._tables = (rarity.to(device), signs.to(device))
        return self._tables


def cosines(left: Tensor, right: Tensor, dimensions: int) -> Tensor:
    """Both measures of pairs of contents, [..., size] each: [..., MEASURES], scaled."""
    product = left * right
    return torch.stack([part.sum(dim=-1) for part in product.tensor_split([dimensions], dim=-1)], dim=-1) * SCALE


def all_cosines(contents: Tensor, dimensions: int) -> tuple[Tensor, ...]:
    """Both measures of all pairs of contents, [rows, size]: for each, [rows, rows], scaled."""
    return tuple(part @ part.T * SCALE for part in contents.tensor_split([dimensions], dim=-1))
