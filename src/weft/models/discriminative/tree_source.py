"""Trees of sentences: Penn trees from a file, and a dependency parser for all other sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from weft.corpora.data_folder import find_data
from weft.corpora.syntax.binary_trees import BinaryTree, binarised, binarised_phrases
from weft.corpora.syntax.sentence_parser import LazyParser
from weft.corpora.syntax.trees import TreeBank
from weft.progress import Progress, silent


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
