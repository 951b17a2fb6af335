"""Pretrained word vectors for the vocabulary of a network."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from weft.corpora.data_folder import find_data
from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError
from weft.models.common.word_vectors import EMBEDDED, WordVectors, read_glove

EMBEDDED_NAME = "glove"


def read_vectors(name: str) -> WordVectors:
    """Return the word vectors in a file or folder; ``glove`` is the table of 30,000 words in the package."""
    if name == EMBEDDED_NAME:
        from weft.io.model_folder import load_artifact

        return WordVectors.from_artifact(load_artifact(EMBEDDED), EMBEDDED)
    return read_glove(find_data(name))


def vectors_of_tokens(name: str, tokenizer: Tokenizer, dimensions: int) -> Tensor:
    """Return a vector for each token, scaled to mean square 1: [vocabulary, dimensions].

    A token that is not in the table, such as a part of a word, gets a small random vector.

    Raises:
        ConfigError: The table's vectors have another size.
    """
    table = read_vectors(name)
    if table.stored.shape[1] != dimensions:
        raise ConfigError(
            "the word vectors and the network have different sizes",
            seen=table.stored.shape[1],
            allowed=str(dimensions),
            next_step=f"set model.dimensions={table.stored.shape[1]}",
        )
    words = [tokenizer.decode([number]).strip() for number in range(tokenizer.vocabulary_size)]
    rows = np.array([table.index.get(word, table.index.get(word.lower(), -1)) for word in words])
    found = table.rows(np.maximum(rows, 0))  # [vocabulary, dimensions]
    found /= np.sqrt(np.mean(found[rows >= 0] ** 2)) if (rows >= 0).any() else 1.0
    noise = np.random.default_rng(0).normal(scale=0.1, size=found.shape).astype(np.float32)
    return torch.from_numpy(np.where(rows[:, None] >= 0, found, noise))
