"""The Seq2Seq model inside the package, which scores and orders without torch, because importing torch is slow.

On a CPU, its networks run in numpy. Generation, a GPU and further training need torch; for these, a `Seq2Seq` with the
same weights is built on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document, Score
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.io.package_files import PRETRAINED
from weft.io.quantization import Weights
from weft.models.common.network_parts import (
    check_precedence_weight,
    fitting_weights,
    saved_parts,
    saved_tokenizer,
    saved_weights,
)
from weft.models.common.saved_reference import saved_reference
from weft.models.common.setting_checks import restored_settings
from weft.models.common.setting_fields import combine_field, precedence_weight_field
from weft.models.common.thread_pool import at_once, in_threads
from weft.models.common.token_cache import TokenCache
from weft.models.seq2seq.numpy_network import NumpyNetwork
from weft.models.seq2seq.numpy_precedence import NumpyPrecedence
from weft.models.seq2seq.numpy_predictor import NumpyPredictor
from weft.progress import Progress, silent
from weft.protocols import ModelCard, SentenceModel
from weft.scoring.known_pairs import PairMemory
from weft.scoring.percentiles import REFERENCE, Reference, reference_for
from weft.scoring.uni_bi_mmi import Combine, Scorer, Table, checked_combine, table_cache
from weft.settings import Settings
from weft.training.part_names import ENCODERS, PARTS, PRECEDENCE

if TYPE_CHECKING:
    import torch

    from weft.models.common.neural.sentence_predictor import Predictor
    from weft.models.seq2seq.seq2seq import PairWriter, Seq2Seq

EMBEDDED = PRETRAINED / "weft-small"


@dataclass(frozen=True, kw_only=True)
class WeftSmallSettings(Settings):
    """Settings of `weft-small`."""

    model_name: ClassVar[str] = "weft-small"
    combine: str = combine_field()
    precedence_weight: float = precedence_weight_field()


class Networks:
    """The networks of a one-layer `Seq2Seq` in a folder: in numpy, for scores on a CPU, and in torch, on first use."""

    def __init__(self, folder: str | Path) -> None:
        self.folder, self.artifact = folder, load_artifact(folder)
        self.settings = restored_settings(WeftSmallSettings, self.artifact, folder)
        self.tables = table_cache()
        self.on_cpu = True
        parts = saved_parts(self.artifact, folder)
        tokenizer, weights = at_once(lambda: saved_tokenizer(self.artifact, folder), lambda: self._weights(parts))
        self.tokenizer, known = tokenizer, TokenCache(tokenizer)
        sentence_parts = [part for part in parts if part != PRECEDENCE]
        found = in_threads(lambda part: self._predictor(part, weights[part], tokenizer, known), sentence_parts)
        self.predictors = dict(zip(sentence_parts, found, strict=True))
        self.precedence = self._precedence(weights[PRECEDENCE]) if PRECEDENCE in weights else None

    def _weights(self, parts: Sequence[str]) -> dict[str, Weights]:
        found = {}
        for part in parts:
            with fitting_weights(part, self.folder):
                found[part] = saved_weights(self.artifact, part)
        return found

    def _predictor(self, part: str, weights: Weights, tokenizer: Tokenizer, known: TokenCache) -> NumpyPredictor:
        with fitting_weights(part, self.folder):
            network = NumpyNetwork(weights, bos=tokenizer.bos_id, eos=tokenizer.eos_id)
            if len(network.embedding) != tokenizer.vocabulary_size:
                raise ValueError(f"{len(network.embedding)} words, not {tokenizer.vocabulary_size}")
            if (network.encoder is None) != (
                part == "prior"
            ):  # an encoder-decoder without encoder would act as a language model
                raise ValueError("an encoder" if network.encoder else "no encoder")
        return NumpyPredictor(network, known)

    def _precedence(self, weights: Weights) -> NumpyPrecedence:
        with fitting_weights(PRECEDENCE, self.folder):
            return NumpyPrecedence(weights, [self.predictors[part] for part in ENCODERS])

    @cached_property
    def torch_model(self) -> Seq2Seq:
        """The model in torch."""
        from weft.models.seq2seq.seq2seq import Seq2Seq

        return Seq2Seq.from_artifact(self.artifact, self.folder)


class WeftSmall:
    """The Seq2Seq model inside the package: 12 MiB, trained on 3.6 million Wikipedia sentences.

    Example:
        >>> text = ("Mary ate some apples.", "She likes apples.", "The senate adjourned.")
        >>> first, second = WeftSmall().score([Document("d", text)])[0].transitions
        >>> first > second
        True
    """

    name = "weft-small"
    Settings = WeftSmallSettings
    card = ModelCard(
        summary="a small Seq2Seq model inside the package: how much each sentence helps to predict its neighbours",
        reference="Li & Jurafsky 2017, section 3.1 (MMI)",
        score_range="around -1 to 3 nats per token (mmi); 0 means that neighbours do not help to predict each other",
        meaning="each sentence makes the words of the next, and of the one before, likelier than they are alone",
        comparable="roughly, between texts of one kind and length; best between versions of one text",
        needs_training=False,
    )

    def __init__(
        self,
        settings: WeftSmallSettings = WeftSmallSettings(),
        *,
        networks: Networks | None = None,
        known: PairMemory | None = None,
    ) -> None:
        self.settings, self._known = settings, known
        self._networks = networks = networks or Networks(EMBEDDED)
        self.reference: Reference | None = reference_for(
            saved_reference(networks.artifact, networks.folder), self.combine
        )

    # Scoring ----------------------------------------------------------------------------------------------------------

    @property
    def combine(self) -> Combine:
        """The combination in use."""
        return checked_combine(self.settings.combine)

    @property
    def scorer(self) -> Scorer:
        """The scorer that combines the trained parts."""
        networks = self._networks
        found: Mapping[str, SentenceModel] = networks.predictors if networks.on_cpu else networks.torch_model.predictors
        forward, backward, prior = (found.get(part) for part in PARTS)
        assert forward is not None
        return Scorer(forward, backward, prior, self.combine, networks.tables, self._known)

    def combined(self, combine: str) -> Self:
        """Return the same networks with another combination; both share one cache."""
        return self.adjusted({"combine": combine})

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same networks with other settings."""
        if "precedence_weight" in changes:
            check_precedence_weight(changes["precedence_weight"], learned=self._networks.precedence is not None)
        return type(self)(self.settings.changed(changes), networks=self._networks, known=self._known)

    def remembering(self) -> Self:
        """Return the same networks with a cache of pairs: after an edit, only the pairs that changed are computed."""
        return type(self)(self.settings, networks=self._networks, known=PairMemory())

    def table_steps(self, document: Document) -> Iterator[None]:
        """Compute what `pair_table` needs in short steps; without a cache of pairs, there are none."""
        return self.scorer.table_steps(document)

    def score_steps(self, document: Document) -> Iterator[None]:
        """Compute what `score` needs for a long text in short steps; without a cache of pairs, there are none."""
        return self.scorer.score_steps(document)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document: the mean over adjacent pairs."""
        return self.scorer.score(documents)

    def pair_table(self, document: Document) -> Table:
        """Return the scores of all ordered pairs, in one batch: [sentences, sentences]."""
        networks = self._networks
        if networks.on_cpu and self._known is None and document.sentences not in networks.tables:
            # The encoders run in parallel, because a text has too few rows to divide among threads.
            reading = [predictor for predictor in networks.predictors.values() if predictor.network.encoder]
            in_threads(lambda predictor: predictor.sources(document.sentences), reading)
        return self.scorer.pair_table(document)

    def precedence_table(self, document: Document) -> Table | None:
        """Return the weighted log-odds that each sentence comes before each other one; None if not trained."""
        networks = self._networks
        weight = self.settings.precedence_weight
        if not networks.on_cpu:
            return networks.torch_model.precedence.table(document, weight)
        return None if networks.precedence is None else weight * networks.precedence.table(document)

    # With torch -------------------------------------------------------------------------------------------------------

    def to(self, device: str | torch.device) -> Self:
        """Move the networks to a device; off the CPU they run in torch."""
        networks = self._networks
        networks.on_cpu = str(device).startswith("cpu")
        if not networks.on_cpu or "torch_model" in vars(networks):
            networks.torch_model.to(device)
        return self

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the networks."""
        return tuple(saved_parts(self._networks.artifact, self._networks.folder))

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all networks."""
        return self._networks.tokenizer

    @property
    def predictors(self) -> dict[str, Predictor]:
        """The sentence models in torch, by part."""
        return self._networks.torch_model.predictors

    def writer(self) -> Predictor:
        """Return the forward part, which proposes next sentences."""
        forward: Predictor = self._networks.torch_model.writer()
        return forward

    def reranker(self, combine: str) -> Scorer:
        """Return the scorer that reranks candidates."""
        return self.combined(combine).scorer

    def bulk_writer(self) -> PairWriter:
        """Return the writer for many contexts at once."""
        return self._networks.torch_model.bulk_writer()

    def networks(self) -> dict[str, torch.nn.Module]:
        """Return the trained networks in torch, by part."""
        return self._networks.torch_model.networks()

    def companions(self) -> dict[str, Artifact]:
        """Return an empty mapping: no other model is saved in the same folder."""
        return {}

    # Model folder ---------------------------------------------------------------------------------------------

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:  # noqa: ARG002
        """Do nothing: the model is trained. Train a `seq2seq` on your own documents instead."""
        return self

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write all parts and their tokenizer, as they were read."""
        read: Artifact = self._networks.artifact
        texts = {name: text for name, text in read.texts.items() if name != REFERENCE}
        if self.reference is not None:
            texts[REFERENCE] = self.reference.to_text()
        config = {**read.config, **self.settings.to_dict()}
        save_artifact(replace(read, model=self.name, config=config, texts=texts, training=training or {}), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        networks = Networks(folder)
        return cls(networks.settings, networks=networks)
