"""What HMM-LDA-GM and VLV-GM share as coherence models: two guided directions, and Seq2Seq's language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import torch

from weft.corpora.tokenizers import Tokenizer
from weft.document import Document, Score
from weft.generation import Candidate, Decoding
from weft.models import SequenceModel
from weft.models.baselines.lsa import untrained
from weft.models.generative.known_ids import KnownIds
from weft.models.generative.network import Architecture, Seq2SeqNetwork
from weft.models.generative.neural_model import NeuralModel
from weft.models.generative.parts import PARTS
from weft.models.generative.predictor import Predictor
from weft.scoring import SequenceScorer


class Chain(SequenceModel, Protocol):
    """A trained direction that remembers all sentences before."""

    network: Any

    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        """For every context several next sentences, best first."""


class GuidedModel(NeuralModel):
    """An encoder-decoder in two directions, every word of a sentence guided by a vector, and a language model.

    A model says what its guided network is (`guided_network`) and what it makes of a trained one (`take`).
    """

    dimensions: int
    hidden: int
    layers: int
    feed: bool
    lexical: bool
    dropout: float
    word_dropout: float
    chains: Mapping[str, Chain]
    prior: Predictor | None

    @property
    def parts(self) -> tuple[str, ...]:
        """What is trained: two directions and a language model."""
        return PARTS

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
        is_prior = part == "prior"
        sizes = Architecture(
            tokenizer.vocabulary_size, self.dimensions, self.hidden, self.layers, encoder=not is_prior,
            dropout=self.dropout, word_dropout=0.0 if is_prior else self.word_dropout, feed=self.feed,
            lexical=self.lexical, guide=0 if is_prior else self.guide_size,
        )  # fmt: skip
        special = {"bos": tokenizer.bos_id, "eos": tokenizer.eos_id, "pad": tokenizer.pad_id}
        return Seq2SeqNetwork(sizes, **special) if is_prior else self.guided_network(sizes, special)

    def take(self, part: str, network: torch.nn.Module, ids: KnownIds) -> None:  # noqa: ARG002
        """Put a trained language model to its use; guided networks are the model's own."""
        assert isinstance(network, Seq2SeqNetwork)
        self.prior = Predictor(network, ids.tokenizer, ids)

    def networks(self) -> dict[str, torch.nn.Module]:
        """The trained networks by the names of their parts."""
        found: dict[str, torch.nn.Module] = {part: chain.network for part, chain in self.chains.items()}
        return found if self.prior is None else {**found, "prior": self.prior.network}

    @property
    def predictors(self) -> Mapping[str, Chain]:
        """The directions by the names of their parts, which can also write."""
        return self.chains

    @property
    def scorer(self) -> SequenceScorer:
        """The parts put together."""
        if not self.chains:
            raise untrained(self.name)
        return SequenceScorer(self.chains["forward"], self.chains.get("backward"), self.prior, self.combine)

    def combined(self, combine: str) -> Self:
        """The same networks, combined another way."""
        return self.adjusted({"combine": combine})

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean over its sentences but the first."""
        return self.scorer.score(documents)

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The scores of a document's sentences in several orders; they are read once."""
        return self.scorer.order_scores(document, orders)
