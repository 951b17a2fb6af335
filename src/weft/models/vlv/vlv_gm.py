"""Generative model 3: an encoder-decoder guided by a Markov chain of latent sentence variables (VLV-GM).

Reference: Li & Jurafsky (2017), section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import torch

from weft.corpora.store.pair_batches import Direction
from weft.corpora.store.paragraph_batches import ParagraphBatch, ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.models.common.neural.batch_tensors import to_device
from weft.models.common.neural.encoder_decoder import Tokens, freeze, special_ids
from weft.models.common.neural.generative_model import GenerativeModel
from weft.models.common.setting_fields import GenerativeFields, contrast_field, frozen_field, word_dropout_field
from weft.models.common.token_cache import TokenCache
from weft.models.vlv.bulk_writer import ChainWriter
from weft.models.vlv.chain_predictor import VariationalPredictor
from weft.models.vlv.estimators import ESTIMATORS, EXACT, Estimate
from weft.models.vlv.network import LossWeights, Texts, VariationalNetwork
from weft.models.vlv.prefix_chains import PrefixChains
from weft.protocols import ModelCard, OrderSearch
from weft.registry import TORCH_MODELS
from weft.scoring.joint_search import OrderSearches, SingleOrderSearch
from weft.scoring.sequence_scorer import SequenceOrderSearches, SequenceScorer
from weft.settings import Settings, setting
from weft.training.loop import Batches, LossPart
from weft.training.settings import TrainingSettings

SHORTEST, WINDOW = 2, 12  # sentences of the training texts; longer texts are cut into windows


@dataclass(frozen=True, kw_only=True)
class VlvGmSettings(GenerativeFields, Settings):
    """Settings of `vlv-gm`."""

    model_name: ClassVar[str] = "vlv-gm"
    word_dropout: float = word_dropout_field(0.15)  # makes the decoder depend on z
    latent: int = setting(64, "Size of the latent variable z.", minimum=1)
    width: int = setting(512, "Size of the sentence-level LSTM.", minimum=1)
    annealing: float = setting(
        0.3, "Share of the training over which the weight of the KL divergence rises to 1.", minimum=0.0, maximum=1.0
    )
    free_nats: float = setting(
        3.0, "KL divergence per sentence that is not penalised, in nats.", minimum=0.0, maximum=1e6
    )
    bag_weight: float = setting(
        0.1, "Weight of the loss that predicts the words of a sentence from z alone.", minimum=0.0, maximum=1e6
    )
    noisy: bool = setting(
        True, "Whether z is random; false trains a chain of the same size without random variables, for comparison."
    )
    contrast: float = contrast_field("original text against shuffled text")
    kept_ends: float = setting(
        0.0, "Share of shuffled texts that keep their first and last sentence.", minimum=0.0, maximum=1.0
    )
    frozen: str = frozen_field()
    estimator: str = setting(
        "prior",
        "Estimate of log-probabilities: z from the prior (prior), from the posterior (iwae, importance sampling; elbo, "
        "the lower bound), or the higher of prior and iwae (tighter).",
        choices=ESTIMATORS,
        adjustable=True,
    )
    samples: int = setting(5, "Number of samples of each latent variable in scoring.", minimum=1, adjustable=True)
    search_samples: int = setting(
        1, "Number of samples of each latent variable in searching for an order.", minimum=1, adjustable=True
    )
    noise_seed: int = setting(
        1, "Seed of the samples; another seed shows how much the estimate varies.", minimum=0, adjustable=True
    )


class VlvGm(GenerativeModel):
    """Predicts each sentence from all before it, guided by a latent variable that depends on the one before.

    Example:
        >>> VlvGm(VlvGmSettings(estimator="elbo", samples=2)).estimate.name
        'elbo-2'
    """

    name = "vlv-gm"
    Settings = VlvGmSettings
    scorer_class = SequenceScorer
    settings: VlvGmSettings
    card = ModelCard(
        summary=TORCH_MODELS["vlv-gm"],
        reference="Li & Jurafsky 2017, section 3.3; Serban et al. 2017; Chung et al. 2015",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: log-probability of a sentence given the text before; mmi: its gain over the sentence alone",
        comparable="only between orders of one text, because probabilities are lower bounds",
        needs="trained weights (pip install ./zoo) or training",
    )

    def __init__(self, settings: VlvGmSettings = VlvGmSettings()) -> None:
        super().__init__(settings)

    @property
    def estimate(self) -> Estimate:
        """The estimate of log-probabilities in scoring."""
        return self._estimate(self.settings.estimator, self.settings.samples)

    @property
    def search_estimate(self) -> Estimate:
        """The estimate of log-probabilities in searching for an order and in reranking; ``prior`` for ``tighter``."""
        kind = self.settings.estimator
        return self._estimate("prior" if kind == "tighter" else kind, self.settings.search_samples)

    def _estimate(self, kind: str, samples: int) -> Estimate:
        return Estimate(kind, samples, self.settings.noise_seed) if self.settings.noisy else EXACT

    # Training ---------------------------------------------------------------------------------------------------------

    def direction_network(self, tokenizer: Tokenizer) -> VariationalNetwork:
        """Return a chain with its encoder and decoder."""
        chosen = self.settings
        weights = LossWeights(chosen.annealing, chosen.free_nats, chosen.bag_weight, chosen.contrast)
        sizes = self.architecture(tokenizer, word_dropout=chosen.word_dropout, guide=chosen.latent)
        network = VariationalNetwork(sizes, chosen.width, weights=weights, noisy=chosen.noisy, **special_ids(tokenizer))
        freeze(network, chosen.frozen)
        return network

    def sentence_batches(self, part: Direction, store: TokenStore, pad: int, settings: TrainingSettings) -> Batches:
        """Return windows of paragraphs, in reverse for the backward chain; for the prior, single sentences."""
        if part == "prior":
            return super().sentence_batches(part, store, pad, settings)
        return ParagraphStream(
            store, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed, pad=pad,
            fewest=SHORTEST, window=WINDOW, backwards=part == "backward", dated=False,
            contrast=self.settings.contrast > 0, kept_ends=self.settings.kept_ends,
        )  # fmt: skip

    def guided_loss(self, network: VariationalNetwork, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """Return the summed loss of a batch of texts, with the divergence and the contrast per sentence for the log."""
        sentences = Tokens(to_device(batch.sentences, device), to_device(batch.lengths, device))
        shuffled = None if batch.shuffled is None else to_device(batch.shuffled, device)
        bound = network.bound(Texts(sentences, to_device(batch.places, device), shuffled))
        tokens = batch.predicted_tokens
        # The loop divides all parts by the number of tokens; the divergence and the contrast are reported per sentence.
        per_sentence = tokens / max(bound.sentences, 1)
        parts = {"words": bound.words.detach(), "divergence": bound.divergence.detach() * per_sentence}
        if bound.contrast is not None:
            parts["contrast"] = bound.contrast.detach() * per_sentence
        return LossPart(network.total_loss(bound), tokens, parts)

    # Trained networks -------------------------------------------------------------------------------------------------

    def guided_predictor(self, network: VariationalNetwork, ids: TokenCache) -> VariationalPredictor:
        """Return a chain that predicts sentences."""
        return VariationalPredictor(network, ids, self.estimate)

    def share_with(self, other: Self) -> None:
        """Share the cache of log-probabilities if the estimates are equal; otherwise change the predictors."""
        if other.estimate == self.estimate:
            other.memory = self.memory
            return
        other.reference = None  # its scores belong to this estimate
        other.predictors = {
            part: VariationalPredictor(one.network, one.ids, other.estimate)
            if isinstance(one, VariationalPredictor)
            else one
            for part, one in self.predictors.items()
        }

    # Scoring and writing ----------------------------------------------------------------------------------------------

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the scores of a document's sentences in several orders; the sentences are read once."""
        scores: list[float | None] = self.scorer.order_scores(document, orders)
        return scores

    def order_search(self, document: Document) -> OrderSearch:
        """Return the state of a beam search that keeps the chain of each partial order."""
        return SingleOrderSearch(self.order_searches([document]))

    def order_searches(self, documents: Sequence[Document]) -> OrderSearches:
        """Return the states of beam searches over several documents, computed together."""
        chain, texts = self.writer(), [document.sentences for document in documents]
        paths = PrefixChains(VariationalPredictor(chain.network, chain.ids, self.search_estimate), texts)
        return SequenceOrderSearches(self.scorer, paths, texts)

    def bulk_writer(self) -> ChainWriter:
        """Return the writer for many contexts at once."""
        return ChainWriter(*self.trained_parts(), estimate=self.search_estimate)
