"""Generative model 2: an encoder-decoder guided by the topics of sentences (HMM-LDA-GM).

Reference: Li & Jurafsky (2017), section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch

from weft.corpora.store.pair_batches import Direction, PairBatch, PairStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.errors import ConfigError
from weft.hub import model_folder
from weft.io.model_folder import Artifact
from weft.models.common.hidden_markov import Reals
from weft.models.common.neural.batch_tensors import others_to_device, pairs_to_device, to_device
from weft.models.common.neural.contrastive_loss import contrast_loss
from weft.models.common.neural.encoder_decoder import freeze, special_ids
from weft.models.common.neural.generative_model import GenerativeModel
from weft.models.common.setting_fields import GenerativeFields, frozen_field
from weft.models.common.token_cache import TokenCache
from weft.models.topic.hmm_lda import MOST_TOPICS, HmmLda, HmmLdaSettings
from weft.models.topic.store_topics import store_topics
from weft.models.topic.topic_network import TopicNetwork, TopicPaths, TopicPredictor, TopicWriter
from weft.progress import Progress, silent
from weft.protocols import ModelCard, OrderSearch
from weft.registry import TORCH_MODELS
from weft.scoring.joint_search import OrderSearches, SingleOrderSearch
from weft.scoring.sequence_scorer import SequenceOrderSearches, SequenceScorer
from weft.settings import Settings, setting
from weft.training.loop import Batches, LossPart
from weft.training.part_names import ENCODERS
from weft.training.settings import TrainingSettings

TOPIC_MODEL = "hmm_lda"  # the topic model inside a model folder


@dataclass(frozen=True, kw_only=True)
class HmmLdaGmSettings(GenerativeFields, Settings):
    """Settings of `hmm-lda-gm`."""

    model_name: ClassVar[str] = "hmm-lda-gm"
    topics: str = setting(
        "",
        "Name or folder of a trained hmm-lda, required by `weft train`; `fit` learns its own if it is empty.",
    )
    topic_count: int = setting(
        100, "Number of topics that `fit` learns if no folder is named.", minimum=2, maximum=MOST_TOPICS
    )
    peek: bool = setting(
        False,
        "Whether the topics that guide a sentence are computed from that sentence too, as in one reading of the paper; "
        "not comparable with models that predict.",
    )
    guide: int = setting(64, "Size of the guiding vector z_n = t_n V.", minimum=1)
    frozen: str = frozen_field()

    def check_run(self) -> None:
        """Raise ConfigError if no topic model is named."""
        if not self.topics:
            raise ConfigError(
                "hmm-lda-gm needs a topic model",
                seen="topics = ''",
                allowed="a trained hmm-lda, by its name or its folder, such as topics=hmm-lda",
                next_step="run `weft train configs/hmm-lda.toml`, then set `topics` to the folder it writes",
            )


@dataclass(frozen=True, slots=True)
class GuidedBatch:
    """Sentence pairs and the topics that guide their targets: [rows, topics].

    With a contrast, ``other_topics`` are the topics predicted at the place of the other sentence.
    """

    pairs: PairBatch
    topics: Reals
    other_topics: Reals | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def rows(self, start: int, step: int) -> GuidedBatch:
        """Return every ``step``-th row from ``start``: the share of one process in a global batch."""
        others = None if self.other_topics is None else self.other_topics[start::step]
        return GuidedBatch(self.pairs.rows(start, step), self.topics[start::step], others)


class GuidedStream:
    """Sentence pairs of one direction, with the topics of each sentence of the store: [sentences, topics]."""

    def __init__(self, stream: PairStream, topics: Reals) -> None:
        self.stream, self.topics = stream, topics

    def epoch(self, number: int) -> list[Any]:
        """Return the pairs of each batch of an epoch, in training order."""
        return list(self.stream.epoch(number))

    def batch(self, pairs: Any) -> GuidedBatch:
        """Return the batch of some pairs."""
        others = self.topics[self.stream.others(pairs)] if self.stream.contrast else None
        return GuidedBatch(self.stream.batch(pairs), self.topics[self.stream.targets[pairs]], others)


class HmmLdaGm(GenerativeModel):
    """Predicts each sentence from the one before it, guided by topics predicted from all sentences before it.

    Example:
        >>> HmmLdaGm(HmmLdaGmSettings(combine="uni")).combine
        'uni'
    """

    name = "hmm-lda-gm"
    Settings = HmmLdaGmSettings
    scorer_class = SequenceScorer
    settings: HmmLdaGmSettings
    card = ModelCard(
        summary=TORCH_MODELS["hmm-lda-gm"],
        reference="Li & Jurafsky 2017, section 3.2; Gruber et al. 2007",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: log-probability of a sentence given the text before; mmi: its gain over the sentence alone",
        comparable="mmi: roughly, between texts of one kind; uni and bi: only between orders of one text",
        needs="trained weights (pip install ./zoo) or training",
    )

    def __init__(self, settings: HmmLdaGmSettings | None = None) -> None:
        super().__init__(settings)
        self._topic_model: HmmLda | None = None
        self._store_topics: dict[tuple[str, bool], Reals] = {}

    @property
    def topic_model(self) -> HmmLda:
        """The topic model, read from its folder on first use.

        Raises:
            ConfigError: No folder is named.
        """
        if self._topic_model is None:
            self.settings.check_run()
            self._topic_model = HmmLda.load(model_folder(self.settings.topics))
        return self._topic_model

    def prepare(self) -> None:
        """Read the topic model."""
        _ = self.topic_model

    def built_on(self) -> tuple[str, ...]:
        """Return the folder of the topic model."""
        return (self.settings.topics,) if self.settings.topics else ()

    # Training ---------------------------------------------------------------------------------------------------------

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn topics if the settings name no topic model, then train all parts."""
        texts = list(documents)
        if not self.settings.topics:
            chosen = HmmLdaSettings(
                topics=self.settings.topic_count, drop_top=0, rarest=1, prior_words=1.0, iterations=20
            )
            self._topic_model = HmmLda(chosen).fit(texts, seed=seed, progress=progress)
            self._store_topics = {}
        return super().fit(texts, seed=seed, progress=progress)

    def direction_network(self, tokenizer: Tokenizer) -> TopicNetwork:
        """Return an encoder-decoder with topics."""
        chosen = self.settings
        sizes = self.architecture(tokenizer, word_dropout=chosen.word_dropout, guide=chosen.guide)
        network = TopicNetwork(sizes, self.topic_model.settings.topics, **special_ids(tokenizer))
        freeze(network, chosen.frozen)
        return network

    def sentence_batches(self, part: Direction, store: TokenStore, pad: int, settings: TrainingSettings) -> Batches:
        """Return the sentence pairs of one direction, with topics; for the prior, single sentences."""
        stream = super().sentence_batches(part, store, pad, settings)
        if part == "prior":
            return stream
        assert isinstance(stream, PairStream)
        return GuidedStream(stream, self._topics_of(store, part == "backward"))

    def _topics_of(self, store: TokenStore, backwards: bool) -> Reals:
        """Return the topics that guide each sentence of a store, in float16: [sentences, topics]."""
        key = (store.info.fingerprint, backwards)
        if key not in self._store_topics:
            found = store_topics(self.topic_model, store, backwards=backwards, peek=self.settings.peek)
            self._store_topics[key] = found
        return self._store_topics[key]

    def guided_loss(self, network: TopicNetwork, batch: GuidedBatch, device: torch.device) -> LossPart:
        """Return the summed loss of a batch."""
        source, target, places = pairs_to_device(batch.pairs, device)
        topics, tokens = to_device(batch.topics, device), batch.pairs.tokens
        if batch.other_topics is None:
            return LossPart(network.loss(source, target, topics, places), tokens)
        sources = (source, others_to_device(batch.pairs, device))
        guides = network.guide(topics), network.guide(to_device(batch.other_topics, device))
        return contrast_loss(network.words, sources, target, places, self.settings.contrast, tokens, guides)

    def foundation(self, part: str) -> Mapping[str, torch.Tensor]:
        """Return the weights of the topic model for the two directions, and those of the encoders for precedence."""
        if part not in ENCODERS:
            return super().foundation(part)
        return {"topics": torch.from_numpy(self.topic_model.to_artifact().tensors["words"].astype(np.float32))}

    # Trained networks -------------------------------------------------------------------------------------------------

    def guided_predictor(self, network: TopicNetwork, ids: TokenCache) -> TopicPredictor:
        """Return a predictor with topics."""
        return TopicPredictor(network, self.topic_model, ids, peek=self.settings.peek)

    def share_with(self, other: Self) -> None:
        """Share the topic model and the cache of log-probabilities."""
        super().share_with(other)
        other._topic_model = self._topic_model

    def companions(self) -> dict[str, Artifact]:
        """Return the topic model, which is saved with the networks it guides."""
        return {TOPIC_MODEL: self.topic_model.to_artifact()}

    def read_companions(self, artifact: Artifact, folder: str | Path) -> None:
        """Restore the saved topic model."""
        prefix = f"{TOPIC_MODEL}/"
        tensors = {k.removeprefix(prefix): v for k, v in artifact.tensors.items() if k.startswith(prefix)}
        config = artifact.config.get(TOPIC_MODEL, {})
        self._topic_model = HmmLda.from_artifact(replace(artifact, tensors=tensors, config=config), folder)

    # Scoring and writing ----------------------------------------------------------------------------------------------

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the scores of a document's sentences in several orders; the sentences are read once."""
        scores: list[float | None] = self.scorer.order_scores(document, orders)
        return scores

    def order_search(self, document: Document) -> OrderSearch:
        """Return the state of a beam search over the document's sentences."""
        return SingleOrderSearch(self.order_searches([document]))

    def order_searches(self, documents: Sequence[Document]) -> OrderSearches:
        """Return the states of beam searches over several documents, computed together."""
        texts = [document.sentences for document in documents]
        return SequenceOrderSearches(self.scorer, TopicPaths(self.writer(), texts), texts)

    def bulk_writer(self) -> TopicWriter:
        """Return the writer for many contexts at once."""
        return TopicWriter(*self.trained_parts())
