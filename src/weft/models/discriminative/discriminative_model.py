"""Base of the discriminative models: their networks, training batches, sentence vectors and model folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from weft.corpora.store.paragraph_batches import ParagraphBatch, ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.errors import ModelError
from weft.io.model_folder import Artifact, load_artifact
from weft.models.common.network_parts import saved_tokenizer
from weft.models.common.neural.encoder_decoder import Tokens
from weft.models.common.neural.network_folder import load_networks, round_as_saved, save_networks
from weft.models.common.neural.pretrained_vectors import vectors_of_tokens
from weft.models.common.neural.sentence_predictor import by_length, lengths_of, padded
from weft.models.common.saved_reference import saved_reference
from weft.models.common.setting_checks import restored_settings, untrained
from weft.models.common.token_cache import TokenCache
from weft.models.discriminative.networks import POOLINGS, ReaderOptions
from weft.progress import Progress, silent
from weft.protocols import ModelCard, NeuralModel
from weft.scoring.percentiles import Reference, reference_for
from weft.scoring.uni_bi_mmi import BoundedCache
from weft.settings import Settings as ModelSettings
from weft.settings import setting
from weft.training.loop import LossPart
from weft.training.settings import TrainingSettings

VALIDATION_SEED = 20170605  # of the negatives in validation, which are always the same
REMEMBERED = 8  # texts whose sentence vectors are cached
NO_COMBINATION = ""  # reference scores belong to the model itself, not to a combination of parts


@dataclass(frozen=True, kw_only=True)
class NetworkFields:
    """Settings shared by all discriminative models."""

    fewest: int = setting(2, "Number of sentences of the shortest training texts.", minimum=2)
    dimensions: int = setting(100, "Size of token vectors.", minimum=1)
    hidden: int = setting(100, "Size of a sentence vector.", minimum=1)
    width: int = setting(100, "Size of the hidden layer that compares sentences.", minimum=1)
    dropout: float = setting(0.3, "Dropout rate in training.", minimum=0, below=1)
    vectors: str = setting(
        "", "Initial word vectors: a GloVe file or folder, or glove for the embedded ones; empty: learned from scratch."
    )
    tuned: bool = setting(False, "Train the initial word vectors further; the paper keeps them fixed.")
    likeness: bool = setting(True, "Add two cosine similarities of each pair of sentences as features (an extension).")
    precision: str = setting("int8", "Precision of saved weights.", choices=("int8", "float32"))


@dataclass(frozen=True, kw_only=True)
class LstmFields:
    """Settings of models that read sentences with an LSTM."""

    layers: int = setting(1, "Number of LSTM layers.", minimum=1)
    pooling: str = setting(
        "max", "States that make the sentence vector: last (the paper's), max or mean.", choices=POOLINGS
    )
    frozen: str = setting("", "encoder keeps the sentence reader as it is in run.start.", choices=("", "encoder"))


class DiscriminativeModel(ABC):
    """A model made of networks that share a tokenizer; satisfies `weft.protocols.NeuralModel`.

    Attributes:
        trained: The trained networks by part.
        tokenizer: The tokenizer of all networks; None before training.
        reference: Reference scores; None before `weft calibrate`.
    """

    name: ClassVar[str]
    card: ModelCard
    parts: tuple[str, ...]  # the names of the networks
    Settings: ClassVar[type[ModelSettings]]
    settings: ModelSettings

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = settings or self.Settings()
        assert isinstance(self.settings, NetworkFields)
        self.network_settings: NetworkFields = self.settings
        self.trained: dict[str, torch.nn.Module] = {}
        self.tokenizer: Tokenizer | None = None
        self.reference: Reference | None = None
        self.memory: BoundedCache[tuple[str, ...], Any] = BoundedCache(REMEMBERED)

    # Training ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def empty_network(self, part: str, tokenizer: Tokenizer) -> Any:
        """Return a network of the right shape for a part."""

    @abstractmethod
    def batch_loss(self, network: torch.nn.Module, batch: Any, device: torch.device) -> LossPart:
        """Return the summed loss of a batch."""

    def new_network(self, part: str, tokenizer: Tokenizer) -> Any:
        """Return an untrained network, with the initial word vectors of the settings."""
        network, chosen = self.empty_network(part, tokenizer), self.network_settings
        if chosen.vectors:
            given = vectors_of_tokens(chosen.vectors, tokenizer, chosen.dimensions)
            network.embedding.weight.data = given / network.embedding.scale
        return network

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> Any:  # noqa: ARG002
        """Return batches of whole texts; negatives are made from their sentences."""
        return ParagraphStream(
            store, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed, pad=pad,
            fewest=self.network_settings.fewest, dated=False,
        )  # fmt: skip

    def foundation(self, part: str) -> Mapping[str, Tensor]:  # noqa: ARG002
        """Return an empty mapping: the parts are independent."""
        return {}

    def initial_parts(self) -> Mapping[str, str]:
        """Return, by part, the part of `run.start` that it starts from; by default its namesake."""
        return {}

    def prepare(self) -> None:  # noqa: B027
        """Do nothing: the settings name no other model."""

    def built_on(self) -> tuple[str, ...]:
        """Return an empty tuple: the model contains no weights of other models."""
        return ()

    def read_texts(  # noqa: B027
        self, sentences: Iterable[str], tokenizer: Tokenizer, *, progress: Progress = silent
    ) -> None:
        """Read the training texts; nothing by default, because most models need only their tokens."""

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Train all parts on documents in memory, with a vocabulary learned from them."""
        from weft.training.fit_documents import fit_documents

        assert isinstance(self, NeuralModel)
        return fit_documents(self, documents, seed=seed, progress=progress)

    def assemble(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        """Take trained networks into the model, rounded as they will be saved."""
        round_as_saved(networks, self.network_settings.precision)
        self._take(networks, tokenizer)
        return self

    def _take(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> None:
        self.tokenizer, self.ids = tokenizer, TokenCache(tokenizer)
        self.trained |= {part: network.eval() for part, network in networks.items()}
        self.memory = BoundedCache(REMEMBERED)  # what was computed with other networks is forgotten

    # Networks ---------------------------------------------------------------------------------------------------------

    def networks(self) -> dict[str, torch.nn.Module]:
        """Return the trained networks by part."""
        return dict(self.trained)

    def network(self, part: str) -> Any:
        """Return a trained network.

        Raises:
            ModelError: It is not trained.
        """
        if part not in self.trained:
            raise untrained(self.name)
        return self.trained[part]

    def to(self, device: str | torch.device) -> Self:
        """Move the networks to a device."""
        for network in self.trained.values():
            network.to(device)
        return self

    @torch.inference_mode()
    def sentence_vectors(self, part: str, sentences: Sequence[str]) -> Tensor:
        """Return the vector of each sentence; a distinct sentence is read once: [sentences, size]."""
        network = self.network(part)
        distinct = list(dict.fromkeys(sentences))
        found: Tensor = network.embedding.weight.new_zeros(len(distinct), network.size)
        for numbers, batch in self.reading_batches(distinct, found.device):
            found[numbers] = network.read(batch)
        row_of = {sentence: row for row, sentence in enumerate(distinct)}
        return found[[row_of[sentence] for sentence in sentences]]

    def reading_batches(self, sentences: Sequence[str], device: torch.device) -> Iterator[tuple[list[int], Any]]:
        """Yield batches of sentences: their numbers, and what a network reads of them, on a device."""
        ids = self.ids.to_read(sentences)
        for chosen in by_length(lengths_of(ids), device):
            numbers = chosen.tolist()
            yield numbers, padded([ids[number] for number in numbers], self.ids.tokenizer.pad_id, device)

    # Saving -----------------------------------------------------------------------------------------------------------

    def companions(self) -> dict[str, Artifact]:
        """Return an empty mapping: no other model is saved in the same folder."""
        return {}

    def save(
        self, folder: str | Path, *, training: Mapping[str, Any] | None = None, beside: Sequence[str | Path] = ()
    ) -> None:
        """Write all parts and their tokenizer, without weights that are already in one of the folders ``beside``."""
        if not self.trained or self.tokenizer is None:
            raise untrained(self.name)
        save_networks(
            self.name, self.settings.to_dict(), self.trained, self.tokenizer, folder, companions={},
            reference=self.reference, training=training, beside=beside,
        )  # fmt: skip

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        artifact = load_artifact(folder)
        tokenizer = saved_tokenizer(artifact, folder)
        model = cls(restored_settings(cls.Settings, artifact, folder))
        model._check_parts(artifact, folder)
        networks = load_networks(model.parts, lambda part: model.empty_network(part, tokenizer), artifact, folder)
        model._take(networks, tokenizer)
        model.reference = reference_for(saved_reference(artifact, folder), NO_COMBINATION)
        return model

    def _check_parts(self, artifact: Artifact, folder: str | Path) -> None:
        """Raise ModelError if a folder does not hold exactly the parts of this model."""
        saved = artifact.config.get("parts")
        if saved != list(self.parts):
            raise ModelError(
                f"the settings in {folder} are damaged or were altered: `parts` must name the networks of {self.name}",
                seen="null" if saved is None else saved,
                allowed=", ".join(self.parts),
                next_step="copy or train the model again",
            )


def lstm_options(fields: LstmFields, network: NetworkFields, tokenizer: Tokenizer) -> ReaderOptions:
    """Return how an LSTM reads sentences."""
    return ReaderOptions(
        tokenizer.vocabulary_size, network.dimensions, network.hidden, fields.layers, fields.pooling, network.dropout,
        fixed_words=bool(network.vectors) and not network.tuned, fixed_encoder=fields.frozen == "encoder",
        similarity=network.likeness,
    )  # fmt: skip


def sentences_to_device(batch: ParagraphBatch, device: torch.device) -> Tokens:
    """Return the sentences of a batch on a device."""
    return Tokens(torch.from_numpy(batch.sentences).to(device), torch.from_numpy(batch.lengths).to(device))


def negatives_generator(network: torch.nn.Module) -> torch.Generator:
    """Return the random numbers of negatives: new ones at each step of training, fixed ones in validation."""
    seed = int(torch.randint(2**31, ())) if network.training else VALIDATION_SEED
    return torch.Generator().manual_seed(seed)
