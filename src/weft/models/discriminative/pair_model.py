"""The pair model: a ranker of adjacent sentences, with negatives from the same text.

Reference: P. Xu et al., "A Cross-Domain Transferable Neural Coherence Model", ACL 2019. Not in the paper; it tests the
paper's claim that discriminative models fail in the open domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from weft.corpora.store.paragraph_batches import ParagraphBatch
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document, Score
from weft.models.common.neural.batch_tensors import zero_loss
from weft.models.discriminative.discriminative_model import (
    DiscriminativeModel,
    LstmFields,
    NetworkFields,
    lstm_options,
    negatives_generator,
    sentences_to_device,
)
from weft.models.discriminative.networks import PairNetwork
from weft.protocols import ModelCard
from weft.registry import TORCH_MODELS
from weft.scoring.uni_bi_mmi import Table, mean_score
from weft.settings import Settings, setting
from weft.training.loop import LossPart

PARTS = ("forward", "backward")
PAIRS_AT_ONCE = 1024  # limits memory


@dataclass(frozen=True, kw_only=True)
class DiscriminativePairSettings(LstmFields, NetworkFields, Settings):
    """Settings of `discriminative-pair`."""

    model_name: ClassVar[str] = "discriminative-pair"
    margin: float = setting(
        5.0, "Margin by which an original pair must score above a damaged one.", minimum=1e-3, maximum=1e3
    )
    each: int = setting(4, "Number of damaged pairs for each original one.", minimum=1, maximum=1000)
    # Of two sentences, none is left to replace one.
    fewest: int = setting(3, "Number of sentences of the shortest training texts.", minimum=3)
    width: int = setting(200, "Size of the hidden layer that compares sentences.", minimum=1)

    def parts(self) -> tuple[str, ...]:
        """Return the names of the networks, in training order."""
        return PARTS


class DiscriminativePair(DiscriminativeModel):
    """Mean score of adjacent pairs, learned against other sentences of the same text.

    The forward network is trained with the second sentence of a pair replaced, the backward network with the first.
    loss = Σ max(0, margin − score(original) + score(damaged)). The score of a pair is the mean of both networks.

    Example:
        >>> DiscriminativePair(DiscriminativePairSettings(margin=2.0)).parts
        ('forward', 'backward')
    """

    name = "discriminative-pair"
    parts = PARTS
    card = ModelCard(
        summary=TORCH_MODELS["discriminative-pair"],
        reference="Xu et al. 2019",
        score_range="unbounded; original pairs score about `margin` above others",
        meaning="each sentence is the best one in its text to follow the sentence before",
        comparable="between texts of the kind it was trained on",
        needs="trained weights (pip install ./zoo) or training",
    )
    Settings = DiscriminativePairSettings
    settings: DiscriminativePairSettings

    # Training ---------------------------------------------------------------------------------------------------------

    def empty_network(self, part: str, tokenizer: Tokenizer) -> PairNetwork:
        """Return an untrained network of one direction."""
        chosen = self.settings
        network = PairNetwork(lstm_options(chosen, chosen, tokenizer), chosen.width)
        network.direction = part
        return network

    def batch_loss(self, network: torch.nn.Module, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """Return the summed margin loss of original pairs against damaged ones."""
        if not len(batch):
            return LossPart(zero_loss(network), 0)
        assert isinstance(network, PairNetwork)
        vectors = network.pair_inputs(network.read(sentences_to_device(batch, device)))  # [sentences, size]
        places = torch.from_numpy(batch.places)
        generator = negatives_generator(network)
        left, right, other = (side.to(device) for side in replaced_pairs(places, self.settings.each, generator))
        good = network(vectors[left], vectors[right]).float()  # [pairs]
        replaced = vectors[other]  # [pairs, each, size]
        if network.direction == "forward":
            bad = network(vectors[left][:, None].expand_as(replaced), replaced).float()  # [pairs, each]
        else:
            bad = network(replaced, vectors[right][:, None].expand_as(replaced)).float()
        chosen = self.settings
        loss = functional.relu(chosen.margin - good[:, None] + bad).sum() / chosen.each
        return LossPart(loss, len(left), {"won": (good[:, None] > bad).float().sum() / chosen.each})

    # Scoring ----------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def _vectors(self, part: str, document: Document) -> Tensor:
        network = self.network(part)
        assert isinstance(network, PairNetwork)
        return network.pair_inputs(self.sentence_vectors(part, document.sentences))

    @torch.inference_mode()
    def pair_scores(self, document: Document, left: Tensor, right: Tensor) -> Tensor:
        """Return the mean of both directions for pairs of sentence numbers: [pairs]."""
        total = torch.zeros(len(left), dtype=torch.float64)
        for part in PARTS:
            network, vectors = self.network(part), self._vectors(part, document)
            for start in range(0, len(left), PAIRS_AT_ONCE):
                some = slice(start, start + PAIRS_AT_ONCE)
                total[some] += network(vectors[left[some]], vectors[right[some]]).double().cpu()
        return total / len(PARTS)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the mean score of each document's adjacent pairs."""
        self.network(PARTS[0])  # raises if the model is not trained
        return [self._score(document) for document in documents]

    def _score(self, document: Document) -> Score:
        if len(document) < 2:
            return Score(None)
        numbers = torch.arange(len(document))
        return mean_score(self.pair_scores(document, numbers[:-1], numbers[1:]).tolist())

    def pair_table(self, document: Document) -> Table:
        """Return the scores of all ordered pairs: [sentences, sentences], zero on the diagonal."""
        size = len(document)
        numbers = torch.arange(size)
        scores = self.pair_scores(document, numbers.repeat_interleave(size), numbers.repeat(size))
        table: Table = scores.view(size, size).numpy().copy()
        np.fill_diagonal(table, 0.0)
        return table


def replaced_pairs(places: Tensor, each: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return all adjacent pairs, and for each pair some other sentences of its text.

    Args:
        places: Numbers of sentences, −1 after the end of a text of at least three sentences: [texts, longest].
        each: Number of other sentences for each pair.
        generator: The random numbers.

    Returns:
        The first and the second of each pair, [pairs], and others, [pairs, each], none of which is in the pair.

    Example:
        >>> replaced_pairs(torch.tensor([[0, 1, 2]]), 1, torch.Generator())
        (tensor([0, 1]), tensor([1, 2]), tensor([[2],
                [0]]))
    """
    real = places[:, 1:] >= 0  # [texts, longest − 1]
    sizes = (places >= 0).sum(dim=1)[:, None].expand_as(real)[real]  # [pairs]
    first = places[:, :1].expand_as(real)[real]  # [pairs] first sentence of the text
    left, right = places[:, :-1][real], places[:, 1:][real]
    steps = torch.rand(len(left), each, generator=generator) * (sizes - 2)[:, None]
    # Counted from the second sentence of the pair and around; the pair itself would come last and is not drawn.
    others = (right - first)[:, None] + 1 + steps.long()
    return left, right, first[:, None] + others % sizes[:, None]
