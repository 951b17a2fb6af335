"""The network of the recursive model, which computes many trees at once.

All nodes of a level are one matrix product, so a batch takes as many steps as its highest tree.
References: Socher et al. 2011; Li & Hovy 2014 (tanh); Tai et al. 2015 (LSTM).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.corpora.syntax.binary_trees import BinaryTree
from weft.models.common.neural.layers import Embedding
from weft.models.discriminative.clique_scorer import PART, CliqueFields
from weft.models.discriminative.discriminative_model import NetworkFields
from weft.models.discriminative.networks import CliqueHead
from weft.models.discriminative.sentence_similarity import ContentEncoder, content_size
from weft.settings import Settings, setting

COMPOSITIONS = ("tanh", "lstm")
TREE_POOLINGS = ("root", "max", "mean")


@dataclass(frozen=True, slots=True)
class TokenTree:
    """A binary tree whose words are token ids."""

    tokens: tuple[int, ...]  # the ids of all words, one after the other
    sizes: tuple[int, ...]  # number of ids of each word
    merges: tuple[tuple[int, int], ...]  # children of each inner node, numbered as in `BinaryTree`
    levels: tuple[int, ...]  # height of each inner node

    def __len__(self) -> int:
        return len(self.sizes)


def token_tree(tree: BinaryTree, ids: Sequence[Sequence[int]]) -> TokenTree:
    """Return a tree with the ids of its words; a sentence without words is one leaf without tokens."""
    if not tree.words:
        return TokenTree((), (0,), (), ())
    heights = [0] * len(tree.words)
    for left, right in tree.merges:
        heights.append(1 + max(heights[left], heights[right]))
    tokens = tuple(int(token) for word in ids for token in word)
    return TokenTree(tokens, tuple(len(word) for word in ids), tree.merges, tuple(heights[len(tree.words) :]))


@dataclass(frozen=True, slots=True)
class LeveledTrees:
    """Several trees with nodes numbered by level: all leaves, then all nodes of height 1, and so on."""

    tokens: Tensor  # [tokens] ids of all leaves
    starts: Tensor  # [leaves] first token of each leaf
    token_owners: Tensor  # [tokens] the tree of each token
    roots: Tensor  # [trees] the root of each tree
    owners: Tensor  # [nodes] the tree of each node
    levels: tuple[Tensor, ...]  # [nodes of the level, 2] each, the children of the nodes

    def to(self, device: torch.device) -> LeveledTrees:
        """Return the trees on a device."""
        return LeveledTrees(
            self.tokens.to(device), self.starts.to(device), self.token_owners.to(device), self.roots.to(device),
            self.owners.to(device), tuple(level.to(device) for level in self.levels),
        )  # fmt: skip


def level_trees(trees: Sequence[TokenTree]) -> LeveledTrees:
    """Return trees with their nodes numbered by level.

    Example:
        >>> tree = token_tree(BinaryTree(("a", "b", "c"), ((1, 2), (0, 3))), [[5], [6], [7]])
        >>> [level.tolist() for level in level_trees([tree, tree]).levels]
        [[[1, 2], [4, 5]], [[0, 6], [3, 7]]]
    """
    counts, inner = _int_array(len(tree) for tree in trees), _int_array(len(tree.merges) for tree in trees)  # [trees]
    sizes = _int_array(size for tree in trees for size in tree.sizes)  # [leaves]
    first_leaf, first_inner = np.cumsum(counts) - counts, np.cumsum(inner) - inner  # [trees]
    heights = _int_array(level for tree in trees for level in tree.levels)  # [inner nodes]
    order = np.argsort(heights, kind="stable")  # inner nodes by level
    number = np.zeros(len(order) + 1, dtype=np.int64)  # of each inner node among all nodes; the last entry is unused
    number[order] = counts.sum() + np.arange(len(order))
    owner = np.repeat(np.arange(len(trees)), inner)  # [inner nodes]
    merges = np.array([pair for tree in trees for pair in tree.merges], dtype=np.int64).reshape(-1, 2)
    own_leaves = counts[owner][:, None]  # [inner nodes, 1]
    as_inner = np.where(merges < own_leaves, -1, first_inner[owner][:, None] + merges - own_leaves)
    children = np.where(merges < own_leaves, first_leaf[owner][:, None] + merges, number[as_inner])
    cuts = np.flatnonzero(np.diff(heights[order])) + 1
    roots = np.where(inner > 0, number[np.where(inner > 0, first_inner + inner - 1, -1)], first_leaf)
    owners = np.concatenate([np.repeat(np.arange(len(trees)), counts), owner[order]])
    tokens = _int_array(token for tree in trees for token in tree.tokens)
    token_owners = np.repeat(owners[: len(sizes)], sizes)
    starts = np.cumsum(sizes) - sizes
    levels = np.split(children[order], cuts) if len(order) else []
    found = [torch.from_numpy(part) for part in (tokens, starts, token_owners, roots, owners)]
    return LeveledTrees(found[0], found[1], found[2], found[3], found[4], tuple(map(torch.from_numpy, levels)))


def _int_array(values: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.fromiter(values, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class RecursiveSettings(CliqueFields, NetworkFields, Settings):
    """Settings of `recursive`."""

    model_name: ClassVar[str] = "recursive"
    composition: str = setting("tanh", "tanh (Li and Hovy's) or lstm (a binary tree LSTM).", choices=COMPOSITIONS)
    pooling: str = setting(
        "root",
        "Nodes that make the sentence vector: root (Li and Hovy's), or the max or mean of all.",
        choices=TREE_POOLINGS,
    )
    parser: str = setting("", "Name of a spaCy pipeline; empty: the best one installed.", adjustable=True)
    trees: str = setting("", "File of Penn trees, one per line; other sentences are parsed.", adjustable=True)

    def parts(self) -> tuple[str, ...]:
        """Return the names of the networks, in training order."""
        return (PART,)


class TreeNetwork(nn.Module):
    """Composes word vectors along trees, with a classifier of cliques.

    h = tanh(W [left; right] + b), or a binary tree LSTM.
    """

    def __init__(self, settings: RecursiveSettings, vocabulary: int) -> None:
        super().__init__()
        dimensions, hidden = settings.dimensions, settings.hidden
        self.embedding = Embedding(vocabulary, dimensions)
        self.embedding.weight.requires_grad_(settings.tuned or not settings.vectors)
        self.dropout, self.pooling, self.hidden = nn.Dropout(settings.dropout), settings.pooling, hidden
        self.gated = settings.composition == "lstm"
        self.contents = ContentEncoder(vocabulary) if settings.likeness else None
        self.size = hidden + (content_size(dimensions, vocabulary) if settings.likeness else 0)
        self.leaf = nn.Linear(dimensions, (2 if self.gated else 1) * hidden)
        self.compose = nn.Linear(2 * hidden, (5 if self.gated else 1) * hidden)
        compared = dimensions if settings.likeness else 0
        self.head = CliqueHead(hidden, settings.window, settings.width, settings.dropout, compared)

    def read(self, trees: LeveledTrees) -> Tensor:
        """Return the vector of each sentence, followed by its content vector if that is used: [trees, size]."""
        vectors = self._vectors(trees)
        if self.contents is None:
            return vectors
        content = self.contents(trees.tokens, trees.token_owners, None, len(trees.roots), self.embedding.weight)
        return torch.cat([vectors, content], dim=1)

    def _vectors(self, trees: LeveledTrees) -> Tensor:
        words = functional.embedding_bag(trees.tokens, self.embedding.weight, trees.starts, mode="mean")
        nodes = self._leaves(self.dropout(words * self.embedding.scale))  # [leaves, size]
        for children in trees.levels:
            below = nodes.index_select(0, children.flatten()).view(
                len(children), 2, -1
            )  # [nodes of the level, 2, size]
            nodes = torch.cat([nodes, self._composed(below)])
        states = nodes[:, : self.hidden]  # [nodes, hidden]; LSTM cells follow
        if self.pooling == "root":
            return states.index_select(0, trees.roots)
        where = trees.owners[:, None].expand_as(states)
        empty = states.new_zeros(len(trees.roots), self.hidden)
        how = "amax" if self.pooling == "max" else "mean"
        return empty.scatter_reduce(0, where, states, how, include_self=False)

    def _leaves(self, words: Tensor) -> Tensor:
        if not self.gated:
            return torch.tanh(self.leaf(words))
        cell, output = self.leaf(words).chunk(2, dim=1)
        cell = torch.tanh(cell)
        return torch.cat([torch.sigmoid(output) * torch.tanh(cell), cell], dim=1)

    def _composed(self, below: Tensor) -> Tensor:
        """Return nodes from their children: [nodes, 2, size] → [nodes, size]."""
        mixed = self.compose(below[:, :, : self.hidden].flatten(1))
        if not self.gated:
            return torch.tanh(mixed)
        enter, left, right, output, new = mixed.chunk(5, dim=1)
        cells = below[:, :, self.hidden :]  # [nodes, 2, hidden]
        kept = torch.sigmoid(left + 1) * cells[:, 0] + torch.sigmoid(right + 1) * cells[:, 1]  # gates start open (+1)
        cell = torch.sigmoid(enter) * torch.tanh(new) + kept
        return torch.cat([torch.sigmoid(output) * torch.tanh(cell), cell], dim=1)
