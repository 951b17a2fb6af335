"""Syntax trees: phrase-structure trees in Penn Treebank notation, and dependency parses as trees."""

from __future__ import annotations

import io
import re
import tarfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.errors import CorpusError
from weft.io.compressed_streams import open_bytes

_TOKEN = re.compile(r"[()]|[^\s()]+")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_TREE_FILE = re.compile(r"(?:^|/)data/\w+\.txt$")
LONGEST_FILE = 2**26  # bytes of a file of trees; those of Barzilay & Lapata's corpora have 1 MB


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree over the words of a sentence; nodes are numbered from the top down and from left to right.

    Attributes:
        labels: The label of each node: phrases, and tags above words.
        parents: The number of the parent of each node; −1 for a root.
        words: The word below a tag; empty for a phrase.

    Example:
        >>> tree = read_tree("(S (NP (NNS Dogs)) (VP (VBP bark)))")
        >>> tree.labels, tree.parents, tree.words
        (('S', 'NP', 'NNS', 'VP', 'VBP'), (-1, 0, 1, 0, 3), ('', '', 'Dogs', '', 'bark'))
    """

    labels: tuple[str, ...]
    parents: tuple[int, ...]
    words: tuple[str, ...]

    def children(self) -> list[list[int]]:
        """Return the numbers of the children of each node, from left to right."""
        below: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(node)
        return below

    def depths(self) -> list[int]:
        """Return the depth of each node; roots have depth 0."""
        depths: list[int] = []
        for parent in self.parents:  # parents come before their children
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return depths


def read_tree(text: str) -> Tree:
    """Return the tree of a text in brackets; function tags (``NP-TMP``) are removed.

    Raises:
        CorpusError: The brackets do not match, or a node has no label.
    """
    labels: list[str] = []
    parents: list[int] = []
    words: list[str] = []
    open_nodes: list[int] = []
    before = ""
    for token in _TOKEN.findall(text):
        if token == "(":
            parents.append(open_nodes[-1] if open_nodes else -1)
            open_nodes.append(len(labels))
            labels.append("")
            words.append("")
        elif token == ")":
            if not open_nodes:
                raise _bad_tree(text)
            open_nodes.pop()
        elif before == "(":
            labels[-1] = plain_label(token)
        elif open_nodes:
            words[open_nodes[-1]] += _BRACKETS.get(token, token)
        before = token
    if open_nodes:
        raise _bad_tree(text)
    return Tree(tuple(labels), tuple(parents), tuple(words))


def plain_label(label: str) -> str:
    """Return a label without its function tags.

    Example:
        >>> plain_label("NP-SBJ-1"), plain_label("-LRB-"), plain_label("S=2")
        ('NP', '-LRB-', 'S')
    """
    return label if label.startswith("-") else re.split(r"[-=|]", label, maxsplit=1)[0]


def tree_of_parse(parse: ParsedSentence) -> Tree:
    """Return a dependency parse as a tree.

    A word with its dependents is a phrase with the dependency label of the word. The children of the phrase are the
    phrases of the dependents and the tag of the word, in the order of the words.

    Example:
        >>> parse = ParsedSentence(("Dogs", "bark"), ("NNS", "VBP"), (1, 1), ("nsubj", "ROOT"))
        >>> tree_of_parse(parse).labels
        ('ROOT', 'nsubj', 'NNS', 'VBP')
    """
    roots, below = parse.dependents()
    labels: list[str] = []
    parents: list[int] = []
    words: list[str] = []
    # A stack of nodes to write: (word, parent node, whether the node is only the tag of the word).
    waiting = [(word, -1, False) for word in reversed(roots)]
    while waiting:
        word, above, own = waiting.pop()
        node = len(labels)
        labels.append(parse.tags[word] if own else parse.labels[word])
        parents.append(above)
        words.append(parse.words[word] if own else "")
        if not own:
            members = [(dependent, node, False) for dependent in below[word]] + [(word, node, True)]
            waiting += sorted(members, reverse=True)
    return Tree(tuple(labels), tuple(parents), tuple(words))


def join_trees(trees: Sequence[Tree]) -> Tree:
    """Return several trees as one tree with several roots."""
    labels: list[str] = []
    parents: list[int] = []
    words: list[str] = []
    for tree in trees:
        parents += [parent + len(labels) if parent >= 0 else -1 for parent in tree.parents]
        labels += tree.labels
        words += tree.words
    return Tree(tuple(labels), tuple(parents), tuple(words))


class TreeBank:
    """Trees that are looked up by the text of a sentence.

    A sentence is found if its letters and digits occur in the concatenated letters and digits of all trees, so that
    sentences may be split differently.

    Args:
        trees: The trees, in the order of their texts.

    Example:
        >>> bank = TreeBank(map(read_tree, ["(S (NNS Dogs) (VBP bark) (. .))", "(S (NNS Cats) (VBP sleep) (. .))"]))
        >>> bank.find("Cats sleep!").words, bank.find("Cows moo.")
        (('', 'Cats', 'sleep', '.'), None)
    """

    def __init__(self, trees: Iterable[Tree]) -> None:
        self.trees = list(trees)
        texts = [_letters("".join(tree.words)) for tree in self.trees]
        self._ends = list(accumulate(map(len, texts)))
        self._stream = "".join(texts)
        self._whole: dict[str, int] = {}
        for number, text in enumerate(texts):
            self._whole.setdefault(text, number)

    @classmethod
    def read(cls, path: str | Path) -> TreeBank:
        """Return the trees of a file with one tree per line, or of a tar archive with such files (``data/*.txt``).

        Raises:
            CorpusError: The file has no trees, or cannot be read.
        """
        bank = cls(read_tree(line) for line in _lines(Path(path)) if line.strip())
        if not bank.trees:
            raise CorpusError(
                "no trees in the file",
                seen=str(path),
                allowed="one tree in brackets per line",
                next_step="check the file",
            )
        return bank

    def find(self, sentence: str) -> Tree | None:
        """Return the tree of a sentence, or the joined trees that contain it; None if it is not found."""
        text = _letters(sentence)
        if text in self._whole:
            return self.trees[self._whole[text]]
        place = self._stream.find(text) if text else -1
        if place < 0:
            return None
        first, last = bisect_right(self._ends, place), bisect_right(self._ends, place + len(text) - 1)
        return join_trees(self.trees[first : last + 1])


def _lines(path: Path) -> Iterator[str]:
    try:
        if path.name.endswith((".tar", ".tar.gz", ".tgz", ".tar.xz")):
            with tarfile.open(path) as archive:
                for member in archive:
                    if member.isfile() and _TREE_FILE.search(member.name) and member.size <= LONGEST_FILE:
                        handle = archive.extractfile(member)
                        assert handle is not None  # it is a file
                        yield from io.TextIOWrapper(handle, encoding="utf-8")
            return
        with open_bytes(path) as raw:
            yield from io.TextIOWrapper(raw, encoding="utf-8")
    except (OSError, UnicodeError, tarfile.TarError) as error:
        raise CorpusError(
            f"cannot read trees: {error}",
            seen=str(path),
            allowed="a text file or a tar archive",
            next_step="check the path",
        ) from error


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.replace("&amp;", "&").lower()))


def _bad_tree(text: str) -> CorpusError:
    return CorpusError(
        "not a tree", seen=text[:60], allowed="(S (NP …) (VP …)), every bracket closed", next_step="check the file"
    )
