"""The discriminative model: a classifier of cliques, original or damaged.

References: Li & Hovy 2014; Li & Jurafsky 2017, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

from weft.corpora.store.paragraph_batches import ParagraphBatch
from weft.corpora.text.tokenizers import Tokenizer
from weft.models.common.neural.batch_tensors import zero_loss
from weft.models.discriminative.clique_scorer import PART, CliqueFields, CliqueScorer, clique_loss
from weft.models.discriminative.discriminative_model import (
    DiscriminativeModel,
    LstmFields,
    NetworkFields,
    lstm_options,
    sentences_to_device,
)
from weft.models.discriminative.networks import CliqueNetwork
from weft.protocols import ModelCard
from weft.registry import TORCH_MODELS
from weft.settings import Settings
from weft.training.loop import LossPart


@dataclass(frozen=True, kw_only=True)
class DiscriminativeSettings(CliqueFields, LstmFields, NetworkFields, Settings):
    """Settings of `discriminative`."""

    model_name: ClassVar[str] = "discriminative"

    def parts(self) -> tuple[str, ...]:
        """Return the names of the networks, in training order."""
        return (PART,)


class Discriminative(DiscriminativeModel, CliqueScorer):
    """Mean log-odds that cliques of adjacent sentences are original rather than damaged.

    A clique is a sentence with `window` sentences on either side; texts are padded at both ends. An LSTM reads each
    sentence; h = tanh(W [s_1; …; s_{2L+1}] + b) and log-odds = u · h + c.

    Paper: the score is the mean of probabilities. Here it is the mean of log-odds: probabilities of well-learned
    cliques are all 1 to the last digit, and such texts would tie.

    Example:
        >>> Discriminative(DiscriminativeSettings(window=2)).parts
        ('clique',)
    """

    name = "discriminative"
    parts = (PART,)
    card = ModelCard(
        summary=TORCH_MODELS["discriminative"],
        reference="Li & Jurafsky 2017, section 2; Li & Hovy 2014",
        score_range="log-odds, around -10 to 10",
        bar_range=(-10.0, 10.0),
        meaning="each sentence fits its neighbours and its place, as in the training texts",
        comparable="between texts of the kind it was trained on",
        needs="trained weights (pip install ./zoo) or training",
    )
    Settings = DiscriminativeSettings
    settings: DiscriminativeSettings

    def initial_parts(self) -> Mapping[str, str]:
        """Return the part of a seq2seq in `run.start` whose encoder the network starts from."""
        return {PART: "forward"}

    def empty_network(self, part: str, tokenizer: Tokenizer) -> CliqueNetwork:  # noqa: ARG002
        """Return an untrained network."""
        chosen = self.settings
        return CliqueNetwork(lstm_options(chosen, chosen, tokenizer), chosen.window, chosen.width)

    def batch_loss(self, network: torch.nn.Module, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """Return the summed cross-entropy of original and damaged cliques."""
        if not len(batch):
            return LossPart(zero_loss(network), 0)
        assert isinstance(network, CliqueNetwork)
        read = network.read(sentences_to_device(batch, device))  # [sentences, vector and content]
        return clique_loss(network.head, read, batch.places, self.settings, network)
