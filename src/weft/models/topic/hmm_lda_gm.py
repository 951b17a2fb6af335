"""Generative model 2 as a coherence model: an encoder-decoder guided by the topics of sentences (HMM-LDA-GM).

Reference: Li & Jurafsky (2017), section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from weft.corpora.store.pair_batches import Direction, PairBatch, PairStream
from weft.corpora.store.token_store import TokenStore
from weft.document import Document
from weft.errors import ConfigError
from weft.hub import model_folder
from weft.io.model_folder import Artifact
from weft.models.common.encoder_decoder import Architecture
from weft.models.common.guided_model import GuidedModel
from weft.models.common.hidden_markov import Reals
from weft.models.common.neural_model import contrast_part, moved, moved_others, moved_pairs
from weft.models.common.setting_checks import at_least
from weft.models.common.token_cache import TokenCache
from weft.models.topic.bulk_writer import TopicWriter
from weft.models.topic.hmm_lda import MOST_TOPICS, HmmLda
from weft.models.topic.store_topics import store_topics
from weft.models.topic.topic_network import TopicNetwork, TopicPaths, TopicPredictor
from weft.progress import Progress, silent
from weft.protocols import ModelCard, OrderSearch
from weft.scoring.pairs import checked_combine
from weft.scoring.sequences import OrderMemory, SequenceOrderSearch
from weft.training.loop import LossPart, TrainingSettings
from weft.training.parts import ENCODERS

SETTINGS = (
    "combine", "topics", "topic_count", "peek", "dimensions", "hidden", "layers", "feed", "lexical", "dropout",
    "word_dropout", "contrast", "guide", "frozen",
    "precedence", "precedence_weight", "precision",
)  # fmt: skip
TOPIC_MODEL = "hmm_lda"  # the topic model inside a saved one


@dataclass(frozen=True, slots=True)
class GuidedBatch:
    """Sentence pairs and the topics that guide their targets: [rows, topics].

    Where another sentence is contrasted with the source, ``other_topics`` are those that guide that sentence itself:
    what was to be expected at another place of the paragraph.
    """

    pairs: PairBatch
    topics: Reals
    other_topics: Reals | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def rows(self, start: int, step: int) -> GuidedBatch:
        """Every ``step``-th row from ``start``: one process's share of a global batch."""
        others = None if self.other_topics is None else self.other_topics[start::step]
        return GuidedBatch(self.pairs.rows(start, step), self.topics[start::step], others)


class GuidedStream:
    """Sentence pairs of one direction, with topics.

    Args:
        stream: The pairs.
        topics: Of every sentence of the store, as the direction knows them: [sentences, topics].
    """

    def __init__(self, stream: PairStream, topics: Reals) -> None:
        self.stream, self.topics = stream, topics

    def epoch(self, number: int) -> list[Any]:
        """The pairs of every batch of an epoch, in training order."""
        return list(self.stream.epoch(number))

    def batch(self, pairs: Any) -> GuidedBatch:
        """Gather some pairs."""
        others = self.topics[self.stream.others(pairs)] if self.stream.contrast else None
        return GuidedBatch(self.stream.batch(pairs), self.topics[self.stream.targets[pairs]], others)


class HmmLdaGm(GuidedModel):
    """Predicts each sentence from the one before it, guided by the topics that all before it let expect.

    Args:
        combine: ``uni`` (forward only), ``bi`` (both directions) or ``mmi`` (both, less the language model).
        topics: Folder of a trained `hmm-lda`, which `weft train` asks for. In Python it may be empty: `fit` then learns
            topics from its documents, anew every time.
        topic_count: How many topics `fit` then learns.
        peek: Whether the topics that guide a sentence have seen that sentence, as the paper's pipeline reads: a named
            variant, not comparable to models that predict.
        dimensions: Size of token vectors.
        hidden: Size of LSTM states.
        layers: LSTM layers.
        feed: Whether the decoder's upper layers read what attention found.
        lexical: Whether attention also leads from the source's words straight to the output.
        dropout: In training.
        word_dropout: Share of the decoder's input words hidden in training.
        contrast: What it counts in training that a sentence is likelier after its neighbour than after another sentence
            of its paragraph; 0 learns from likelihood alone, as the paper does.
        guide: Size of z_n = t_n V.
        frozen: What stays as a run starts with it: nothing, ``encoder`` or ``words`` (encoder and decoder).
        precedence: Whether a fourth part learns, on the encoders' frozen vectors, which of two sentences comes first.
        precedence_weight: What the log-odds of a pair count beside the coherence of a transition, in ordering.
        precision: Of saved weights: ``int8`` or ``float32``.

    Example:
        >>> HmmLdaGm(combine="uni").combine
        'uni'
    """

    name = "hmm-lda-gm"
    settings = SETTINGS
    adjustable = ("combine", "precedence_weight")
    card = ModelCard(
        summary="encoder-decoder guided by the topics of sentences",
        reference="Li & Jurafsky 2017, section 3.2; Gruber et al. 2007",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: what came before makes each word likely; mmi: likelier than it is by itself (nats per token)",
        comparable="mmi: roughly, between texts of one kind; uni and bi: only between orders of one text",
        needs="zoo/hmm-lda-gm, or training (weft train configs/hmm-lda-gm.toml)",
    )

    def __init__(
        self,
        combine: str = "mmi",
        topics: str = "",
        topic_count: int = 100,
        peek: bool = False,
        dimensions: int = 384,
        hidden: int = 640,
        layers: int = 2,
        feed: bool = True,
        lexical: bool = True,
        dropout: float = 0.1,
        word_dropout: float = 0.0,
        contrast: float = 0.0,
        guide: int = 64,
        frozen: str = "",
        precedence: bool = False,
        precedence_weight: float = 1.0,
        precision: str = "int8",
    ) -> None:
        self.combine = checked_combine(combine)
        sizes = {"dimensions": dimensions, "hidden": hidden, "layers": layers, "guide": guide}
        for name, size in sizes.items():
            at_least(self.name, name, size, 1)
        at_least(self.name, "topic_count", topic_count, 2, MOST_TOPICS)
        self.topics, self.peek, self.precision = topics, peek, precision
        self.topic_count, self.contrast = topic_count, contrast
        self.frozen, self.precedence, self.precedence_weight = frozen, precedence, precedence_weight
        self.dimensions, self.hidden, self.layers, self.guide = sizes.values()
        self.feed, self.lexical, self.dropout, self.word_dropout = feed, lexical, dropout, word_dropout
        self.check_shared_settings()
        self.chains: dict[str, TopicPredictor] = {}
        self.begin_untrained()
        self._topic_model: HmmLda | None = None
        self._known_topics: dict[tuple[str, bool], Reals] = {}

    @property
    def topic_model(self) -> HmmLda:
        """The topics, read from their folder where they are not here yet."""
        if self._topic_model is None:
            self.check_run()
            self._topic_model = HmmLda.load(model_folder(self.topics))
        return self._topic_model

    def check_run(self) -> None:
        """Refuse a run without topics: only `fit` learns them by itself.

        Raises:
            ConfigError: No folder of topics is named.
        """
        if not self.topics:
            raise ConfigError(
                "hmm-lda-gm needs a topic model",
                seen="topics = ''",
                allowed="a trained hmm-lda, by its name or its folder, such as topics=hmm-lda",
                next_step="run `weft train configs/hmm-lda.toml`, then set `topics` to the folder it writes",
            )

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn topics where no folder of them is named, then train all parts."""
        known = list(documents)
        if not self.topics:
            small = HmmLda(topics=self.topic_count, drop_top=0, rarest=1, prior_words=1.0, iterations=20)
            self._topic_model = small.fit(known, seed=seed, progress=progress)
            self._known_topics.clear()  # those of a store under the topics before
        return super().fit(known, seed=seed, progress=progress)

    # Training ---------------------------------------------------------------------------------------------------------

    @property
    def guide_size(self) -> int:
        """Size of z_n = t_n V."""
        return self.guide

    def guided_network(self, sizes: Architecture, special: Mapping[str, int]) -> torch.nn.Module:
        """An encoder-decoder with topics."""
        return TopicNetwork(sizes, self.topic_model.topics, **special)

    def guided_batches(
        self, direction: Direction, store: TokenStore, pad: int, settings: TrainingSettings
    ) -> GuidedStream:
        """The sentence pairs of one direction, with topics."""
        stream = PairStream(
            store, direction, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed,
            pad=pad, contrast=self.contrast > 0,
        )  # fmt: skip
        return GuidedStream(stream, self._topics_of(store, direction == "backward"))

    def _topics_of(self, store: TokenStore, backwards: bool) -> Reals:
        """The topics that guide every sentence of a store, found once: [sentences, topics], float16."""
        key = (store.info.fingerprint, backwards)
        if key not in self._known_topics:
            found = store_topics(self.topic_model, store, backwards=backwards, peek=self.peek)
            self._known_topics[key] = found
        return self._known_topics[key]

    def guided_loss(self, network: torch.nn.Module, batch: GuidedBatch, device: torch.device) -> LossPart:
        """The summed loss of a batch."""
        assert isinstance(network, TopicNetwork)
        source, target, places = moved_pairs(batch.pairs, device)
        topics, tokens = moved(batch.topics, device), batch.pairs.tokens
        if batch.other_topics is None:
            return LossPart(network.loss(source, target, topics, places), tokens)
        sources = (source, moved_others(batch.pairs, device))
        guides = network.guide(topics), network.guide(moved(batch.other_topics, device))
        return contrast_part(network.words, sources, target, places, self.contrast, tokens, guides)

    def foundation(self, part: str) -> dict[str, torch.Tensor]:
        """The weights a part stands on, topics among them: with others, it must be learned again."""
        if part not in ENCODERS:
            return super().foundation(part)
        return {"topics": torch.from_numpy(self.topic_model.to_artifact().tensors["words"].astype(np.float32))}

    def take(self, part: str, network: torch.nn.Module, ids: TokenCache) -> None:
        """Put a trained network to its use."""
        self.memory = OrderMemory()  # of the networks before
        if isinstance(network, TopicNetwork):
            self.chains[part] = TopicPredictor(network, self.topic_model, ids, peek=self.peek)
        else:
            super().take(part, network, ids)

    def companions(self) -> dict[str, Artifact]:
        """The topic model is saved with the networks it guides."""
        return {TOPIC_MODEL: self.topic_model.to_artifact()}

    def read_companions(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the saved topic model in."""
        prefix = f"{TOPIC_MODEL}/"
        tensors = {k.removeprefix(prefix): v for k, v in artifact.tensors.items() if k.startswith(prefix)}
        config = artifact.config.get(TOPIC_MODEL, {})
        self._topic_model = HmmLda.from_artifact(replace(artifact, tensors=tensors, config=config), folder)

    # Scoring ----------------------------------------------------------------------------------------------------------

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """The same networks with other settings, of those in ``adjustable``."""
        self.check_changes(changes)
        other = type(self)(**{**{name: getattr(self, name) for name in SETTINGS}, **changes})
        other.prior, other.tokenizer, other.chains = self.prior, self.tokenizer, self.chains
        other.judge, other.memory = self.judge, self.memory
        other._topic_model = self._topic_model
        return other

    def bulk_writer(self) -> TopicWriter:
        """Return what writes for many contexts at once."""
        return TopicWriter(*self.trained_parts())

    def built_on(self) -> tuple[str, ...]:
        """Return the folder of the topic model."""
        return (self.topics,) if self.topics else ()

    def order_search(self, document: Document) -> OrderSearch:
        """A search over a document's sentences."""
        paths = TopicPaths(self.chains["forward"], document.sentences)
        return SequenceOrderSearch(self.scorer, paths, document.sentences)
