"""Generative model 3 as a coherence model: a Markov chain of latent sentence variables (VLV-GM).

Reference: Li & Jurafsky (2017), section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import torch

from weft.corpora.store.pair_batches import Direction
from weft.corpora.store.paragraph_batches import ParagraphBatch, ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.document import Document
from weft.errors import ConfigError
from weft.models.common.encoder_decoder import Architecture, Tokens
from weft.models.common.guided_model import GuidedModel
from weft.models.common.neural_model import moved
from weft.models.common.setting_checks import at_least, check_choice
from weft.models.common.token_cache import TokenCache
from weft.models.vlv.bulk_writer import ChainWriter
from weft.models.vlv.estimators import ESTIMATORS, Estimate, PrefixChains, VariationalPredictor
from weft.models.vlv.network import Cures, Texts, VariationalNetwork
from weft.protocols import ModelCard, OrderSearch
from weft.scoring.pairs import checked_combine
from weft.scoring.sequences import OrderMemory, SequenceOrderSearch
from weft.training.loop import LossPart, TrainingSettings

SETTINGS = (
    "combine", "dimensions", "hidden", "layers", "feed", "lexical", "dropout", "word_dropout", "latent", "width",
    "annealing", "free_nats", "bag_weight", "contrast", "kept_ends", "frozen",
    "precedence", "precedence_weight", "estimator", "samples", "search_samples", "noise_seed", "precision",
)  # fmt: skip
SHORTEST, WINDOW = 2, 12  # sentences of the texts it learns from; longer ones are cut into windows


class VlvGm(GuidedModel):
    """Predicts each sentence from all before it, guided by a latent variable that is carried from sentence to sentence.

    Args:
        combine: ``uni`` (forward only), ``bi`` (both directions) or ``mmi`` (both, less the language model).
        dimensions: Size of token vectors.
        hidden: Size of LSTM states.
        layers: LSTM layers.
        feed: Whether the decoder's upper layers read what attention found.
        lexical: Whether attention also leads from the source's words straight to the output.
        dropout: In training.
        word_dropout: Share of the decoder's input words hidden in training, which makes it lean on z.
        latent: Size of z.
        width: Of the sentence-level LSTM.
        annealing: Share of the training over which the weight of the divergence rises from 0 to 1.
        free_nats: Divergence a sentence that costs nothing.
        bag_weight: What predicting the words from z alone counts.
        contrast: What it counts in training that a sentence is likelier in its text than in a shuffled one; 0 learns
            from the bound alone, as the paper does.
        kept_ends: Share of the shuffled ones that keep their first and last sentence, so that these do not tell.
        frozen: What stays as a run starts with it: nothing, ``encoder`` or ``words`` (encoder and decoder).
        precedence: Whether a fourth part learns, on the encoders' frozen vectors, which of two sentences comes first.
        precedence_weight: What the log-odds of a pair count beside the coherence of a transition, in ordering.
        estimator: ``iwae`` (importance sampling) or ``elbo`` (the lower bound).
        samples: Samples of every latent variable, in scoring.
        search_samples: The same in a search for an order, which scores a thousand partial orders.
        noise_seed: Of the samples: another one shows how much the estimate varies.
        precision: Of saved weights: ``int8`` or ``float32``.

    Example:
        >>> VlvGm(estimator="elbo", samples=2).estimate.name
        'elbo-2'
    """

    name = "vlv-gm"
    settings = SETTINGS
    adjustable = ("combine", "estimator", "samples", "search_samples", "noise_seed", "precedence_weight")
    card = ModelCard(
        summary="encoder-decoder guided by a chain of latent variables, one a sentence",
        reference="Li & Jurafsky 2017, section 3.3; Serban et al. 2017; Chung et al. 2015",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: what came before makes each word likely; mmi: likelier than it is by itself (nats per token)",
        comparable="only between orders of one text: probabilities are estimated from below, so mmi 0 means nothing",
        needs="zoo/vlv-gm, or training (weft train configs/vlv-gm.toml)",
    )

    def __init__(
        self,
        combine: str = "mmi",
        dimensions: int = 384,
        hidden: int = 640,
        layers: int = 2,
        feed: bool = True,
        lexical: bool = True,
        dropout: float = 0.1,
        word_dropout: float = 0.15,
        latent: int = 64,
        width: int = 512,
        annealing: float = 0.3,
        free_nats: float = 3.0,
        bag_weight: float = 0.1,
        contrast: float = 0.0,
        kept_ends: float = 0.0,
        frozen: str = "",
        precedence: bool = False,
        precedence_weight: float = 1.0,
        estimator: str = "iwae",
        samples: int = 5,
        search_samples: int = 1,
        noise_seed: int = 1,
        precision: str = "int8",
    ) -> None:
        self.combine = checked_combine(combine)
        sizes = {"dimensions": dimensions, "hidden": hidden, "layers": layers, "latent": latent, "width": width}
        for name, size in {**sizes, "samples": samples, "search_samples": search_samples}.items():
            at_least(self.name, name, size, 1)
        at_least(self.name, "noise_seed", noise_seed, 0)
        for name, share in (("annealing", annealing), ("kept_ends", kept_ends)):
            _check_range(name, share, 1.0)
        for name, value in (("free_nats", free_nats), ("bag_weight", bag_weight)):
            _check_range(name, value, 1e6)
        check_choice(self.name, "estimator", estimator, ESTIMATORS)
        self.dimensions, self.hidden, self.layers, self.latent, self.width = sizes.values()
        self.feed, self.lexical, self.dropout, self.word_dropout = feed, lexical, dropout, word_dropout
        self.annealing, self.free_nats, self.bag_weight, self.contrast = annealing, free_nats, bag_weight, contrast
        self.kept_ends = kept_ends
        self.estimator, self.samples, self.precision = estimator, samples, precision
        self.search_samples, self.noise_seed = search_samples, noise_seed
        self.frozen, self.precedence, self.precedence_weight = frozen, precedence, precedence_weight
        self.check_shared_settings()
        self.chains: dict[str, VariationalPredictor] = {}
        self.begin_untrained()

    @property
    def estimate(self) -> Estimate:
        """How log-probabilities are found."""
        return Estimate(self.estimator, self.samples, self.noise_seed)

    @property
    def search_estimate(self) -> Estimate:
        """The same in a search for an order."""
        return Estimate(self.estimator, self.search_samples, self.noise_seed)

    # Training ---------------------------------------------------------------------------------------------------------

    @property
    def guide_size(self) -> int:
        """Size of z."""
        return self.latent

    def guided_network(self, sizes: Architecture, special: Mapping[str, int]) -> torch.nn.Module:
        """A chain with its encoder and decoder."""
        cures = Cures(self.annealing, self.free_nats, self.bag_weight, self.contrast)
        return VariationalNetwork(sizes, self.width, cures=cures, **special)

    def guided_batches(
        self, direction: Direction, store: TokenStore, pad: int, settings: TrainingSettings
    ) -> ParagraphStream:
        """Windows of paragraphs, read from their end for the backward chain."""
        return ParagraphStream(
            store, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed, pad=pad,
            fewest=SHORTEST, window=WINDOW, backwards=direction == "backward", dated=False, contrast=self.contrast > 0,
            kept_ends=self.kept_ends,
        )  # fmt: skip

    def guided_loss(self, network: torch.nn.Module, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """The summed loss of a batch, with the divergence beside it."""
        assert isinstance(network, VariationalNetwork)
        sentences = Tokens(moved(batch.sentences, device), moved(batch.lengths, device))
        shuffled = None if batch.shuffled is None else moved(batch.shuffled, device)
        bound = network.bound(Texts(sentences, moved(batch.places, device), shuffled))
        tokens = batch.predicted_tokens
        # Parts are divided by tokens like the loss; the divergence and the contrast are wanted per sentence.
        per_sentence = tokens / max(bound.sentences, 1)
        parts = {"words": bound.words.detach(), "divergence": bound.divergence.detach() * per_sentence}
        if bound.contrast is not None:
            parts["contrast"] = bound.contrast.detach() * per_sentence
        return LossPart(network.weigh(bound), tokens, parts)

    def take(self, part: str, network: torch.nn.Module, ids: TokenCache) -> None:
        """Put a trained network to its use."""
        self.memory = OrderMemory()  # of the networks before
        if isinstance(network, VariationalNetwork):
            self.chains[part] = VariationalPredictor(network, ids, self.estimate)
        else:
            super().take(part, network, ids)

    # Scoring ----------------------------------------------------------------------------------------------------------

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """The same networks with other settings, of those in ``adjustable``."""
        self.check_changes(changes)
        other = type(self)(**{**{name: getattr(self, name) for name in SETTINGS}, **changes})
        other.prior, other.tokenizer, other.judge = self.prior, self.tokenizer, self.judge
        if other.estimate == self.estimate:
            other.memory = self.memory
        other.chains = {
            part: VariationalPredictor(chain.network, chain.ids, other.estimate) for part, chain in self.chains.items()
        }
        return other

    def bulk_writer(self) -> ChainWriter:
        """Return what writes for many contexts at once."""
        return ChainWriter(*self.trained_parts(), samples=self.search_estimate.samples)

    def order_search(self, document: Document) -> OrderSearch:
        """A search over a document's sentences that carries the chain of every partial order along."""
        chain = self.chains["forward"]
        paths = PrefixChains(VariationalPredictor(chain.network, chain.ids, self.search_estimate), document.sentences)
        return SequenceOrderSearch(self.scorer, paths, document.sentences)


def _check_range(name: str, value: float, highest: float) -> None:
    if not 0 <= value <= highest:
        raise ConfigError(
            f"vlv-gm's `{name}` is out of range", seen=value, allowed=f"from 0 to {highest:g}", next_step="change it"
        )
