"""What the discriminative models share: settings, sentences read once each, and their folder on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from weft.corpora.store.pair_batches import pad_rows
from weft.corpora.store.paragraph_batches import ParagraphBatch, ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ModelError
from weft.io.model_folder import Artifact
from weft.models.common.neural.encoder_decoder import Tokens
from weft.models.common.neural.neural_model import NeuralModel
from weft.models.common.neural.pretrained_vectors import vectors_of_tokens
from weft.models.common.setting_checks import at_least, check_choice, check_share, check_text, untrained
from weft.models.common.token_cache import TokenCache
from weft.models.discriminative.networks import POOLINGS, Reader, Reading
from weft.training.settings import TrainingSettings

READ_TOKENS = 16384  # padded tokens read at a time: memory stays flat, however long a text is
READING_SETTINGS = (
    "dimensions", "hidden", "layers", "pooling", "width", "dropout", "vectors", "tuned", "frozen", "likeness",
)  # fmt: skip
FIXED_SEED = 20170605  # of the negatives that validation sees, the same each time


class Judge(NeuralModel):
    """A model that reads sentences by an LSTM and judges what stands next to what.

    A model says what its networks are (`build`), what their loss is, and how it scores; this class has the rest.
    """

    fewest: int
    dimensions: int
    hidden: int
    layers: int
    pooling: str
    width: int
    dropout: float
    vectors: str
    tuned: bool
    frozen: str
    likeness: bool

    def _keep(
        self, dimensions: int, hidden: int, layers: int, pooling: str, width: int, dropout: float, vectors: str,
        tuned: bool, frozen: str, likeness: bool, precision: str,
    ) -> None:  # fmt: skip
        """Check and store what all constructors take."""
        for name, size in (("dimensions", dimensions), ("hidden", hidden), ("layers", layers), ("width", width)):
            at_least(self.name, name, size, 1)
        check_share("dropout", dropout)
        check_choice(self.name, "pooling", pooling, POOLINGS)
        check_choice(self.name, "frozen", frozen, ("", "encoder"))
        check_choice(self.name, "precision", precision, ("int8", "float32"))
        check_text(self.name, "vectors", vectors)
        self.dimensions, self.hidden, self.layers, self.pooling, self.width = dimensions, hidden, layers, pooling, width
        self.dropout, self.vectors, self.tuned, self.frozen = dropout, vectors, tuned, frozen
        self.likeness, self.precision = likeness, precision
        self.judges: dict[str, Any] = {}

    @property
    def setting(self) -> str:
        """Nothing is combined: reference scores are those of the model."""
        return ""

    # Training: what the run needs to know of the model --------------------------------------------------------------

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the networks."""
        raise NotImplementedError

    def build(self, part: str, reading: Reading) -> Reader:
        """A network for one of the parts."""
        raise NotImplementedError

    def reading(self, tokenizer: Tokenizer) -> Reading:
        """How sentences are read."""
        return Reading(
            tokenizer.vocabulary_size, self.dimensions, self.hidden, self.layers, self.pooling, self.dropout,
            fixed_words=bool(self.vectors) and not self.tuned, fixed_encoder=self.frozen == "encoder",
            likeness=self.likeness,
        )  # fmt: skip

    def empty_network(self, part: str, tokenizer: Tokenizer) -> Reader:
        """A network of the right shape; given vectors are not read, since a saved network brings its own."""
        return self.build(part, self.reading(tokenizer))

    def new_network(self, part: str, tokenizer: Tokenizer) -> Reader:
        """An untrained network, with given word vectors where there are any."""
        network = self.empty_network(part, tokenizer)
        if self.vectors:
            given = vectors_of_tokens(self.vectors, tokenizer, self.dimensions)
            network.embedding.weight.data = given / network.embedding.scale
        return network

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> ParagraphStream:  # noqa: ARG002
        """Whole texts: damaged ones are made of their own sentences, or of each other's."""
        return ParagraphStream(
            store, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed, pad=pad,
            fewest=self.fewest, dated=False,
        )  # fmt: skip

    def foundation(self, part: str) -> Mapping[str, Tensor]:  # noqa: ARG002
        """No part stands on another."""
        return {}

    def take(self, part: str, network: torch.nn.Module, ids: TokenCache) -> None:
        """Put a trained network to its use."""
        self.judges[part], self.ids = network.eval(), ids

    def networks(self) -> dict[str, torch.nn.Module]:
        """The trained networks by the names of their parts."""
        return dict(self.judges)

    def judge(self, part: str) -> Any:
        """A trained network.

        Raises:
            ModelError: It is not trained.
        """
        if part not in self.judges:
            raise untrained(self.name)
        return self.judges[part]

    # Reading ----------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def sentence_vectors(self, part: str, sentences: Sequence[str]) -> Tensor:
        """What a network makes of each sentence, each read once: [sentences, size]."""
        network = self.judge(part)
        distinct = list(dict.fromkeys(sentences))
        found: Tensor = network.embedding.weight.new_zeros(len(distinct), network.size)
        for numbers, tokens in self._padded(distinct, found.device):
            found[numbers] = network.read(tokens)
        row_of = {sentence: row for row, sentence in enumerate(distinct)}
        return found[[row_of[sentence] for sentence in sentences]]

    def _padded(self, sentences: Sequence[str], device: torch.device) -> Iterator[tuple[list[int], Tokens]]:
        """Sentences of alike length together: their numbers, and their tokens on a device."""
        ids = self.ids.to_read(sentences)
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and len(ids[order[end]]) * (end + 1 - start) <= READ_TOKENS:
                end += 1
            chosen = order[start:end]
            lengths = np.array([len(ids[number]) for number in chosen])
            flat = np.concatenate([ids[number] for number in chosen])
            rows, _ = pad_rows(flat, np.concatenate([[0], np.cumsum(lengths)]), self.ids.tokenizer.pad_id)
            yield chosen, Tokens(torch.from_numpy(rows).to(device), torch.from_numpy(lengths).to(device))
            start = end

    # A model among others ---------------------------------------------------------------------------------------------

    @classmethod
    def saved_parts(cls, artifact: Artifact, folder: str | Path) -> list[str]:
        """The parts a folder holds: all that the model has, or it cannot score."""
        named, wanted = artifact.config.get("parts"), list(cls.part_names)
        if named != wanted:
            raise ModelError(
                f"the settings in {folder} are damaged or were altered: `parts` must name the networks of {cls.name}",
                seen="null" if named is None else named,
                allowed=", ".join(wanted),
                next_step="copy or train the model again",
            )
        return wanted

    part_names: ClassVar[tuple[str, ...]]


def moved_sentences(batch: ParagraphBatch, device: torch.device) -> Tokens:
    """The sentences of a batch on a device."""
    return Tokens(torch.from_numpy(batch.sentences).to(device), torch.from_numpy(batch.lengths).to(device))


def negatives_generator(network: torch.nn.Module) -> torch.Generator:
    """Where damage comes from: seeded by the step in training, the same each time in validation."""
    seed = int(torch.randint(2**31, ())) if network.training else FIXED_SEED
    return torch.Generator().manual_seed(seed)
