"""The precedence part of a generative model, which learns from frozen encoders which of two sentences comes first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from weft.corpora.store.paragraph_batches import ParagraphBatch, ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.document import Document
from weft.errors import ConfigError
from weft.models.common.neural.precedence import Precedence, PrecedenceNetwork, batch_bag
from weft.models.common.neural.sentence_predictor import Predictor
from weft.scoring.uni_bi_mmi import Table
from weft.training.loop import LossPart
from weft.training.part_names import ENCODERS
from weft.training.settings import TrainingSettings


class PrecedencePart:
    """The fourth part of a generative model, which reads the states of its ``encoders``."""

    def __init__(self, hidden: int, encoders: Callable[[], Mapping[str, Predictor]]) -> None:
        self.hidden, self.encoders = hidden, encoders
        self.trained: Precedence | None = None

    def new_network(self) -> PrecedenceNetwork:
        """Return an untrained network."""
        return PrecedenceNetwork(4 * self.hidden)  # two states of two encoders

    def batches(self, store: TokenStore, pad: int, settings: TrainingSettings) -> ParagraphStream:
        """Return batches of whole paragraphs."""
        return ParagraphStream(
            store, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed, pad=pad
        )

    def loss(self, network: PrecedenceNetwork, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """Return the summed loss of a batch of paragraphs."""
        encoders = [encoder.network for encoder in self.trained_encoders()]
        return LossPart(network.loss(batch_bag(encoders, batch, device)), batch.pairs)

    def foundation(self) -> dict[str, torch.Tensor]:
        """Return the weights of the encoders; with other encoders, the part must be trained again."""
        encoders = self.encoders()
        return {
            f"{name}.{key}": value
            for name in ENCODERS
            if name in encoders
            for key, value in encoders[name].network.state_dict().items()
        }

    def take(self, network: PrecedenceNetwork) -> None:
        """Use a trained network."""
        self.trained = Precedence(network, self.trained_encoders())

    def trained_encoders(self) -> list[Predictor]:
        """Return both encoders.

        Raises:
            ConfigError: An encoder is not trained yet.
        """
        encoders = self.encoders()
        missing = [part for part in ENCODERS if part not in encoders]
        if missing:
            raise ConfigError(
                "the precedence part needs the trained encoders of other parts",
                seen=f"no trained {' and '.join(missing)}",
                allowed=f"trained {' and '.join(ENCODERS)} parts",
                next_step="train all parts (omit --part), or train those first",
            )
        return [encoders[part] for part in ENCODERS]

    def table(self, document: Document, weight: float) -> Table | None:
        """Return the weighted log-odds that each sentence comes before each other one; None if it is not trained."""
        return None if self.trained is None else weight * self.trained.table(document)
