"""What HMM-LDA-GM and VLV-GM share as coherence models: two guided directions, and Seq2Seq's language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import torch

from weft.corpora.store.pair_batches import Direction, PairStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document, Score
from weft.generation.decoding import Candidate, Decoding
from weft.models.common.encoder_decoder import Architecture, Seq2SeqNetwork
from weft.models.common.neural_model import moved_pairs, no_loss
from weft.models.common.precedence import Precedence, PrecedenceNetwork
from weft.models.common.precedence_part import WithPrecedence
from weft.models.common.sentence_predictor import Predictor
from weft.models.common.setting_checks import check_choice, check_contrast, check_share, check_weight, untrained
from weft.models.common.token_cache import TokenCache
from weft.protocols import SequenceModel
from weft.scoring.sequences import OrderMemory, SequenceScorer
from weft.training.loop import LossPart, TrainingSettings
from weft.training.parts import PARTS, PRECEDENCE

FROZEN = ("", "encoder", "words")


class Chain(SequenceModel, Protocol):
    """A trained direction that remembers all sentences before."""

    network: Any
    ids: TokenCache

    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        """For every context several next sentences, best first."""


class GuidedModel(WithPrecedence):
    """An encoder-decoder in two directions, every word of a sentence guided by a vector, and a language model.

    A model says what its guided network is (`guided_network`) and what it makes of a trained one (`take`).
    """

    adjustable: ClassVar[tuple[str, ...]]  # what can change without training again
    dimensions: int
    layers: int
    feed: bool
    lexical: bool
    dropout: float
    word_dropout: float
    contrast: float
    frozen: str
    chains: Mapping[str, Chain]
    prior: Predictor | None
    memory: OrderMemory

    def check_shared_settings(self) -> None:
        """Refuse values that make no sense, of the settings that all guided models have.

        Raises:
            ConfigError: One is out of range.
        """
        for name in ("dropout", "word_dropout"):
            check_share(name, getattr(self, name))
        check_contrast(self.contrast)
        check_weight("precedence_weight", self.precedence_weight)
        check_choice(self.name, "frozen", self.frozen, FROZEN)
        check_choice(self.name, "precision", self.precision, ("int8", "float32"))

    def begin_untrained(self) -> None:
        """Nothing is trained yet, and no text was scored."""
        self.prior, self.judge, self.memory = None, None, OrderMemory()

    @property
    def guide_size(self) -> int:
        """Size of the vector that guides."""
        raise NotImplementedError

    def guided_network(self, sizes: Architecture, special: Mapping[str, int]) -> torch.nn.Module:
        """A network around an encoder-decoder of these sizes; ``special`` are the ids bos, eos and pad."""
        raise NotImplementedError

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """The same networks with other settings, of those in ``adjustable``."""
        raise NotImplementedError

    def new_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """An untrained network."""
        return self.empty_network(part, tokenizer)

    def empty_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """A guided encoder-decoder; for the prior, the language model that Seq2Seq has too."""
        if part == PRECEDENCE:
            return self.precedence_network()
        is_prior = part == "prior"
        sizes = Architecture(
            tokenizer.vocabulary_size, self.dimensions, self.hidden, self.layers, encoder=not is_prior,
            dropout=self.dropout, word_dropout=0.0 if is_prior else self.word_dropout, feed=self.feed,
            lexical=self.lexical, guide=0 if is_prior else self.guide_size,
        )  # fmt: skip
        special = {"bos": tokenizer.bos_id, "eos": tokenizer.eos_id, "pad": tokenizer.pad_id}
        if is_prior:
            return Seq2SeqNetwork(sizes, **special)
        network = self.guided_network(sizes, special)
        freeze(network, self.frozen)
        return network

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> Any:
        """Single sentences for the prior, whole paragraphs for precedence; for the directions, the model's own."""
        if part == PRECEDENCE:
            return self.precedence_batches(store, pad, settings)
        direction: Direction = next(name for name in PARTS if name == part)
        if direction == "prior":
            return PairStream(
                store, direction, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens,
                seed=settings.seed, pad=pad,
            )  # fmt: skip
        return self.guided_batches(direction, store, pad, settings)

    def guided_batches(self, direction: Direction, store: TokenStore, pad: int, settings: TrainingSettings) -> Any:
        """What a direction learns from."""
        raise NotImplementedError

    def batch_loss(self, network: torch.nn.Module, batch: Any, device: torch.device) -> LossPart:
        """The summed loss of a batch; a process whose share is empty adds nothing, with gradients of zero."""
        if not len(batch):
            return LossPart(no_loss(network), 0)
        if isinstance(network, PrecedenceNetwork):
            return self.precedence_loss(network, batch, device)
        if isinstance(network, Seq2SeqNetwork):
            return LossPart(network.loss(*moved_pairs(batch, device)), batch.tokens)
        return self.guided_loss(network, batch, device)

    def guided_loss(self, network: torch.nn.Module, batch: Any, device: torch.device) -> LossPart:
        """The summed loss of a batch of a direction."""
        raise NotImplementedError

    def take(self, part: str, network: torch.nn.Module, ids: TokenCache) -> None:  # noqa: ARG002
        """Put a trained language model, or a judge of pairs, to its use; guided networks are the model's own."""
        if isinstance(network, PrecedenceNetwork):
            self.judge = Precedence(network, self.trained_readers())
            return
        assert isinstance(network, Seq2SeqNetwork)
        self.prior = Predictor(network, ids.tokenizer, ids)

    def readers(self) -> Mapping[str, Predictor]:
        """The encoders inside the directions."""
        return {part: Predictor(c.network.words, c.ids.tokenizer, c.ids) for part, c in self.chains.items()}

    def networks(self) -> dict[str, torch.nn.Module]:
        """The trained networks by the names of their parts."""
        found: dict[str, torch.nn.Module] = {part: chain.network for part, chain in self.chains.items()}
        if self.prior is not None:
            found["prior"] = self.prior.network
        return found if self.judge is None else {**found, PRECEDENCE: self.judge.network}

    @property
    def predictors(self) -> Mapping[str, Chain]:
        """The directions by the names of their parts, which can also write."""
        return self.chains

    def writer(self) -> Chain:
        """Return the forward part, which proposes next sentences."""
        if "forward" not in self.chains:
            raise untrained(self.name)
        return self.chains["forward"]

    def trained_parts(self) -> tuple[Any, Any, Predictor]:
        """Return the forward, backward and prior parts.

        Raises:
            ModelError: One is not trained.
        """
        if self.prior is None or not {"forward", "backward"} <= set(self.chains):
            raise untrained(self.name)
        return self.chains["forward"], self.chains["backward"], self.prior

    def reranker(self, combine: str) -> SequenceScorer:
        """Return the scorer that reranks candidates."""
        return self.combined(combine).scorer

    @property
    def scorer(self) -> SequenceScorer:
        """The parts put together."""
        if not self.chains:
            raise untrained(self.name)
        forward, backward = self.chains["forward"], self.chains.get("backward")
        return SequenceScorer(forward, backward, self.prior, self.combine, self.memory)

    def combined(self, combine: str) -> Self:
        """The same networks, combined another way."""
        return self.adjusted({"combine": combine})

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean over its sentences but the first."""
        return self.scorer.score(documents)

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The scores of a document's sentences in several orders; they are read once."""
        return self.scorer.order_scores(document, orders)


def freeze(network: torch.nn.Module, what: str) -> None:
    """Keep weights as a run starts with them: so that a folder need not hold them again, and training is faster.

    Args:
        network: Around an encoder-decoder.
        what: One of `FROZEN`: nothing, the encoder with the vectors of words, or all of the encoder-decoder.
    """
    kept = {"": (), "encoder": ("words.embedding.", "words.encoder."), "words": ("words.",)}[what]
    for name, parameter in network.named_parameters():
        if name.startswith(kept) and not name.startswith("words.guides."):
            parameter.requires_grad_(False)
