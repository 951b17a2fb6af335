"""Binary trees over the words of a sentence: from Penn brackets, or from a dependency parse.

References: Li & Hovy 2014 (binarised parse trees); Marcus et al. 1993 (Penn brackets).
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.corpora.parsed import ParsedSentence
from weft.errors import CorpusError

BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"'}


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


def penn_tree(line: str) -> BinaryTree:
    """A tree in Penn brackets as a binary tree: chains of one child are cut short, of many the last two go first.

    Raises:
        CorpusError: The brackets do not match.

    Example:
        >>> penn_tree("(ROOT (S (NP (NNS Dogs)) (VP (VBP chase) (NP (NNS cats)))))").merges
        ((1, 2), (0, 3))
    """
    words: list[str] = []
    merges: list[tuple[int, int]] = []  # children numbered −1, −2, … stand for inner nodes until all words are known
    open_nodes: list[list[int]] = [[]]
    pieces = line.replace("(", " ( ").replace(")", " ) ").split()
    for number, piece in enumerate(pieces):
        if piece == "(":
            open_nodes.append([])
        elif piece == ")":
            if len(open_nodes) < 2:
                raise _bad_brackets(line)
            inner = open_nodes.pop()
            open_nodes[-1] += [_joined(inner, merges)] if inner else []
        elif pieces[number - 1] != "(" or number == 0:  # what stands after a bracket is a label
            open_nodes[-1].append(len(words))
            words.append(BRACKETS.get(piece, piece))
    if len(open_nodes) != 1:
        raise _bad_brackets(line)
    if open_nodes[0]:
        _joined(open_nodes[0], merges)
    numbered = tuple((_numbered(left, words), _numbered(right, words)) for left, right in merges)
    return BinaryTree(tuple(words), numbered)


def _joined(nodes: list[int], merges: list[tuple[int, int]]) -> int:
    """Put several nodes together, the last two first."""
    whole = nodes[-1]
    for node in reversed(nodes[:-1]):
        merges.append((node, whole))
        whole = -len(merges)
    return whole


def _numbered(node: int, words: list[str]) -> int:
    return node if node >= 0 else len(words) - node - 1


def _bad_brackets(line: str) -> CorpusError:
    return CorpusError(
        "this is no tree in Penn brackets",
        seen=line[:80],
        allowed="(ROOT (S (NP (NNS Dogs)) (VP (VBP bark))))",
        next_step="correct the line or leave it out",
    )
