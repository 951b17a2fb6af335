"""Many trees at once: all nodes of a level in one product, so that a batch costs as many steps as its highest tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.corpora.syntax.binary_trees import BinaryTree
from weft.models.common.neural.layers import Embedding
from weft.models.discriminative.sentence_similarity import Contents, content_size

COMPOSITIONS = ("tanh", "lstm")
TREE_POOLINGS = ("root", "max", "mean")


@dataclass(frozen=True, slots=True)
class KnownTree:
    """A tree whose words are token ids.

    Attributes:
        tokens: The ids of all words, one after the other.
        sizes: [words] how many ids each word has.
        merges: [inner nodes, 2] children; nodes are numbered as in `BinaryTree`.
        levels: [inner nodes] how many products must be made before a node is known.
    """

    tokens: tuple[int, ...]
    sizes: tuple[int, ...]
    merges: tuple[tuple[int, int], ...]
    levels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.sizes)


def known_tree(tree: BinaryTree, ids: Sequence[Sequence[int]]) -> KnownTree:
    """A tree with the ids of its words; a sentence without words is one leaf of which nothing is known."""
    if not tree.words:
        return KnownTree((), (0,), (), ())
    heights = [0] * len(tree.words)
    for left, right in tree.merges:
        heights.append(1 + max(heights[left], heights[right]))
    tokens = tuple(int(token) for word in ids for token in word)
    return KnownTree(tokens, tuple(len(word) for word in ids), tree.merges, tuple(heights[len(tree.words) :]))


@dataclass(frozen=True, slots=True)
class Forest:
    """Some trees, their nodes numbered by level: all leaves, then all nodes over leaves, and so on.

    Attributes:
        tokens: [tokens] ids of all leaves.
        starts: [leaves] where each leaf begins among them.
        token_owners: [tokens] the tree each belongs to.
        roots: [trees] the number of each tree's root.
        owners: [nodes] the tree each node belongs to.
        levels: For each level the children of its nodes, [nodes of the level, 2].
    """

    tokens: Tensor
    starts: Tensor
    token_owners: Tensor
    roots: Tensor
    owners: Tensor
    levels: tuple[Tensor, ...]

    def to(self, device: torch.device) -> Forest:
        """On a device."""
        return Forest(
            self.tokens.to(device), self.starts.to(device), self.token_owners.to(device), self.roots.to(device),
            self.owners.to(device), tuple(level.to(device) for level in self.levels),
        )  # fmt: skip


def plant(trees: Sequence[KnownTree]) -> Forest:
    """Number the nodes of some trees by level.

    Example:
        >>> tree = known_tree(BinaryTree(("a", "b", "c"), ((1, 2), (0, 3))), [[5], [6], [7]])
        >>> [level.tolist() for level in plant([tree, tree]).levels]
        [[[1, 2], [4, 5]], [[0, 6], [3, 7]]]
    """
    counts, inner = _lengths(len(tree) for tree in trees), _lengths(len(tree.merges) for tree in trees)  # [trees]
    sizes = _lengths(size for tree in trees for size in tree.sizes)  # [leaves]
    first_leaf, first_inner = np.cumsum(counts) - counts, np.cumsum(inner) - inner  # [trees]
    heights = _lengths(level for tree in trees for level in tree.levels)  # [inner nodes]
    order = np.argsort(heights, kind="stable")  # inner nodes by level
    number = np.zeros(len(order) + 1, dtype=np.int64)  # of each inner node in the forest; the last entry is no node's
    number[order] = counts.sum() + np.arange(len(order))
    owner = np.repeat(np.arange(len(trees)), inner)  # [inner nodes]
    merges = np.array([pair for tree in trees for pair in tree.merges], dtype=np.int64).reshape(-1, 2)
    own_leaves = counts[owner][:, None]  # [inner nodes, 1]
    as_inner = np.where(merges < own_leaves, -1, first_inner[owner][:, None] + merges - own_leaves)
    children = np.where(merges < own_leaves, first_leaf[owner][:, None] + merges, number[as_inner])
    cuts = np.flatnonzero(np.diff(heights[order])) + 1
    roots = np.where(inner > 0, number[np.where(inner > 0, first_inner + inner - 1, -1)], first_leaf)
    owners = np.concatenate([np.repeat(np.arange(len(trees)), counts), owner[order]])
    tokens = _lengths(token for tree in trees for token in tree.tokens)
    token_owners = np.repeat(owners[: len(sizes)], sizes)
    starts = np.cumsum(sizes) - sizes
    levels = np.split(children[order], cuts) if len(order) else []
    found = [torch.from_numpy(part) for part in (tokens, starts, token_owners, roots, owners)]
    return Forest(found[0], found[1], found[2], found[3], found[4], tuple(map(torch.from_numpy, levels)))


def _lengths(values: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.fromiter(values, dtype=np.int64)


class TreeReader(nn.Module):
    """Puts the vectors of words together along trees: h = tanh(W [left; right] + b), or a binary tree LSTM.

    References: Socher et al. 2011; Li & Hovy 2014 (tanh); Tai et al. 2015 (LSTM).

    Args:
        vocabulary: Number of token types.
        dimensions: Size of token vectors.
        hidden: Size of a node's vector.
        composition: ``tanh`` (Li & Hovy's) or ``lstm``.
        pooling: Which nodes make a sentence's vector: the ``root``, the ``max`` or the ``mean`` of all.
        dropout: On token vectors.
        fixed_words: Whether token vectors stay as they are.
        likeness: Whether sentences also come with what tells how alike they are.
    """

    def __init__(
        self, vocabulary: int, dimensions: int, hidden: int, composition: str, pooling: str, dropout: float,
        fixed_words: bool, likeness: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = Embedding(vocabulary, dimensions)
        self.embedding.weight.requires_grad_(not fixed_words)
        self.dropout, self.pooling, self.hidden = nn.Dropout(dropout), pooling, hidden
        self.gated = composition == "lstm"
        self.contents = Contents(vocabulary) if likeness else None
        self.size = hidden + (content_size(dimensions, vocabulary) if likeness else 0)
        self.leaf = nn.Linear(dimensions, (2 if self.gated else 1) * hidden)
        self.compose = nn.Linear(2 * hidden, (5 if self.gated else 1) * hidden)

    def read(self, forest: Forest) -> Tensor:
        """What is made of each sentence, and its content where that is wanted: [trees, size]."""
        vectors = self._vectors(forest)
        if self.contents is None:
            return vectors
        content = self.contents(forest.tokens, forest.token_owners, None, len(forest.roots), self.embedding.weight)
        return torch.cat([vectors, content], dim=1)

    def _vectors(self, forest: Forest) -> Tensor:
        words = functional.embedding_bag(
            forest.tokens, self.embedding.weight, forest.starts, mode="mean"
        ) * self.embedding.scale  # [leaves, dimensions]  # fmt: skip
        nodes = self._leaves(self.dropout(words))  # [leaves, size]
        for children in forest.levels:
            below = nodes.index_select(0, children.flatten()).view(
                len(children), 2, -1
            )  # [nodes of the level, 2, size]
            nodes = torch.cat([nodes, self._composed(below)])
        states = nodes[:, : self.hidden]  # [nodes, hidden]; cells stand after it
        if self.pooling == "root":
            return states.index_select(0, forest.roots)
        where = forest.owners[:, None].expand_as(states)
        empty = states.new_zeros(len(forest.roots), self.hidden)
        how = "amax" if self.pooling == "max" else "mean"
        return empty.scatter_reduce(0, where, states, how, include_self=False)

    def _leaves(self, words: Tensor) -> Tensor:
        if not self.gated:
            return torch.tanh(self.leaf(words))
        cell, output = self.leaf(words).chunk(2, dim=1)
        cell = torch.tanh(cell)
        return torch.cat([torch.sigmoid(output) * torch.tanh(cell), cell], dim=1)

    def _composed(self, below: Tensor) -> Tensor:
        """Nodes of their children: [nodes, 2, size] → [nodes, size]."""
        mixed = self.compose(below[:, :, : self.hidden].flatten(1))
        if not self.gated:
            return torch.tanh(mixed)
        enter, left, right, output, new = mixed.chunk(5, dim=1)
        kept = (
            torch.sigmoid(left + 1) * below[:, 0, self.hidden :] + torch.sigmoid(right + 1) * below[:, 1, self.hidden :]
        )
        cell = torch.sigmoid(enter) * torch.tanh(new) + kept  # forget gates start open
        return torch.cat([torch.sigmoid(output) * torch.tanh(cell), cell], dim=1)
