"""Binary trees over the words of a sentence: from a tree of phrases, or from a dependency parse.

Reference: Li & Hovy 2014 (binarised parse trees).
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.trees import Tree

QUOTES = {"``": '"', "''": '"'}  # as the Penn Treebank writes them


@dataclass(frozen=True, slots=True)
class BinaryTree:
    """Words, and how they are put together two by two.

    Attributes:
        words: The leaves, nodes 0, 1, …
        merges: The children of each inner node, in an order in which children come first; the last is the root.

    Example:
        >>> binarised(ParsedSentence(("Dogs", "chase", "cats"), ("NNS", "VBP", "NNS"), (1, 1, 1), ("", "", "")))
        BinaryTree(words=('Dogs', 'chase', 'cats'), merges=((1, 2), (0, 3)))
    """

    words: tuple[str, ...]
    merges: tuple[tuple[int, int], ...]


def binarised(parse: ParsedSentence) -> BinaryTree:
    """A dependency parse as a binary tree: a head takes its dependents in, on the right first, nearest first.

    So a verb is put together with its objects before its subject, as in a phrase structure. Several roots (a text cut
    into pieces) are put together from left to right.
    """
    children: list[list[int]] = [[] for _ in parse.words]
    roots: list[int] = []
    for word, head in enumerate(parse.heads):
        (roots if head == word else children[head]).append(word)
    merges: list[tuple[int, int]] = []
    node = list(range(len(parse.words)))  # what has been made of each word and its dependents so far

    def merge(left: int, right: int) -> int:
        merges.append((left, right))
        return len(parse.words) + len(merges) - 1

    for head in reversed(_heads_first(roots, children)):  # dependents first, and no recursion: trees may be deep
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
    for word in order:  # grows while it is walked
        order += children[word]
    return order


def binarised_phrases(tree: Tree) -> BinaryTree:
    """A tree of phrases as a binary tree: chains of one child are cut short, of many the last two go first.

    Example:
        >>> from weft.corpora.syntax.trees import read_tree
        >>> binarised_phrases(read_tree("(ROOT (S (NP (NNS Dogs)) (VP (VBP chase) (NP (NNS cats)))))")).merges
        ((1, 2), (0, 3))
    """
    words = tuple(QUOTES.get(word, word) for word in tree.words if word)
    merges: list[tuple[int, int]] = []
    made: dict[int, int] = {}  # the binary tree's node for each node that holds words
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
    """Put several nodes together, the last two first."""
    whole = nodes[-1]
    for node in reversed(nodes[:-1]):
        merges.append((node, whole))
        whole = leaves + len(merges) - 1
    return whole
