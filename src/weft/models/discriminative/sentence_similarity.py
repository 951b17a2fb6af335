"""Similarity of sentences as two cosines: of sums of word vectors, and of bags of words.

A classifier trained on a hundred texts does not learn by itself that adjacent sentences share words; these two numbers
provide that information (docs/log.md has the gain). References: Foltz et al. 1998; Arora et al. 2017 (weights of rare
words).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

BAG = 2048  # size of a bag of words; a larger vocabulary is hashed into it, with random signs
SCALE = 4.0  # cosines differ by some tenths, other inputs of the hidden layer by some units
MEASURES = 2  # similarities of a pair: by word vectors and by words


def content_size(dimensions: int, vocabulary: int) -> int:
    """Return the size of the vector that `ContentEncoder` makes of a sentence.

    Example:
        >>> content_size(100, 1500), content_size(100, 16384)
        (1600, 2148)
    """
    return dimensions + min(BAG, vocabulary)


class ContentEncoder:
    """Computes sums of word vectors and bags of words from token ids; nothing is learned or saved.

    The weight of a word is the logarithm of its rank: ids are sorted by frequency, which falls as one over the rank.

    Args:
        vocabulary: Number of token types.
    """

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary, self.size = vocabulary, min(BAG, vocabulary)
        self._tables: tuple[Tensor, Tensor] | None = None

    def __call__(
        self, tokens: Tensor, owners: Tensor, counted: Tensor | None, sentences: int, vectors: Tensor
    ) -> Tensor:
        """Return content vectors, both parts of length 1: [sentences, dimensions + bag].

        Args:
            tokens: Token ids of all sentences: [tokens].
            owners: The sentence of each token: [tokens].
            counted: False for padding: [tokens]; None if there is no padding.
            sentences: Number of sentences.
            vectors: Word vectors: [vocabulary, dimensions].
        """
        rarity, signs = self._token_tables(tokens.device)
        with torch.no_grad():
            weights = rarity[tokens] if counted is None else rarity[tokens] * counted  # [tokens]
            sums = vectors.new_zeros(sentences, vectors.shape[1], dtype=torch.float32)
            sums.index_add_(0, owners, vectors.detach().float()[tokens] * weights[:, None])
            bags = sums.new_zeros(sentences * self.size)
            bags.scatter_add_(0, owners * self.size + tokens % self.size, weights * signs[tokens])
            parts = (sums, bags.view(sentences, self.size))
            return torch.cat([functional.normalize(part, dim=1) for part in parts], dim=1)

    def _token_tables(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return the weight and the sign of each token: [vocabulary] each."""
        if self._tables is None or self._tables[0].device != device:
            count = self.vocabulary
            rarity = torch.arange(count).float().log1p() / math.log1p(count)
            signs = torch.randint(2, (count,), generator=torch.Generator().manual_seed(1)).float() * 2 - 1
            self._tables = (rarity.to(device), signs.to(device))
        return self._tables


def similarities(left: Tensor, right: Tensor, dimensions: int) -> Tensor:
    """Return both scaled similarities of pairs of content vectors, [..., size] each: [..., MEASURES]."""
    product = left * right
    return torch.stack([part.sum(dim=-1) for part in product.tensor_split([dimensions], dim=-1)], dim=-1) * SCALE


def all_similarities(contents: Tensor, dimensions: int) -> tuple[Tensor, ...]:
    """Return both scaled similarities of all pairs of content vectors, [rows, size]: [rows, rows] each."""
    return tuple(part @ part.T * SCALE for part in contents.tensor_split([dimensions], dim=-1))
