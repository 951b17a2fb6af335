"""Generative model 1 as a coherence model: forward, backward and language model, scored uni, bi or MMI.

Reference: Li & Jurafsky (2017), section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from weft.corpora.store.pair_batches import PairBatch, PairStream
from weft.corpora.store.paragraph_batches import ParagraphBatch, ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document, Score
from weft.errors import ConfigError
from weft.models.common.encoder_decoder import Architecture, Seq2SeqNetwork
from weft.models.common.neural_model import contrast_part, moved_others, moved_pairs, no_loss
from weft.models.common.precedence import Precedence, PrecedenceNetwork
from weft.models.common.precedence_part import WithPrecedence
from weft.models.common.pretrained_vectors import vectors_of_tokens
from weft.models.common.sentence_predictor import Predictor
from weft.models.common.setting_checks import (
    at_least,
    check_choice,
    check_contrast,
    check_share,
    check_weight,
    untrained,
)
from weft.models.common.token_cache import TokenCache
from weft.models.seq2seq.bulk_writer import PairWriter
from weft.protocols import ModelCard
from weft.scoring.calibration import reference_for
from weft.scoring.pairs import Scorer, Table, TableMemory, checked_combine
from weft.training.loop import LossPart, TrainingSettings
from weft.training.parts import PARTS, PRECEDENCE

SETTINGS = (
    "combine", "dimensions", "hidden", "layers", "attention", "feed", "lexical", "dropout", "word_dropout",
    "contrast", "precedence", "precedence_weight", "vectors", "precision",
)  # fmt: skip


class Seq2Seq(WithPrecedence):
    """Predicts each sentence from its neighbour, and scores a text by how well that goes.

    Args:
        combine: ``uni`` (forward only), ``bi`` (both directions) or ``mmi`` (both, less the language model).
        dimensions: Size of token vectors.
        hidden: Size of LSTM states.
        layers: LSTM layers.
        attention: Whether the decoder looks back at its source.
        feed: Whether the decoder's upper layers read what attention found.
        lexical: Whether attention also leads from the source's words straight to the output.
        dropout: In training.
        word_dropout: Share of the decoder's input words hidden in training.
        contrast: What it counts in training that a sentence is likelier after its neighbour than after another sentence
            of its paragraph; 0 learns from likelihood alone, as the paper does.
        precedence: Whether a fourth part learns, on the encoders' frozen vectors, which of two sentences comes first.
        precedence_weight: What the log-odds of a pair count beside the coherence of a transition, in ordering.
        vectors: Word vectors to keep as they are: a GloVe file or folder, or ``glove`` for those in the package; where
            it is empty, vectors are learned.
        precision: Of saved weights: ``int8`` or ``float32``.

    Example:
        >>> Seq2Seq(combine="uni").combine
        'uni'
    """

    name = "seq2seq"
    settings = SETTINGS
    adjustable = ("combine", "precedence_weight")  # what can change without training again
    card = ModelCard(
        summary="LSTM encoder-decoder that predicts each sentence from its neighbours",
        reference="Li & Jurafsky 2017, section 3.1; Sutskever et al. 2014; Luong et al. 2015",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: the neighbours make each word likely; mmi: likelier than it is by itself (nats per token)",
        comparable="mmi: roughly, between texts of one kind; uni and bi: only between orders of one text",
        needs="training (docs/train.md), or zoo/seq2seq",
    )

    def __init__(
        self,
        combine: str = "mmi",
        dimensions: int = 512,
        hidden: int = 512,
        layers: int = 2,
        attention: bool = True,
        feed: bool = False,
        lexical: bool = False,
        dropout: float = 0.1,
        word_dropout: float = 0.0,
        contrast: float = 0.0,
        precedence: bool = False,
        precedence_weight: float = 1.0,
        vectors: str = "",
        precision: str = "int8",
    ) -> None:
        self.combine = checked_combine(combine)
        for name, size in (("dimensions", dimensions), ("hidden", hidden), ("layers", layers)):
            at_least(self.name, name, size, 1)
        check_share("dropout", dropout)
        check_share("word_dropout", word_dropout)
        check_choice(self.name, "precision", precision, ("int8", "float32"))
        check_weight("precedence_weight", precedence_weight)
        check_contrast(contrast)
        if (feed or lexical) and not attention:
            raise ConfigError(
                "what looks at the source needs attention",
                seen=f"attention = false, feed = {str(feed).lower()}, lexical = {str(lexical).lower()}",
                allowed="feed and lexical only with attention = true",
                next_step="set attention = true, or leave feed and lexical away",
            )
        self.dimensions, self.hidden, self.layers, self.attention = dimensions, hidden, layers, attention
        self.feed, self.lexical, self.precision = feed, lexical, precision
        self.dropout, self.word_dropout, self.contrast = dropout, word_dropout, contrast
        self.precedence, self.precedence_weight, self.vectors = precedence, precedence_weight, vectors
        self.predictors: dict[str, Predictor] = {}
        self.judge: Precedence | None = None
        self._tables = TableMemory()

    # Training: what the run needs to know of the model --------------------------------------------------------------

    def new_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """An untrained network for one of the parts; the prior is a network without an encoder."""
        network = self.empty_network(part, tokenizer)
        if isinstance(network, Seq2SeqNetwork) and network.given is not None:
            network.given.data = vectors_of_tokens(self.vectors, tokenizer, self.dimensions)
        return network

    def empty_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """A network of the right shape; given vectors are not read, since a saved network brings its own."""
        if part == PRECEDENCE:
            return self.precedence_network()
        sizes = Architecture(
            tokenizer.vocabulary_size, self.dimensions, self.hidden, self.layers, self.attention,
            encoder=part != "prior", dropout=self.dropout, word_dropout=self.word_dropout, feed=self.feed,
            frozen=bool(self.vectors), lexical=self.lexical,
        )  # fmt: skip
        return Seq2SeqNetwork(sizes, bos=tokenizer.bos_id, eos=tokenizer.eos_id, pad=tokenizer.pad_id)

    def training_batches(
        self, part: str, store: TokenStore, pad: int, settings: TrainingSettings
    ) -> PairStream | ParagraphStream:
        """The sentence pairs of one direction, or whole paragraphs for precedence."""
        if part == PRECEDENCE:
            return self.precedence_batches(store, pad, settings)
        direction = next(name for name in PARTS if name == part)
        return PairStream(
            store,
            direction,
            batch_tokens=settings.batch_tokens,
            max_tokens=settings.max_tokens,
            seed=settings.seed,
            pad=pad,
            contrast=self.contrast > 0 and direction != "prior",
        )

    def batch_loss(self, network: torch.nn.Module, batch: PairBatch | ParagraphBatch, device: torch.device) -> LossPart:
        """The summed loss of a batch; a process whose share is empty adds nothing, with gradients of zero."""
        if not len(batch):
            return LossPart(no_loss(network), 0)
        if isinstance(batch, ParagraphBatch):
            assert isinstance(network, PrecedenceNetwork)
            return self.precedence_loss(network, batch, device)
        assert isinstance(network, Seq2SeqNetwork)
        source, target, places = moved_pairs(batch, device)
        if batch.other is None:
            return LossPart(network.loss(source, target, places), batch.tokens)
        sources = (source, moved_others(batch, device))
        return contrast_part(network, sources, target, places, self.contrast, batch.tokens)

    def readers(self) -> Mapping[str, Predictor]:
        """The directions themselves."""
        return self.predictors

    def take(self, part: str, network: torch.nn.Module, ids: TokenCache) -> None:
        """Networks become sentence models, the one for precedence a judge of pairs."""
        self._tables = TableMemory()  # of the networks before
        if isinstance(network, PrecedenceNetwork):
            self.judge = Precedence(network, self.trained_readers())
        else:
            assert isinstance(network, Seq2SeqNetwork)
            self.predictors[part] = Predictor(network, ids.tokenizer, ids)

    # Scoring ----------------------------------------------------------------------------------------------------------

    @property
    def scorer(self) -> Scorer:
        """The parts put together."""
        if not self.predictors:
            raise untrained(self.name)
        forward, backward, prior = (self.predictors.get(part) for part in PARTS)
        assert forward is not None
        return Scorer(forward, backward, prior, self.combine, self._tables)

    def combined(self, combine: str) -> Seq2Seq:
        """The same networks, combined another way; what was computed for one is known to the other."""
        return self.adjusted({"combine": combine})

    def adjusted(self, changes: Mapping[str, Any]) -> Seq2Seq:
        """The same networks with other settings, of those in ``adjustable``."""
        self.check_changes(changes)
        settings = {name: getattr(self, name) for name in SETTINGS}
        other = Seq2Seq(**{**settings, **changes})
        other.predictors, other.judge, other._tables = self.predictors, self.judge, self._tables
        other.tokenizer = self.tokenizer
        other.reference = reference_for(self.reference, other.combine)
        return other

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean over adjacent pairs."""
        return self.scorer.score(documents)

    def pair_table(self, document: Document) -> Table:
        """All ordered pairs in one batch: [sentences, sentences]."""
        return self.scorer.pair_table(document)

    def writer(self) -> Predictor:
        """Return the forward part, which proposes next sentences."""
        if "forward" not in self.predictors:
            raise untrained(self.name)
        return self.predictors["forward"]

    def reranker(self, combine: str) -> Scorer:
        """Return the scorer that reranks candidates."""
        return self.combined(combine).scorer

    def bulk_writer(self) -> PairWriter:
        """Return what writes for many contexts at once."""
        return PairWriter(*self.trained_parts())

    def trained_parts(self) -> tuple[Predictor, Predictor, Predictor]:
        """Return the forward, backward and prior parts.

        Raises:
            ModelError: One is not trained.
        """
        if not set(PARTS) <= set(self.predictors):
            raise untrained(self.name)
        forward, backward, prior = (self.predictors[part] for part in PARTS)
        return forward, backward, prior

    def networks(self) -> dict[str, torch.nn.Module]:
        """The trained networks by the names of their parts."""
        found: dict[str, torch.nn.Module] = {part: predictor.network for part, predictor in self.predictors.items()}
        return found if self.judge is None else {**found, PRECEDENCE: self.judge.network}
