"""The recursive model: sentences are put together along their parse trees, then cliques are judged as always.

Reference: J. Li and E. Hovy, "A Model of Coherence Based on Distributed Sentence Representation", EMNLP 2014.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.store.pair_batches import Whole
from weft.corpora.store.paragraph_batches import ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.syntax.sentence_parser import parser_remarks
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.errors import ConfigError
from weft.models.common.neural.batch_tensors import zero_loss
from weft.models.common.setting_checks import check_choice, check_text
from weft.models.discriminative.clique_model import PART, REMEMBERED, Discriminative
from weft.models.discriminative.networks import CliqueHead
from weft.models.discriminative.tree_encoder import (
    COMPOSITIONS,
    TREE_POOLINGS,
    KnownTree,
    TreeReader,
    known_tree,
    plant,
)
from weft.models.discriminative.tree_source import ParsedTrees, TreeSource
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.scoring.pairs import Memory
from weft.training.loop import LossPart
from weft.training.settings import TrainingSettings

TREES_AT_ONCE = 256  # read at a time: bounds memory, however long a text is


class TreeNetwork(TreeReader):
    """Trees in, log-odds of cliques out."""

    head: CliqueHead


class Recursive(Discriminative):
    """Log-odds of cliques whose sentences are read along their parse trees, averaged over the text.

    Words are put together two by two, from the leaves to the root: h = tanh(W [left; right] + b). Trees are Penn trees
    where a file of them is given, binarised dependency trees otherwise; all nodes of a level are made at once.

    Args:
        window: Sentences on either side of a clique's centre (the paper's L); texts are padded at both ends.
        negatives: ``permutation``, ``document`` or ``corpus``, as for `discriminative`.
        each: Damaged cliques for every one as written.
        fewest: Sentences of the shortest texts to learn from.
        dimensions: Size of token vectors.
        hidden: Size of a node's vector.
        composition: ``tanh`` (Li & Hovy's) or ``lstm`` (a binary tree LSTM).
        pooling: Which nodes make a sentence's vector: the ``root`` (Li & Hovy's), the ``max`` or the ``mean`` of all.
        width: Of the hidden layer over a clique.
        dropout: In training.
        vectors: Word vectors to start from: a GloVe file or folder, or ``glove`` for those in the package; where it is
            empty, vectors are learned.
        tuned: Whether given vectors are trained further.
        likeness: Whether cliques also see how alike their sentences are, in two cosines a pair; not in the paper.
        parser: The spaCy pipeline that parses sentences; empty for the best that is there (docs/parse.md).
        trees: A file of Penn trees, one a line; sentences that are not in it are parsed.
        precision: Of saved weights: ``int8`` or ``float32``.

    Example:
        >>> Recursive(composition="lstm").composition
        'lstm'
    """

    name = "recursive"
    part_names: ClassVar[tuple[str, ...]] = (PART,)
    adjustable = ("parser", "trees")  # what can change without training again
    settings: Any = (
        "window", "negatives", "each", "fewest", "dimensions", "hidden", "composition", "pooling", "width", "dropout",
        "vectors", "tuned", "likeness", "parser", "trees", "precision",
    )  # fmt: skip
    card = ModelCard(
        summary="the classifier of cliques over sentences that are read along their parse trees",
        reference="Li & Hovy 2014",
        score_range="log-odds, around -10 to 10",
        meaning="each sentence stands between its neighbours, and at the ends, as in the texts it was trained on",
        comparable="between texts of the kind it was trained on",
        needs="the extra `parse`, and training (docs/discriminative.md) or zoo/recursive-accidents, "
        "zoo/recursive-earthquakes",
    )

    def __init__(
        self,
        window: int = 1,
        negatives: str = "permutation",
        each: int = 3,
        fewest: int = 2,
        dimensions: int = 100,
        hidden: int = 100,
        composition: str = "tanh",
        pooling: str = "root",
        width: int = 100,
        dropout: float = 0.3,
        vectors: str = "",
        tuned: bool = False,
        likeness: bool = True,
        parser: str = "",
        trees: str = "",
        precision: str = "int8",
    ) -> None:
        check_choice(self.name, "pooling", pooling, TREE_POOLINGS)
        check_choice(self.name, "composition", composition, COMPOSITIONS)
        check_text(self.name, "parser", parser)
        check_text(self.name, "trees", trees)
        super().__init__(
            window, negatives, each, fewest, dimensions, hidden, width=width, dropout=dropout, vectors=vectors,
            tuned=tuned, likeness=likeness, precision=precision,
        )  # fmt: skip
        self.pooling, self.composition, self.parser, self.trees = pooling, composition, parser, trees
        self.source: TreeSource = ParsedTrees(parser, trees)
        self._learned: dict[bytes, KnownTree] = {}

    # Training ---------------------------------------------------------------------------------------------------------

    def empty_network(self, part: str, tokenizer: Tokenizer) -> TreeNetwork:  # type: ignore[override]  # noqa: ARG002
        """A network of the right shape."""
        network = TreeNetwork(
            tokenizer.vocabulary_size, self.dimensions, self.hidden, self.composition, self.pooling, self.dropout,
            fixed_words=bool(self.vectors) and not self.tuned, likeness=self.likeness,
        )  # fmt: skip
        network.head = CliqueHead(
            self.hidden, self.window, self.width, self.dropout, self.dimensions if self.likeness else 0
        )
        return network

    def read_texts(self, sentences: Iterable[str], tokenizer: Tokenizer, *, progress: Progress = silent) -> None:
        """Parse what will be trained on: a store holds tokens, and trees are made of texts."""
        distinct = list(dict.fromkeys(sentences))
        trees = self._known_trees(distinct, tokenizer, progress)
        keys = [_key(ids) for ids in tokenizer.encode_batch(distinct)]
        self._learned |= dict(zip(keys, trees, strict=True))

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> TreeStream:  # type: ignore[override]
        """Whole texts, with the trees of their sentences."""
        return TreeStream(super().training_batches(part, store, pad, settings), self._learned)

    def batch_loss(self, network: torch.nn.Module, batch: TreeBatch, device: torch.device) -> LossPart:  # type: ignore[override]
        """Cross-entropy of cliques as written and damaged, as for `discriminative`."""
        if not len(batch):
            return LossPart(zero_loss(network), 0)
        assert isinstance(network, TreeNetwork)
        read = network.read(plant(batch.trees).to(device))  # [sentences, size]
        return self.clique_loss(network.head, read, batch.places, network)

    # Reading ----------------------------------------------------------------------------------------------------------

    def adjusted(self, settings: Mapping[str, Any]) -> Self:
        """The same network with another parser."""
        changed = copy(self)
        changed.parser = settings.get("parser", self.parser)
        changed.source = ParsedTrees(changed.parser, self.trees)
        changed._rows = Memory(REMEMBERED)  # what was read along other trees is forgotten
        return changed

    def _known_trees(
        self, sentences: Sequence[str], tokenizer: Tokenizer, progress: Progress = silent
    ) -> list[KnownTree]:
        trees = self.source.trees(sentences, progress=progress)
        words = list(dict.fromkeys(word for tree in trees for word in tree.words))
        ids = dict(zip(words, tokenizer.encode_batch(words), strict=True))
        return [known_tree(tree, [ids[word] for word in tree.words]) for tree in trees]

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Whether a text may be beyond the parser."""
        return parser_remarks(document)  # Penn trees are those of training texts; others are parsed

    @torch.inference_mode()
    def sentence_vectors(self, part: str, sentences: Sequence[str]) -> Tensor:
        """What the network makes of each sentence, each read once: [sentences, size]."""
        network = self.judge(part)
        assert isinstance(network, TreeNetwork)
        assert self.tokenizer is not None
        distinct = list(dict.fromkeys(sentences))
        trees = self._known_trees(distinct, self.tokenizer)
        device = network.embedding.weight.device
        order = sorted(range(len(trees)), key=lambda number: len(trees[number]))
        found = torch.zeros(len(trees), network.size, device=device)
        for start in range(0, len(order), TREES_AT_ONCE):
            chosen = order[start : start + TREES_AT_ONCE]
            found[chosen] = network.read(plant([trees[number] for number in chosen]).to(device))
        row_of = {sentence: row for row, sentence in enumerate(distinct)}
        return found[[row_of[sentence] for sentence in sentences]]


@dataclass(frozen=True, slots=True)
class TreeBatch:
    """Texts and the trees of their sentences.

    Attributes:
        places: [texts, longest] which sentence stands where; −1 after the end of a text.
        trees: One a sentence.
    """

    places: Whole
    trees: Sequence[KnownTree]

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, start: int, step: int) -> TreeBatch:
        """Every ``step``-th text from ``start``, and its sentences: one process's share of a global batch."""
        places = self.places[start::step]
        used = places[places >= 0]
        new = np.full(len(self.trees) + 1, -1)  # the last entry is that of −1, no sentence
        new[used] = np.arange(len(used))
        return TreeBatch(new[places], [self.trees[number] for number in used])


class TreeStream:
    """The texts of a store with the trees of their sentences.

    Args:
        texts: Plans the batches.
        trees: By the ids of the sentences' tokens.
    """

    def __init__(self, texts: ParagraphStream, trees: dict[bytes, KnownTree]) -> None:
        self.texts, self.trees = texts, trees

    def epoch(self, number: int) -> list[Whole]:
        """The texts of every batch of an epoch."""
        return self.texts.epoch(number)

    def batch(self, pairs: Whole) -> TreeBatch:
        """Some texts."""
        places, numbers = self.texts.laid_out(pairs)
        return TreeBatch(places, [self._tree(int(number)) for number in numbers])

    def _tree(self, number: int) -> KnownTree:
        found = self.trees.get(_key(self.texts.store.sentence(number)))
        if found is None:
            raise ConfigError(
                "the recursive model learns from trees, and the text of a sentence in the store was not given",
                seen=f"sentence {number}",
                allowed="data.train with the texts themselves, and no data.store",
                next_step="name the files in data.train",
            )
        return found


def _key(ids: npt.ArrayLike) -> bytes:
    return np.asarray(ids, dtype=np.uint32).tobytes()
