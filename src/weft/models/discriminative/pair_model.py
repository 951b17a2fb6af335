"""The pair model: does one sentence follow the other? The stronger discriminative model that the field found later.

Reference: P. Xu et al., "A Cross-Domain Transferable Neural Coherence Model", ACL 2019. Not in the paper, whose claim
that discriminative models fail in the open domain it puts to the test: its negatives come from the same text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from weft.corpora.store.paragraph_batches import ParagraphBatch
from weft.document import Document, Score
from weft.models.common.neural.batch_tensors import zero_loss
from weft.models.common.setting_checks import at_least, check_weight
from weft.models.discriminative.base_model import READING_SETTINGS, Judge, moved_sentences, negatives_generator
from weft.models.discriminative.networks import PairNetwork, Reading
from weft.protocols import ModelCard
from weft.scoring.pairs import Table
from weft.training.loop import LossPart

PARTS = ("forward", "backward")
PAIRS_AT_ONCE = 1024  # judged at a time: bounds memory


class DiscriminativePair(Judge):
    """How well each sentence follows the one before it, learned against other sentences of the same text.

    The forward network is trained with the second sentence of a pair replaced, the backward one with the first; a pair
    must score higher than a replaced one by a margin. The score of a pair is the mean of both.

    Args:
        margin: By how much a pair must score above a replaced one.
        each: Replaced pairs for every one as written.
        fewest: Sentences of the shortest texts to learn from.
        dimensions: Size of token vectors.
        hidden: Size of LSTM states.
        layers: LSTM layers.
        pooling: Which states make a sentence's vector: the ``last``, their ``max`` or their ``mean``.
        width: Of the hidden layer over a pair.
        dropout: In training.
        vectors: Word vectors to start from: a GloVe file or folder, or ``glove`` for those in the package; where it is
            empty, vectors are learned.
        tuned: Whether given vectors are trained further.
        frozen: ``encoder`` keeps the readers as they were in ``run.start``, such as the encoders of a seq2seq.
        likeness: Whether a pair also comes with two cosines that tell how alike its sentences are; not in Xu et al.
        precision: Of saved weights: ``int8`` or ``float32``.

    Example:
        >>> DiscriminativePair(margin=2.0).parts
        ('forward', 'backward')
    """

    name = "discriminative-pair"
    part_names: ClassVar[tuple[str, ...]] = PARTS
    settings: Any = ("margin", "each", "fewest", *READING_SETTINGS, "precision")
    card = ModelCard(
        summary="a ranker of sentence pairs, learned against other sentences of the same text",
        reference="Xu et al. 2019",
        score_range="unbounded; pairs as written stand about `margin` above others",
        meaning="each sentence is the one, of all in such a text, to follow the one before",
        comparable="between texts of the kind it was trained on",
        needs="zoo/discriminative-pair, or training (docs/discriminative.md)",
    )

    def __init__(
        self,
        margin: float = 5.0,
        each: int = 4,
        fewest: int = 3,
        dimensions: int = 100,
        hidden: int = 100,
        layers: int = 1,
        pooling: str = "max",
        width: int = 200,
        dropout: float = 0.3,
        vectors: str = "",
        tuned: bool = False,
        frozen: str = "",
        likeness: bool = True,
        precision: str = "int8",
    ) -> None:
        check_weight("margin", margin, least=1e-3, most=1e3)
        at_least(self.name, "each", each, 1, 1000)
        at_least(self.name, "fewest", fewest, 3)  # of two sentences none is left to take the place of one
        self._keep(dimensions, hidden, layers, pooling, width, dropout, vectors, tuned, frozen, likeness, precision)
        self.margin, self.each, self.fewest = margin, each, fewest

    # Training ---------------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[str, ...]:
        """Two networks, which share nothing."""
        return self.part_names

    def build(self, part: str, reading: Reading) -> PairNetwork:
        """An untrained network; it keeps in mind which sentence of a pair is replaced in its training."""
        network = PairNetwork(reading, self.width)
        network.direction = part
        return network

    def batch_loss(self, network: torch.nn.Module, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """How far pairs as written fail to stand a margin above replaced ones; summed."""
        if not len(batch):
            return LossPart(zero_loss(network), 0)
        assert isinstance(network, PairNetwork)
        vectors = network.ready(network.read(moved_sentences(batch, device)))  # [sentences, size]
        places = torch.from_numpy(batch.places)
        generator = negatives_generator(network)
        left, right, other = (side.to(device) for side in replaced_pairs(places, self.each, generator))
        good = network(vectors[left], vectors[right]).float()  # [pairs]
        replaced = vectors[other]  # [pairs, each, size]
        if network.direction == "forward":
            bad = network(vectors[left][:, None].expand_as(replaced), replaced).float()  # [pairs, each]
        else:
            bad = network(replaced, vectors[right][:, None].expand_as(replaced)).float()
        loss = functional.relu(self.margin - good[:, None] + bad).sum() / self.each
        return LossPart(loss, len(left), {"won": (good[:, None] > bad).float().sum() / self.each})

    # Scoring ----------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def _vectors(self, part: str, document: Document) -> Tensor:
        network = self.judge(part)
        assert isinstance(network, PairNetwork)
        return network.ready(self.sentence_vectors(part, document.sentences))

    @torch.inference_mode()
    def pair_scores(self, document: Document, left: Tensor, right: Tensor) -> Tensor:
        """The mean of both directions for pairs of sentence numbers: [pairs]."""
        total = torch.zeros(len(left), dtype=torch.float64)
        for part in PARTS:
            network, vectors = self.judge(part), self._vectors(part, document)
            for start in range(0, len(left), PAIRS_AT_ONCE):
                some = slice(start, start + PAIRS_AT_ONCE)
                total[some] += network(vectors[left[some]], vectors[right[some]]).double().cpu()
        return total / len(PARTS)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean over adjacent pairs."""
        self.judge(PARTS[0])
        return [self._score(document) for document in documents]

    def _score(self, document: Document) -> Score:
        if len(document) < 2:
            return Score(None)
        numbers = torch.arange(len(document))
        parts = tuple(self.pair_scores(document, numbers[:-1], numbers[1:]).tolist())
        return Score(math.fsum(parts) / len(parts), parts)

    def pair_table(self, document: Document) -> Table:
        """All ordered pairs: [sentences, sentences], zero on the diagonal."""
        size = len(document)
        numbers = torch.arange(size)
        scores = self.pair_scores(document, numbers.repeat_interleave(size), numbers.repeat(size))
        table: Table = scores.view(size, size).numpy().copy()
        np.fill_diagonal(table, 0.0)
        return table


def replaced_pairs(places: Tensor, each: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Every adjacent pair, and for each some other sentences of its text.

    Args:
        places: [texts, longest] numbers of sentences; −1 after the end of a text, each of at least three sentences.
        each: How many others.
        generator: Of the random numbers.

    Returns:
        The first and the second of each pair [pairs], and others [pairs, each], none of which is in the pair.

    Example:
        >>> replaced_pairs(torch.tensor([[0, 1, 2]]), 1, torch.Generator())
        (tensor([0, 1]), tensor([1, 2]), tensor([[2],
                [0]]))
    """
    real = places[:, 1:] >= 0  # [texts, longest − 1]
    sizes = (places >= 0).sum(dim=1)[:, None].expand_as(real)[real]  # [pairs]
    first = places[:, :1].expand_as(real)[real]  # [pairs] the first sentence of the text
    left, right = places[:, :-1][real], places[:, 1:][real]
    steps = torch.rand(len(left), each, generator=generator) * (sizes - 2)[:, None]
    # Counted on from the second of the pair and around; the pair itself comes last and is left out.
    others = (right - first)[:, None] + 1 + steps.long()
    return left, right, first[:, None] + others % sizes[:, None]
