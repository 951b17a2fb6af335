"""Training batches of the recursive model: texts with the trees of their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.corpora.store.pair_batches import Whole
from weft.corpora.store.paragraph_batches import ParagraphStream
from weft.errors import ConfigError
from weft.models.discriminative.tree_network import TokenTree


@dataclass(frozen=True, slots=True)
class TreeBatch:
    """Texts and the trees of their sentences."""

    places: Whole  # the sentence at each position; −1 after the end of a text: [texts, longest]
    trees: Sequence[TokenTree]

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, start: int, step: int) -> TreeBatch:
        """Return every ``step``-th text from ``start`` with its sentences: one process's share of a batch."""
        places = self.places[start::step]
        used = places[places >= 0]
        new = np.full(len(self.trees) + 1, -1)  # the last entry stands for −1, no sentence
        new[used] = np.arange(len(used))
        return TreeBatch(new[places], [self.trees[number] for number in used])


class TreeStream:
    """The texts of a token store with the trees of their sentences, by `token_key` of their tokens."""

    def __init__(self, texts: ParagraphStream, trees: Mapping[bytes, TokenTree]) -> None:
        self.texts, self.trees = texts, trees

    def epoch(self, number: int) -> list[Whole]:
        """Return the texts of each batch of an epoch."""
        return self.texts.epoch(number)

    def batch(self, pairs: Whole) -> TreeBatch:
        """Return a batch of texts."""
        places, numbers = self.texts.laid_out(pairs)
        return TreeBatch(places, [self._tree(int(number)) for number in numbers])

    def _tree(self, number: int) -> TokenTree:
        found = self.trees.get(token_key(self.texts.store.sentence(number)))
        if found is None:
            raise ConfigError(
                "the recursive model needs the text of each sentence to parse it; a sentence of the store has none",
                seen=f"sentence {number}",
                allowed="data.train with text files, and no data.store",
                next_step="name the files in data.train",
            )
        return found


def token_key(ids: npt.ArrayLike) -> bytes:
    """Return the tokens of a sentence as a key."""
    return np.asarray(ids, dtype=np.uint32).tobytes()
