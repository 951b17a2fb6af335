"""What all generative models share in learning which of two sentences comes first, on encoders that stay the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from weft.corpora.store.paragraph_batches import ParagraphBatch, ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.document import Document
from weft.errors import ConfigError
from weft.models.common.network_parts import check_precedence_weight
from weft.models.common.neural_model import NeuralModel
from weft.models.common.precedence import Precedence, PrecedenceNetwork, batch_bag
from weft.models.common.sentence_predictor import Predictor
from weft.scoring.pairs import Table
from weft.training.loop import LossPart, TrainingSettings
from weft.training.parts import ENCODERS, PARTS, PRECEDENCE


class WithPrecedence(NeuralModel):
    """A model in two directions and a language model, with a fourth part where ``precedence`` is set.

    A model says what reads its sentences (`readers`); this class has the rest.
    """

    hidden: int
    precedence: bool
    precedence_weight: float
    judge: Precedence | None

    def readers(self) -> Mapping[str, Predictor]:
        """The trained directions as encoders of sentences, by the names of their parts."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[str, ...]:
        """What is trained, in this order: precedence stands on the encoders of the first two."""
        return (*PARTS, PRECEDENCE) if self.precedence else PARTS

    def precedence_network(self) -> PrecedenceNetwork:
        """An untrained network for the fourth part."""
        return PrecedenceNetwork(4 * self.hidden)  # two states of two encoders

    def precedence_batches(self, store: TokenStore, pad: int, settings: TrainingSettings) -> ParagraphStream:
        """Whole paragraphs, in which the order of every pair is learned."""
        return ParagraphStream(
            store, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed, pad=pad
        )

    def precedence_loss(self, network: PrecedenceNetwork, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """The summed loss of a batch of paragraphs."""
        encoders = [reader.network for reader in self.trained_readers()]
        return LossPart(network.loss(batch_bag(encoders, batch, device)), batch.pairs)

    def foundation(self, part: str) -> dict[str, torch.Tensor]:
        """The weights a part stands on: with other encoders, precedence must be learned again."""
        if part != PRECEDENCE:
            return {}
        readers = self.readers()
        return {
            f"{name}.{key}": value
            for name in ENCODERS
            if name in readers
            for key, value in readers[name].network.state_dict().items()
        }

    def trained_readers(self) -> list[Predictor]:
        """Both encoders.

        Raises:
            ConfigError: One is not trained yet.
        """
        readers = self.readers()
        missing = [part for part in ENCODERS if part not in readers]
        if missing:
            raise ConfigError(
                "precedence is learned on the encoders of other parts",
                seen=f"no trained {' and '.join(missing)}",
                allowed=f"trained {' and '.join(ENCODERS)} parts",
                next_step="train all parts (no --part), or those first",
            )
        return [readers[part] for part in ENCODERS]

    def check_changes(self, changes: Mapping[str, Any]) -> None:
        """Refuse settings that would change nothing.

        Raises:
            ConfigError: Precedence is weighed that was never learned.
        """
        if "precedence_weight" in changes:
            check_precedence_weight(changes["precedence_weight"], learned=self.judge is not None)

    def precedence_table(self, document: Document) -> Table | None:
        """What it counts that each sentence comes before each other one, or None where that was not learned."""
        return None if self.judge is None else self.precedence_weight * self.judge.table(document)
