"""Where trees come from: Penn trees of a file where they are given, a dependency parser for all other sentences.

The one seam between the recursive model and parsers: whatever has `trees` will do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from weft.corpora.binary_trees import BinaryTree, binarised, penn_tree
from weft.corpora.files import open_lines
from weft.corpora.locate import find_data
from weft.progress import Progress, silent

if TYPE_CHECKING:
    from weft.corpora.parsing import Parser

_SPELLED = re.compile(r"\w+")


class TreeSource(Protocol):
    """What makes trees of sentences."""

    def trees(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[BinaryTree]:
        """One tree a sentence."""


class ParsedTrees:
    """Trees by a dependency parser, or from a file of Penn trees where a sentence is in it.

    Args:
        parser: The pipeline to use, as `weft.corpora.parsing.find_parser` takes it.
        penn: A file of trees in brackets, one a line; a sentence is found by its letters and digits.
    """

    def __init__(self, parser: str = "", penn: str = "") -> None:
        self.parser, self.penn = parser, penn

    def trees(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[BinaryTree]:
        """One tree a sentence; the parser is only started for sentences that have no Penn tree."""
        known = {sentence: self._given.get(spelled(sentence)) for sentence in dict.fromkeys(sentences)}
        unknown = [sentence for sentence, tree in known.items() if tree is None]
        if unknown:
            parses = self._parser.parse(unknown, progress=progress)
            known |= {sentence: binarised(parse) for sentence, parse in zip(unknown, parses, strict=True)}
        return [tree for tree in (known[sentence] for sentence in sentences) if tree is not None]

    @cached_property
    def _parser(self) -> Parser:
        from weft.corpora.parsing import find_parser  # spaCy

        return find_parser(self.parser)

    @cached_property
    def _given(self) -> dict[str, BinaryTree]:
        if not self.penn:
            return {}
        found = (penn_tree(line) for _, line in open_lines(find_data(self.penn)) if line.strip())
        return {spelled(" ".join(tree.words)): tree for tree in found}


def spelled(sentence: str) -> str:
    """The letters and digits of a sentence: what two tokenizers agree about.

    Example:
        >>> spelled("It wasn't 5.") == spelled("It was n't 5 .")
        True
    """
    return "".join(_SPELLED.findall(sentence.lower()))
