"""Generative model 1: an LSTM encoder-decoder that predicts each sentence from its neighbour.

Reference: Li & Jurafsky (2017), section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import torch

from weft.corpora.store.pair_batches import Direction, PairBatch, PairStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.errors import ConfigError
from weft.models.common.neural.batch_tensors import others_to_device, pairs_to_device
from weft.models.common.neural.contrastive_loss import contrast_loss
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork
from weft.models.common.neural.generative_model import GenerativeModel
from weft.models.common.neural.pretrained_vectors import vectors_of_tokens
from weft.models.common.neural.sentence_predictor import Predictor
from weft.models.common.setting_checks import untrained
from weft.models.common.setting_fields import (
    GenerativeFields,
    dimensions_field,
    feed_field,
    hidden_field,
    lexical_field,
)
from weft.models.common.token_cache import TokenCache
from weft.models.seq2seq.bulk_writer import PairWriter
from weft.protocols import ModelCard
from weft.scoring.uni_bi_mmi import Scorer, Table, TableCache
from weft.settings import Settings, setting
from weft.training.loop import LossPart
from weft.training.part_names import PARTS
from weft.training.settings import TrainingSettings


@dataclass(frozen=True, kw_only=True)
class Seq2SeqSettings(GenerativeFields, Settings):
    """Settings of `seq2seq`."""

    model_name: ClassVar[str] = "seq2seq"
    dimensions: int = dimensions_field(512)
    hidden: int = hidden_field(512)
    attention: bool = setting(True, "Whether the decoder attends to its source.")
    feed: bool = feed_field(False)
    lexical: bool = lexical_field(False)
    vectors: str = setting(
        "",
        "Fixed pretrained word vectors: a GloVe file or folder, or glove for those in the package; empty: none.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.feed or self.lexical) and not self.attention:
            raise ConfigError(
                "feed and lexical need attention",
                seen=f"attention = false, feed = {str(self.feed).lower()}, lexical = {str(self.lexical).lower()}",
                allowed="feed and lexical only with attention = true",
                next_step="set attention = true, or omit feed and lexical",
            )


class Seq2Seq(GenerativeModel):
    """Predicts each sentence from its neighbour, and scores a text by the probabilities of its sentences.

    Example:
        >>> Seq2Seq(Seq2SeqSettings(combine="uni")).combine
        'uni'
    """

    name = "seq2seq"
    Settings = Seq2SeqSettings
    settings: Seq2SeqSettings
    predictors: dict[str, Predictor]
    card = ModelCard(
        summary="LSTM encoder-decoder that predicts each sentence from its neighbours",
        reference="Li & Jurafsky 2017, section 3.1; Sutskever et al. 2014; Luong et al. 2015",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: log-probability of sentences given their neighbours; mmi: its gain over sentences alone",
        comparable="mmi: roughly, between texts of one kind; uni and bi: only between orders of one text",
        needs="trained weights (pip install ./zoo) or training",
    )

    def __init__(self, settings: Seq2SeqSettings = Seq2SeqSettings()) -> None:  # noqa: B008  frozen
        super().__init__(settings)
        self._tables = TableCache()

    # Training ---------------------------------------------------------------------------------------------------------

    def new_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """Return an untrained network, with pretrained word vectors if the settings name any."""
        network = self.empty_network(part, tokenizer)
        if isinstance(network, Seq2SeqNetwork) and network.given is not None:
            network.given.data = vectors_of_tokens(self.settings.vectors, tokenizer, self.settings.dimensions)
        return network

    def sentence_network(self, part: str, tokenizer: Tokenizer) -> Seq2SeqNetwork:
        """Return an encoder-decoder; the prior has no encoder."""
        chosen = self.settings
        sizes = Architecture(
            tokenizer.vocabulary_size, chosen.dimensions, chosen.hidden, chosen.layers, chosen.attention,
            encoder=part != "prior", dropout=chosen.dropout, word_dropout=chosen.word_dropout, feed=chosen.feed,
            frozen=bool(chosen.vectors), lexical=chosen.lexical,
        )  # fmt: skip
        return Seq2SeqNetwork(sizes, bos=tokenizer.bos_id, eos=tokenizer.eos_id, pad=tokenizer.pad_id)

    def sentence_batches(self, part: Direction, store: TokenStore, pad: int, settings: TrainingSettings) -> PairStream:
        """Return the sentence pairs of one direction."""
        return PairStream(
            store,
            part,
            batch_tokens=settings.batch_tokens,
            max_tokens=settings.max_tokens,
            seed=settings.seed,
            pad=pad,
            contrast=self.settings.contrast > 0 and part != "prior",
        )

    def sentence_loss(self, network: torch.nn.Module, batch: PairBatch, device: torch.device) -> LossPart:
        """Return the summed loss of a batch of sentence pairs."""
        assert isinstance(network, Seq2SeqNetwork)
        source, target, places = pairs_to_device(batch, device)
        if batch.other is None:
            return LossPart(network.loss(source, target, places), batch.tokens)
        sources = (source, others_to_device(batch, device))
        return contrast_loss(network, sources, target, places, self.settings.contrast, batch.tokens)

    # Trained networks -------------------------------------------------------------------------------------------------

    def predictor(self, part: str, network: torch.nn.Module, ids: TokenCache) -> Predictor:  # noqa: ARG002
        """Return a sentence model."""
        assert isinstance(network, Seq2SeqNetwork)
        return Predictor(network, ids.tokenizer, ids)

    def encoders(self) -> Mapping[str, Predictor]:
        """Return the predictors, by part."""
        return self.predictors

    def forget_scores(self) -> None:
        """Clear the cache of tables."""
        self._tables = TableCache()

    def share_with(self, other: Self) -> None:
        """Share the cache of tables, which hold log-probabilities before any combination."""
        other._tables = self._tables

    # Scoring and writing ----------------------------------------------------------------------------------------------

    @property
    def scorer(self) -> Scorer:
        """The scorer that combines the trained parts."""
        if not self.predictors:
            raise untrained(self.name)
        forward, backward, prior = (self.predictors.get(part) for part in PARTS)
        assert forward is not None
        return Scorer(forward, backward, prior, self.combine, self._tables)

    def pair_table(self, document: Document) -> Table:
        """Return the scores of all ordered pairs, computed in one batch: [sentences, sentences]."""
        return self.scorer.pair_table(document)

    def bulk_writer(self) -> PairWriter:
        """Return the writer for many contexts at once."""
        return PairWriter(*self.trained_parts())
