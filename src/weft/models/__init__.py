"""The models: what they promise, and where each one lives.

A plain dictionary maps a name to ``module:Class``; nothing is imported before it is asked for, and nothing
registers itself.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score, Window
from weft.errors import ConfigError, ModelError, did_you_mean, is_number
from weft.io.model_folder import MANIFEST, load_artifact
from weft.progress import Progress, silent

DEFAULT_MODEL = "weft-small"

MODELS: Mapping[str, str] = {
    "foltz-glove": "weft.models.baselines.word_vectors:FoltzGlove",
    "foltz-sif": "weft.models.baselines.word_vectors:FoltzSif",
    "foltz-lsa": "weft.models.baselines.lsa:FoltzLsa",
    "foltz-lda": "weft.models.baselines.lda:FoltzLda",
    "foltz-embedding": "weft.models.baselines.embedding:FoltzEmbedding",
    "entity-grid": "weft.models.baselines.entity_grid:EntityGrid",
    "entity-grid-generative": "weft.models.baselines.entity_generative:EntityGridGenerative",
    "entity-graph": "weft.models.baselines.entity_graph:EntityGraph",
    "syntax-hmm": "weft.models.baselines.syntax_hmm:SyntaxHmm",
    "syntax-local": "weft.models.baselines.syntax_local:SyntaxLocal",
    "content-hmm": "weft.models.baselines.content_hmm:ContentHmm",
    "hmm-entity": "weft.models.baselines.combination:HmmEntity",
    "hmm-content": "weft.models.baselines.combination:HmmContent",
    "hmm-lda": "weft.models.generative.hmm_lda:HmmLda",
    "hmm-lda-gm": "weft.models.generative.topic:HmmLdaGm",
    "seq2seq": "weft.models.generative.seq2seq:Seq2Seq",
    "vlv-gm": "weft.models.generative.variational:VlvGm",
    "weft-small": "weft.models.generative.weft_small:WeftSmall",
    "hf": "weft.models.generative.hf:Hf",
    "discriminative": "weft.models.discriminative.clique:Discriminative",
    "discriminative-pair": "weft.models.discriminative.pairs:DiscriminativePair",
    "recursive": "weft.models.discriminative.recursive:Recursive",
    "random": "weft.models.baselines.trivial:RandomModel",
    "year-sort": "weft.models.baselines.trivial:YearSort",
}


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a person must know to read a model's score.

    Attributes:
        summary: One line on what the model does.
        reference: The publication behind it.
        score_range: The values a score can take.
        meaning: What a higher score says.
        comparable: Whether scores of different texts can be compared.
        needs: What has to be there before it can score: nothing, training, or an extra.
    """

    summary: str
    reference: str
    score_range: str
    meaning: str
    comparable: str
    needs: str = "nothing"


@runtime_checkable
class DocumentScorer(Protocol):
    """Scores documents; higher is more coherent, always. All that orderings and tasks ask for."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document, in order."""


@runtime_checkable
class CoherenceModel(DocumentScorer, Protocol):
    """A scorer that can also learn, be saved and say what its score means: what the registry holds."""

    card: ModelCard

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn from documents; a model with nothing to learn returns itself."""

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write a model folder."""

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model folder."""


@runtime_checkable
class RemarkingModel(Protocol):
    """A model that can say why a text is not one to judge, or how far its score can be trusted."""

    def remarks(self, document: Document) -> tuple[str, ...]:
        """What a person should know of the text; nothing of most."""


@runtime_checkable
class PairwiseModel(Protocol):
    """A first-order model: a document's score is the mean over adjacent pairs of one table.

    Permutations and orders are then look-ups, and nothing is scored twice.
    """

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        """``table[i, j]``: how well sentence j follows sentence i. Shape [sentences, sentences]; diagonal unused."""


@runtime_checkable
class PrecedenceModel(Protocol):
    """A model that may also know which of two sentences comes first, however far apart they stand."""

    def precedence_table(self, document: Document) -> npt.NDArray[np.float64] | None:
        """``table[i, j]``: what it counts that sentence i stands before j, antisymmetric; None if never learned."""


@runtime_checkable
class Arranger(Protocol):
    """A model that puts sentences in order by a rule of its own instead of a search over scores."""

    def arrange(self, document: Document, *, first: int | None = None, seed: int = 1) -> tuple[int, ...]:
        """The order it proposes, starting with ``first`` where that is given."""


@runtime_checkable
class SentenceModel(Protocol):
    """A model of the next sentence; `weft.scoring.Scorer` makes a CoherenceModel of it."""

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Natural log-probability of each target given its context, SUMMED over its tokens, ``</s>`` included."""

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """How many tokens each sentence has, ``</s>`` included: the N that sums are divided by."""


@runtime_checkable
class SequenceModel(Protocol):
    """A model of the next sentence that remembers all before it; `weft.scoring.SequenceScorer` makes a scorer of it."""

    def log_probs(self, sentences: Sequence[str], orders: Sequence[Sequence[int]]) -> list[npt.NDArray[np.float64]]:
        """For every order of some sentences, log p(s_n | all before it) of its second sentence and those after."""

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """How many tokens each sentence has, ``</s>`` included: the N that sums are divided by."""


@runtime_checkable
class OrderScorer(Protocol):
    """A model with memory that scores several orders of one text at once, reading its sentences once."""

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """One score per order."""


class PrefixSteps(Protocol):
    """Partial orders of a text that grow to the right; what is known of them is carried along."""

    def begin(self, firsts: Sequence[int]) -> npt.NDArray[np.float64]:
        """Start with these sentences, one a path; what each path is worth so far: [paths]."""

    def gains(self) -> npt.NDArray[np.float64]:
        """What each sentence would gain next, whether it is placed already or not: [paths, sentences]."""

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Go on with some paths (``rows``), each grown by a sentence (``columns``)."""


@runtime_checkable
class PrefixModel(Protocol):
    """A model with memory whose beam search carries what is known of every partial order."""

    def prefix_steps(self, document: Document) -> PrefixSteps:
        """A search over a document's sentences."""


def model_class(name: str) -> type[CoherenceModel]:
    """Import the class of a registered model.

    Raises:
        ConfigError: There is no model of that name.

    Example:
        >>> model_class("random").__name__
        'RandomModel'
    """
    if name not in MODELS:
        raise ConfigError(
            "unknown model",
            seen=name,
            allowed=f"a folder with a {MANIFEST}, or a built-in name; {did_you_mean(name, MODELS)}",
            next_step="run `weft models`",
        )
    module, _, attribute = MODELS[name].partition(":")
    found: type[CoherenceModel] = getattr(importlib.import_module(module), attribute)
    return found


def create_model(name: str, settings: Mapping[str, Any] | None = None) -> CoherenceModel:
    """Build a model by name with settings for its constructor, which are checked.

    Example:
        >>> create_model("random", {"seed": 3}).score([Document("d", ("A.", "B."))])[0].value is not None
        True
    """
    chosen = dict(settings or {})
    kind = model_class(name)
    allowed = model_settings(name)
    for key, value in chosen.items():
        if key not in allowed:
            raise ConfigError(
                f"{name} has no setting of that name",
                seen=key,
                allowed=did_you_mean(key, allowed) or "none",
                next_step=f"run `weft config {name}`",
            )
        check_type(f"{name}.{key}", value, allowed[key])
    return kind(**chosen)


def model_settings(name: str) -> dict[str, Any]:
    """The settings of a model and their defaults, read off its constructor."""
    parameters = inspect.signature(model_class(name)).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def check_type(name: str, value: object, default: object) -> None:
    """Refuse a number that is not finite, or a type that is not the default's; a default of None takes any type."""
    whole_for_real = isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool)
    if (whole_for_real or isinstance(value, float)) and not is_number(value):
        raise ConfigError(
            f"{name} is not a finite number", seen=value, allowed="a finite number", next_step="change the value"
        )
    if default is None or whole_for_real or type(value) is type(default):
        return
    raise ConfigError(
        f"{name} has the wrong type",
        seen=value,
        allowed=f"a {type(default).__name__}, such as {default!r}",
        next_step="change the value",
    )


def load_model(name_or_folder: str | Path, settings: Mapping[str, Any] | None = None) -> CoherenceModel:
    """A model by registered name, or from a folder written by `weft train`.

    Example:
        >>> type(load_model("foltz-glove")).__name__
        'FoltzGlove'
    """
    name = str(name_or_folder)
    if name in MODELS:
        return create_model(name, settings)
    folder = Path(name_or_folder)
    if not folder.exists():
        model_class(name)  # raises with the nearest name
    trained = load_artifact(folder).model
    if trained not in MODELS:
        raise ModelError(
            f"{folder} holds a model this weft does not have",
            seen=trained,
            allowed=did_you_mean(trained, MODELS),
            next_step="upgrade weft",
        )
    return _adjusted(model_class(trained).load(folder), settings or {})


def _adjusted(model: Any, settings: Mapping[str, Any]) -> CoherenceModel:
    """A trained model with other settings, of those that leave what it has learned as it is."""
    free: tuple[str, ...] = getattr(model, "adjustable", ())
    for key, value in settings.items():
        if key not in free:
            raise ConfigError(
                "this setting of a trained model is fixed",
                seen=key,
                allowed=", ".join(free) or "no --set with this model folder",
                next_step="leave it away, or train again with it",
            )
        check_type(key, value, getattr(model, key))
    adjusted: CoherenceModel = model.adjusted(settings) if settings else model
    return adjusted
