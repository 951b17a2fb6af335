"""Many trees at once: all nodes of a level in one product, so that a batch costs as many steps as its highest tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.corpora.trees import BinaryTree
from weft.models.layers import Embedding

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
        levels: For each level the children of its nodes, [nodes of the level, 2].
        roots: [trees] the number of each tree's root.
        owners: [nodes] the tree each node belongs to.
    """

    tokens: Tensor
    starts: Tensor
    levels: tuple[Tensor, ...]
    roots: Tensor
    owners: Tensor

    def to(self, device: torch.device) -> Forest:
        """On a device."""
        levels = tuple(level.to(device) for level in self.levels)
        return Forest(*(t.to(device) for t in (self.tokens, self.starts)), levels,
                      self.roots.to(device), self.owners.to(device))  # fmt: skip


def plant(trees: Sequence[KnownTree]) -> Forest:
    """Number the nodes of some trees by level."""
    sizes = np.array([size for tree in trees for size in tree.sizes], dtype=np.int64)  # [leaves]
    counts = np.array([len(tree) for tree in trees], dtype=np.int64)
    inner = np.array([len(tree.merges) for tree in trees], dtype=np.int64)
    leaves, total = int(counts.sum()), int((counts + inner).sum())
    first_leaf, first_inner = np.cumsum(counts) - counts, np.cumsum(inner) - inner  # [trees]
    heights = np.array([level for tree in trees for level in tree.levels], dtype=np.int64)  # [inner nodes]
    order = np.argsort(heights, kind="stable")  # inner nodes by level
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(leaves, total)  # the number of each inner node
    owner = np.repeat(np.arange(len(trees)), inner)  # [inner nodes]
    merges = np.array([pair for tree in trees for pair in tree.merges], dtype=np.int64).reshape(-1, 2)
    is_leaf = merges < counts[owner][:, None]
    as_leaf = first_leaf[owner][:, None] + merges
    as_inner = first_inner[owner][:, None] + merges - counts[owner][:, None]
    children = np.where(is_leaf, as_leaf, place[np.where(is_leaf, 0, as_inner)] if len(place) else 0)
    cuts = np.flatnonzero(np.diff(heights[order])) + 1
    levels = tuple(torch.from_numpy(part) for part in np.split(children[order], cuts)) if len(order) else ()
    last = first_inner + inner - 1
    roots = np.where(inner > 0, place[np.maximum(last, 0)] if len(place) else 0, first_leaf)
    owners = np.concatenate([np.repeat(np.arange(len(trees)), counts), owner[order]])
    tokens = np.array([token for tree in trees for token in tree.tokens], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    return Forest(*map(torch.from_numpy, (tokens, starts)), levels, *map(torch.from_numpy, (roots, owners)))


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
    """

    def __init__(
        self, vocabulary: int, dimensions: int, hidden: int, composition: str, pooling: str, dropout: float,
        fixed_words: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = Embedding(vocabulary, dimensions)
        self.embedding.weight.requires_grad_(not fixed_words)
        self.dropout, self.pooling, self.hidden = nn.Dropout(dropout), pooling, hidden
        self.gated = composition == "lstm"
        self.leaf = nn.Linear(dimensions, (2 if self.gated else 1) * hidden)
        self.compose = nn.Linear(2 * hidden, (5 if self.gated else 1) * hidden)

    def forward(self, forest: Forest) -> Tensor:
        """What is made of each sentence: [trees, hidden]."""
        words = functional.embedding_bag(
            forest.tokens, self.embedding.weight, forest.starts, mode="mean"
        ) * self.embedding.scale  # [leaves, dimensions]  # fmt: skip
        nodes = self._leaves(self.dropout(words))  # [leaves, size]
        for children in forest.levels:
            below = nodes.index_select(0, children.flatten()).view(len(children), 2, -1)  # [nodes of the level, 2, size]
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
        kept = torch.sigmoid(left + 1) * below[:, 0, self.hidden :] + torch.sigmoid(right + 1) * below[:, 1, self.hidden :]
        cell = torch.sigmoid(enter) * torch.tanh(new) + kept  # forget gates start open
        return torch.cat([torch.sigmoid(output) * torch.tanh(cell), cell], dim=1)
