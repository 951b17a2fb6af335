"""The trees of the recursive model: where they come from, and training batches of texts with their trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from weft.corpora.data_folder import find_data
from weft.corpora.store.pair_batches import Whole
from weft.corpora.store.paragraph_batches import ParagraphStream
from weft.corpora.syntax.binary_trees import BinaryTree, binarised, binarised_phrases
from weft.corpora.syntax.sentence_parser import LazyParser
from weft.corpora.syntax.trees import TreeBank
from weft.errors import ConfigError
from weft.models.discriminative.tree_network import TokenTree
from weft.progress import Progress, silent


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


class TreeSource(Protocol):
    """A source of the trees of sentences."""

    def trees(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[BinaryTree]:
        """Return one tree per sentence."""


class ParsedTrees:
    """Trees from a file of Penn trees if a sentence is in it, and from a dependency parser otherwise.

    Args:
        parser: The argument of `weft.corpora.syntax.parser.find_parser`.
        penn: A file or archive of bracketed trees, one per line; sentences are matched by their letters and digits.
    """

    def __init__(self, parser: str = "", penn: str = "") -> None:
        self.parser, self.penn = LazyParser(parser), penn

    def trees(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[BinaryTree]:
        """Return one tree per sentence; the parser is loaded only if a sentence has no Penn tree."""
        found = {sentence: self._penn_tree(sentence) for sentence in dict.fromkeys(sentences)}
        missing = [sentence for sentence, tree in found.items() if tree is None]
        if missing:
            parses = self.parser.parse(missing, progress=progress)
            found |= {sentence: binarised(parse) for sentence, parse in zip(missing, parses, strict=True)}
        return [tree for tree in (found[sentence] for sentence in sentences) if tree is not None]

    @cached_property
    def _bank(self) -> TreeBank | None:
        return TreeBank.read(find_data(self.penn)) if self.penn else None

    def _penn_tree(self, sentence: str) -> BinaryTree | None:
        found = self._bank.find(sentence) if self._bank is not None else None
        return None if found is None else binarised_phrases(found)
