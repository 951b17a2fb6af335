"""Generative model 1: an LSTM encoder-decoder that predicts each sentence from its neighbour.

Reference: Li & Jurafsky (2017), section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch

from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.errors import ConfigError
from weft.generation.bulk_writing import Contexts, Proposals
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.bulk_decoders import BulkDecoders
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork
from weft.models.common.neural.generative_model import GenerativeModel
from weft.models.common.neural.pretrained_vectors import vectors_of_tokens
from weft.models.common.neural.sentence_predictor import Predictor
from weft.models.common.setting_fields import (
    GenerativeFields,
    dimensions_field,
    feed_field,
    hidden_field,
    lexical_field,
)
from weft.protocols import ModelCard
from weft.registry import TORCH_MODELS
from weft.scoring.known_pairs import PairMemory
from weft.scoring.uni_bi_mmi import Scorer, Table
from weft.settings import Settings, setting


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


class PairWriter(BulkDecoders):
    """The bulk writer of Seq2Seq, which reads the sentence before."""

    def __init__(self, forward: Predictor, backward: Predictor, prior: Predictor) -> None:
        super().__init__(forward.tokenizer, forward.network, backward.network, prior)

    @torch.inference_mode()
    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Return candidates; the log-probabilities of the search are p_F."""
        last = self.last_sentences(contexts)
        rows = torch.arange(len(contexts), device=self.device)
        found = self.search_candidates(self.forward.read_tokens(last), rows, None, decoding)
        if not reranked:
            return self.proposals(found, contexts, None)
        pairs = self.pairs(found, last, found.log_probs, self.backward_log_probs(found, last))
        return self.proposals(found, contexts, pairs)


class Seq2Seq(GenerativeModel):
    """Predicts each sentence from its neighbour, and scores a text by the probabilities of its sentences.

    Example:
        >>> Seq2Seq(Seq2SeqSettings(combine="uni")).combine
        'uni'
    """

    name = "seq2seq"
    Settings = Seq2SeqSettings
    scorer_class = Scorer
    settings: Seq2SeqSettings
    predictors: dict[str, Predictor]
    card = ModelCard(
        summary=TORCH_MODELS["seq2seq"],
        reference="Li & Jurafsky 2017, section 3.1; Sutskever et al. 2014; Luong et al. 2015",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: log-probability of sentences given their neighbours; mmi: its gain over sentences alone",
        comparable="mmi: roughly, between texts of one kind; uni and bi: only between orders of one text",
        needs="trained weights (pip install ./zoo) or training",
    )

    def new_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """Return an untrained network, with pretrained word vectors if the settings name any."""
        network = self.empty_network(part, tokenizer)
        if isinstance(network, Seq2SeqNetwork) and network.given is not None:
            network.given.data = vectors_of_tokens(self.settings.vectors, tokenizer, self.settings.dimensions)
        return network

    def architecture(self, tokenizer: Tokenizer, **others: Any) -> Architecture:
        """Return the sizes of an encoder-decoder, or of the language model."""
        chosen = self.settings
        return super().architecture(
            tokenizer, attention=chosen.attention, word_dropout=chosen.word_dropout, frozen=bool(chosen.vectors),
            **others,
        )  # fmt: skip

    known: PairMemory | None = None

    @property
    def scorer(self) -> Scorer:
        """The scorer that combines the trained parts."""
        found: Scorer = super().scorer
        return replace(found, known=self.known)

    def share_with(self, other: Self) -> None:
        """Share the caches with another model that has the same networks."""
        super().share_with(other)
        other.known = self.known

    def remembering(self) -> Self:
        """Return the same networks with a cache of pairs: after an edit, only the pairs that changed are computed."""
        other = self.adjusted({})
        other.known = PairMemory()
        return other

    def table_steps(self, document: Document) -> Iterator[None]:
        """Compute what `pair_table` needs in short steps; without a cache of pairs, there are none."""
        return self.scorer.table_steps(document)

    def score_steps(self, document: Document) -> Iterator[None]:
        """Compute what `score` needs for a long text in short steps; without a cache of pairs, there are none."""
        return self.scorer.score_steps(document)

    def pair_table(self, document: Document) -> Table:
        """Return the scores of all ordered pairs, computed in one batch: [sentences, sentences]."""
        return self.scorer.pair_table(document)

    def bulk_writer(self) -> PairWriter:
        """Return the writer for many contexts at once."""
        return PairWriter(*self.trained_parts())
