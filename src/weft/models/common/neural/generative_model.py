"""The base of the generative models: a forward part, a backward part and a language model, trained and saved together.

The networks of both directions are encoder-decoders, which read pairs of sentences. A subclass whose networks are built
around one (`WrappingNetwork`) defines them, their batches, their loss and their predictor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from weft.corpora.store.pair_batches import Direction, PairStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document, Score
from weft.io.model_folder import Artifact, load_artifact
from weft.models.common.network_parts import check_precedence_weight, saved_parts, saved_tokenizer
from weft.models.common.neural.batch_tensors import zero_loss
from weft.models.common.neural.contrastive_loss import pair_loss
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork, special_ids
from weft.models.common.neural.network_folder import load_networks, round_as_saved, save_networks
from weft.models.common.neural.precedence import PrecedenceNetwork, PrecedencePart
from weft.models.common.neural.sentence_predictor import Predictor
from weft.models.common.saved_reference import saved_reference
from weft.models.common.setting_checks import restored_settings, untrained
from weft.models.common.token_cache import TokenCache
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.scoring.percentiles import Reference, reference_for
from weft.scoring.sequence_scorer import SequenceScorer
from weft.scoring.uni_bi_mmi import BoundedCache, Combine, Scorer, Table, checked_combine
from weft.settings import Settings as AnySettings
from weft.training.loop import Batches, LossPart
from weft.training.part_names import ENCODERS, PARTS, PRECEDENCE
from weft.training.settings import TrainingSettings


class GenerativeModel:
    """A model made of networks that share a tokenizer; satisfies `weft.protocols.NeuralModel` and `WritingModel`.

    Attributes:
        settings: The settings of the model.
        tokenizer: The tokenizer of all networks; None before training.
        reference: Reference scores of the current combination; None before `weft calibrate`.
        predictors: The trained parts forward, backward and prior.
        precedence: The fourth part.
        memory: Cache of log-probabilities before any combination.
    """

    name: ClassVar[str]
    card: ModelCard
    Settings: ClassVar[type[AnySettings]]
    scorer_class: ClassVar[type[Scorer] | type[SequenceScorer]]
    settings: Any

    def __init__(self, settings: AnySettings | None = None) -> None:
        self.settings = settings or self.Settings()
        self.tokenizer: Tokenizer | None = None
        self.reference: Reference | None = None
        self.predictors: dict[str, Any] = {}
        self.precedence = PrecedencePart(self.settings.hidden, self.encoders)
        self.memory: BoundedCache[Any, Any] = self.scorer_class.new_memory()

    # Defined by models whose networks are built around an encoder-decoder ---------------------------------------------

    def direction_network(self, tokenizer: Tokenizer) -> torch.nn.Module:
        """Return a network for the forward or backward part."""
        return Seq2SeqNetwork(self.architecture(tokenizer), **special_ids(tokenizer))

    def sentence_batches(self, part: Direction, store: TokenStore, pad: int, settings: TrainingSettings) -> Batches:
        """Return the batches of the forward, backward or prior part: sentence pairs, or single sentences."""
        return PairStream(
            store, part, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed,
            pad=pad, contrast=self.settings.contrast > 0 and part != "prior",
        )  # fmt: skip

    def guided_loss(self, network: Any, batch: Any, device: torch.device) -> LossPart:
        """Return the summed loss of a batch with a network that is not a plain encoder-decoder."""
        raise NotImplementedError

    def guided_predictor(self, network: Any, ids: TokenCache) -> Any:
        """Return the predictor of sentences with a trained network that is not a plain encoder-decoder."""
        raise NotImplementedError

    def share_with(self, other: Self) -> None:
        """Share the cache of log-probabilities with another model that has the same networks."""
        other.memory = self.memory

    # Training ---------------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the networks, in training order."""
        return tuple(self.settings.parts())

    def architecture(self, tokenizer: Tokenizer, **others: Any) -> Architecture:
        """Return the sizes of an encoder-decoder by the settings, with ``others`` of its fields."""
        chosen = self.settings
        sizes = Architecture(
            tokenizer.vocabulary_size, chosen.dimensions, chosen.hidden, chosen.layers, dropout=chosen.dropout,
            feed=chosen.feed, lexical=chosen.lexical,
        )  # fmt: skip
        return replace(sizes, **others)

    def empty_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """Return a network of the right shape, whose weights are replaced afterwards."""
        if part == PRECEDENCE:
            return self.precedence.new_network()
        if part == "prior":
            return Seq2SeqNetwork(self.architecture(tokenizer, encoder=False), **special_ids(tokenizer))
        return self.direction_network(tokenizer)

    def new_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """Return an untrained network."""
        return self.empty_network(part, tokenizer)

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> Batches:
        """Return the batches of a part."""
        if part == PRECEDENCE:
            return self.precedence.batches(store, pad, settings)
        return self.sentence_batches(next(name for name in PARTS if name == part), store, pad, settings)

    def batch_loss(self, network: torch.nn.Module, batch: Any, device: torch.device) -> LossPart:
        """Return the summed loss of a batch; an empty share of a batch has a loss of zero."""
        if not len(batch):
            return LossPart(zero_loss(network), 0)
        if isinstance(network, PrecedenceNetwork):
            return self.precedence.loss(network, batch, device)
        if isinstance(network, Seq2SeqNetwork):
            return pair_loss(network, batch, device, self.settings.contrast)
        return self.guided_loss(network, batch, device)

    def foundation(self, part: str) -> Mapping[str, torch.Tensor]:
        """Return the weights outside of a part that its training depends on."""
        return self.precedence.foundation() if part == PRECEDENCE else {}

    def initial_parts(self) -> Mapping[str, str]:
        """Return an empty mapping: each part starts from its namesake in `run.start`."""
        return {}

    def prepare(self) -> None:
        """Do nothing: the settings name no other model."""

    def built_on(self) -> tuple[str, ...]:
        """Return the model folders named in the settings; none by default."""
        return ()

    def read_texts(self, sentences: Iterable[str], tokenizer: Tokenizer, *, progress: Progress = silent) -> None:
        """Do nothing: the model needs only the tokens of the store."""

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Train all parts on documents, with a BPE vocabulary learned from them; for small corpora."""
        from weft.training.fit_documents import fit_documents

        return fit_documents(self, documents, seed=seed, progress=progress)

    # Trained networks -------------------------------------------------------------------------------------------------

    def assemble(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        """Take trained networks into the model, rounded as they will be saved."""
        round_as_saved(networks, self.settings.precision)
        return self._take(networks, tokenizer)

    def _take(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        self.tokenizer, ids = tokenizer, TokenCache(tokenizer)
        self.memory = self.scorer_class.new_memory()
        for part, network in networks.items():
            if isinstance(network, PrecedenceNetwork):
                self.precedence.take(network)
            elif isinstance(network, Seq2SeqNetwork):
                self.predictors[part] = Predictor(network, ids)
            else:
                self.predictors[part] = self.guided_predictor(network, ids)
        return self

    def encoders(self) -> dict[str, Predictor]:
        """Return the trained directions as sentence encoders, by part."""
        found = {part: self.predictors[part] for part in ENCODERS if part in self.predictors}
        return {
            part: one if isinstance(one, Predictor) else Predictor(one.network.words, one.ids)
            for part, one in found.items()
        }

    def networks(self) -> dict[str, torch.nn.Module]:
        """Return the trained networks by part."""
        found: dict[str, torch.nn.Module] = {part: one.network for part, one in self.predictors.items()}
        trained = self.precedence.trained
        return found if trained is None else {**found, PRECEDENCE: trained}

    def to(self, device: str | torch.device) -> Self:
        """Move the networks to a device."""
        for network in self.networks().values():
            network.to(device)
        return self

    def trained_parts(self) -> tuple[Any, Any, Predictor]:
        """Return the forward, backward and prior parts.

        Raises:
            ModelError: A part is not trained.
        """
        if not set(PARTS) <= set(self.predictors):
            raise untrained(self.name)
        forward, backward, prior = (self.predictors[part] for part in PARTS)
        return forward, backward, prior

    # Scoring and writing ----------------------------------------------------------------------------------------------

    @property
    def combine(self) -> Combine:
        """The combination in use."""
        return checked_combine(self.settings.combine)

    @property
    def scorer(self) -> Any:
        """The scorer that combines the trained parts."""
        backward, prior = (self.predictors.get(part) for part in PARTS[1:])
        return self.scorer_class(self.writer(), backward, prior, self.combine, self.memory)

    def combined(self, combine: str) -> Self:
        """Return the same networks with another combination; both share one cache."""
        return self.adjusted({"combine": combine})

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same networks with other settings, of those that are adjustable.

        Raises:
            ConfigError: A value is wrong, or the precedence part has a weight but is not trained.
        """
        if "precedence_weight" in changes:
            check_precedence_weight(changes["precedence_weight"], learned=self.precedence.trained is not None)
        other = type(self)(self.settings.changed(changes))
        other.tokenizer, other.predictors = self.tokenizer, self.predictors
        other.precedence.trained = self.precedence.trained
        other.reference = reference_for(self.reference, other.combine)
        self.share_with(other)
        return other

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document: the mean over its transitions."""
        scores: list[Score] = self.scorer.score(documents)
        return scores

    def precedence_table(self, document: Document) -> Table | None:
        """Return the weighted log-odds that each sentence comes before each other one; None if not trained."""
        return self.precedence.table(document, self.settings.precedence_weight)

    def writer(self) -> Any:
        """Return the forward part, which proposes next sentences.

        Raises:
            ModelError: It is not trained.
        """
        if "forward" not in self.predictors:
            raise untrained(self.name)
        return self.predictors["forward"]

    def reranker(self, combine: str) -> Scorer | SequenceScorer:
        """Return the scorer that reranks candidates."""
        scorer: Scorer | SequenceScorer = self.combined(combine).scorer
        return scorer

    # Model folder -----------------------------------------------------------------------------------------------------

    def companions(self) -> dict[str, Artifact]:
        """Return the other models that are saved in the same folder; none by default."""
        return {}

    def read_companions(self, artifact: Artifact, folder: str | Path) -> None:
        """Restore the models of `companions` before the networks are built; nothing by default."""

    def save(
        self, folder: str | Path, *, training: Mapping[str, Any] | None = None, beside: Sequence[str | Path] = ()
    ) -> None:
        """Write a model folder; weights that a folder of ``beside`` holds are not written again."""
        networks = self.networks()
        if not networks or self.tokenizer is None:
            raise untrained(self.name)
        save_networks(
            self.name, self.settings.to_dict(), networks, self.tokenizer, folder, companions=self.companions(),
            reference=self.reference, training=training, beside=beside,
        )  # fmt: skip

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        return cls.from_artifact(load_artifact(folder), folder)

    @classmethod
    def from_artifact(cls, artifact: Artifact, folder: str | Path) -> Self:
        """Return the model with the contents of a folder."""
        tokenizer = saved_tokenizer(artifact, folder)
        settings: Any = restored_settings(cls.Settings, artifact, folder)
        model = cls(settings)
        model.read_companions(artifact, folder)
        parts = saved_parts(artifact, folder)
        networks = load_networks(parts, lambda part: model.empty_network(part, tokenizer), artifact, folder)
        model._take(networks, tokenizer)
        model.reference = reference_for(saved_reference(artifact, folder), model.combine)
        return model
