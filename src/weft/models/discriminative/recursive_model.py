"""The recursive model: sentences are read along their parse trees, and cliques are classified.

Reference: J. Li and E. Hovy, "A Model of Coherence Based on Distributed Sentence Representation", EMNLP 2014.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Self

import torch

from weft.corpora.store.token_store import TokenStore
from weft.corpora.syntax.sentence_parser import parser_remarks
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.models.common.neural.batch_tensors import zero_loss
from weft.models.discriminative.clique_scorer import PART, CliqueScorer, clique_loss
from weft.models.discriminative.discriminative_model import REMEMBERED, DiscriminativeModel
from weft.models.discriminative.tree_batches import ParsedTrees, TreeBatch, TreeSource, TreeStream, token_key
from weft.models.discriminative.tree_network import (
    LeveledTrees,
    RecursiveSettings,
    TokenTree,
    TreeNetwork,
    level_trees,
    token_tree,
)
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.registry import TORCH_MODELS
from weft.scoring.uni_bi_mmi import BoundedCache
from weft.training.loop import LossPart
from weft.training.settings import TrainingSettings

TREES_AT_ONCE = 256  # limits memory for long texts


class Recursive(DiscriminativeModel, CliqueScorer):
    """Mean log-odds of cliques whose sentences are read along their parse trees.

    Nodes are composed two by two from the leaves to the root: h = tanh(W [left; right] + b). Trees are Penn trees if a
    file of them is given, binarised dependency trees otherwise. All nodes of a level are computed at once.

    Example:
        >>> Recursive(RecursiveSettings(composition="lstm")).settings.composition
        'lstm'
    """

    name = "recursive"
    parts = (PART,)
    card = ModelCard(
        summary=TORCH_MODELS["recursive"],
        reference="Li & Hovy 2014",
        score_range="log-odds, around -10 to 10",
        bar_range=(-10.0, 10.0),
        meaning="each sentence fits its neighbours and its place, as in the training texts",
        comparable="between texts of the kind it was trained on",
        needs="the extra `parse`; trained weights (pip install ./zoo) or training",
        extra="parse",
    )
    Settings = RecursiveSettings
    settings: RecursiveSettings

    def __init__(self, settings: RecursiveSettings | None = None) -> None:
        super().__init__(settings)
        self.source: TreeSource = ParsedTrees(self.settings.parser, self.settings.trees)
        self._training_trees: dict[bytes, TokenTree] = {}

    # Training ---------------------------------------------------------------------------------------------------------

    def empty_network(self, part: str, tokenizer: Tokenizer) -> TreeNetwork:  # noqa: ARG002
        """Return an untrained network."""
        return TreeNetwork(self.settings, tokenizer.vocabulary_size)

    def read_texts(self, sentences: Iterable[str], tokenizer: Tokenizer, *, progress: Progress = silent) -> None:
        """Parse the training texts: a token store holds tokens, but trees are made from text."""
        distinct = list(dict.fromkeys(sentences))
        trees = self._token_trees(distinct, tokenizer, progress)
        keys = [token_key(ids) for ids in tokenizer.encode_batch(distinct)]
        self._training_trees |= dict(zip(keys, trees, strict=True))

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> TreeStream:
        """Return batches of whole texts, with the trees of their sentences."""
        return TreeStream(super().training_batches(part, store, pad, settings), self._training_trees)

    def batch_loss(self, network: torch.nn.Module, batch: TreeBatch, device: torch.device) -> LossPart:
        """Return the summed cross-entropy of original and damaged cliques."""
        if not len(batch):
            return LossPart(zero_loss(network), 0)
        assert isinstance(network, TreeNetwork)
        read = network.read(level_trees(batch.trees).to(device))  # [sentences, size]
        return clique_loss(network.head, read, batch.places, self.settings, network)

    # Reading ----------------------------------------------------------------------------------------------------------

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same trained model with another parser or file of trees."""
        changed = copy(self)
        changed.settings = self.settings.adjusted(changes)
        changed.source = ParsedTrees(changed.settings.parser, changed.settings.trees)
        changed.memory = BoundedCache(REMEMBERED)
        return changed

    def _token_trees(
        self, sentences: Sequence[str], tokenizer: Tokenizer, progress: Progress = silent
    ) -> list[TokenTree]:
        trees = self.source.trees(sentences, progress=progress)
        words = list(dict.fromkeys(word for tree in trees for word in tree.words))
        ids = dict(zip(words, tokenizer.encode_batch(words), strict=True))
        return [token_tree(tree, [ids[word] for word in tree.words]) for tree in trees]

    def reading_batches(
        self, sentences: Sequence[str], device: torch.device
    ) -> Iterator[tuple[list[int], LeveledTrees]]:
        """Yield batches of sentences: their numbers, and their trees on a device."""
        assert self.tokenizer is not None
        trees = self._token_trees(sentences, self.tokenizer)
        order = sorted(range(len(trees)), key=lambda number: len(trees[number]))
        for start in range(0, len(order), TREES_AT_ONCE):
            chosen = order[start : start + TREES_AT_ONCE]
            yield chosen, level_trees([trees[number] for number in chosen]).to(device)

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return a remark if the parser cannot read the document."""
        return parser_remarks(document)
