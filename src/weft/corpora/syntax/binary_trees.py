"""Binary trees over the words of a sentence, made from a phrase-structure tree or a dependency parse.

Reference: Li & Hovy 2014 (binarised parse trees).
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.trees import Tree

QUOTES = {"``": '"', "''": '"'}  # as the Penn Treebank writes them


@dataclass(frozen=True, slots=True)
class BinaryTree:
    """A binary tree.

    Attributes:
        words: The leaves, nodes 0, 1, …
        merges: The two children of each inner node; children come before their parent, and the last node is the root.

    Example:
        >>> binarised(ParsedSentence(("Dogs", "chase", "cats"), ("NNS", "VBP", "NNS"), (1, 1, 1), ("", "", "")))
        BinaryTree(words=('Dogs', 'chase', 'cats'), merges=((1, 2), (0, 3)))
    """

    words: tuple[str, ...]
    merges: tuple[tuple[int, int], ...]


def binarised(parse: ParsedSentence) -> BinaryTree:
    """Return a dependency parse as a binary tree.

    A head is merged with its dependents on the right first, the nearest first: a verb is merged with its objects before
    its subject, as in a phrase-structure tree. Several roots are merged from left to right.
    """
    roots, children = parse.dependents()
    merges: list[tuple[int, int]] = []
    node = list(range(len(parse.words)))  # the node of each word and its merged dependents

    def merge(left: int, right: int) -> int:
        merges.append((left, right))
        return len(parse.words) + len(merges) - 1

    for head in reversed(_heads_first(roots, children)):  # dependents first; no recursion, because trees may be deep
        for child in (c for c in children[head] if c > head):
            node[head] = merge(node[head], node[child])
        for child in reversed([c for c in children[head] if c < head]):
            node[head] = merge(node[child], node[head])
    whole = node[roots[0]] if roots else 0
    for root in roots[1:]:
        whole = merge(whole, node[root])
    return BinaryTree(parse.words, tuple(merges))


def _heads_first(roots: list[int], children: list[list[int]]) -> list[int]:
    order = list(roots)
    for word in order:  # the list grows during the loop
        order += children[word]
    return order


def binarised_phrases(tree: Tree) -> BinaryTree:
    """Return a phrase-structure tree as a binary tree.

    Nodes with one child are removed; of several children, the last two are merged first.

    Example:
        >>> from weft.corpora.syntax.trees import read_tree
        >>> binarised_phrases(read_tree("(ROOT (S (NP (NNS Dogs)) (VP (VBP chase) (NP (NNS cats)))))")).merges
        ((1, 2), (0, 3))
    """
    words = tuple(QUOTES.get(word, word) for word in tree.words if word)
    merges: list[tuple[int, int]] = []
    made: dict[int, int] = {}  # node of the binary tree for each node with words
    leaf = len(words)
    for node, below in reversed(list(enumerate(tree.children()))):  # children first
        if tree.words[node]:
            leaf -= 1
            made[node] = leaf
        elif parts := [made[child] for child in below if child in made]:
            made[node] = _joined(parts, merges, len(words))
    tops = [made[node] for node, parent in enumerate(tree.parents) if parent < 0 and node in made]
    if tops:
        _joined(tops, merges, len(words))
    return BinaryTree(words, tuple(merges))


def _joined(nodes: list[int], merges: list[tuple[int, int]], leaves: int) -> int:
    """Merge several nodes, the last two first, and return the resulting node."""
    whole = nodes[-1]
    for node in reversed(nodes[:-1]):
        merges.append((node, whole))
        whole = leaves + len(merges) - 1
    return whole
