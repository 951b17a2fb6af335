"""Protocols: the contracts between models, scorers, searches and training.

Every model is a `CoherenceModel`. A model made of networks, which `weft.training` trains, is also a `NeuralModel`. The
other protocols are capabilities of some models; test for them with `isinstance`. Those of networks in training are in
`weft.training.network_protocols`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score, Window
from weft.progress import Progress, silent
from weft.settings import Settings as ModelSettings

if TYPE_CHECKING:
    import torch

    from weft.corpora.store.token_store import TokenStore
    from weft.corpora.text.tokenizers import Tokenizer
    from weft.generation.bulk_writing import BulkWriter
    from weft.generation.continuation import Writer
    from weft.io.model_folder import Artifact
    from weft.scoring.break_calibration import BreakCalibration
    from weft.scoring.percentiles import Reference
    from weft.scoring.sequence_scorer import SequenceScorer
    from weft.scoring.uni_bi_mmi import Combine, Scorer
    from weft.training.loop import Batches, LossPart
    from weft.training.settings import TrainingSettings


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A description of a model and of the meaning of its scores."""

    summary: str  # one line on what the model does
    reference: str  # the publication that describes it
    score_range: str  # the values that a score can have
    meaning: str  # the meaning of a higher score
    comparable: str  # whether scores of different texts can be compared
    needs: str = "nothing"  # what the model needs before it can score: nothing, training, or an extra
    needs_training: bool = True  # whether it must be trained before it can score
    extra: str = ""  # the extra of weft-coherence without which it cannot score; empty if it needs none
    reranked_by: str = ""  # the model that chooses among its sentences if no other is named; empty: itself
    bar_range: tuple[float, float] = (-3.0, 3.0)  # values of a transition whose bars are empty and full


@runtime_checkable
class DocumentScorer(Protocol):
    """An object that scores documents; a higher score always means more coherent."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document, in order."""


@runtime_checkable
class CoherenceModel(DocumentScorer, Protocol):
    """A model: it scores documents, learns from them, and is saved and loaded.

    Its constructor takes one object of its settings class; without an argument, all settings have their defaults.
    """

    card: ModelCard

    @property
    def Settings(self) -> type[ModelSettings]:  # noqa: N802
        """The class of its settings, a frozen dataclass; models define it as a class attribute."""

    @property
    def settings(self) -> ModelSettings:
        """Its settings."""

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Train the model on documents and return it; a model that needs no training is returned unchanged."""

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write a model folder."""

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model folder."""


@runtime_checkable
class RemarkingModel(Protocol):
    """A model that has remarks on texts that it cannot score reliably."""

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return remarks on a text for the user; empty for most texts."""


@runtime_checkable
class PairwiseModel(Protocol):
    """A first-order model: a document's score is the mean over adjacent pairs of one table.

    The scores of permutations and orders are then look-ups in the table.
    """

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        """Return how well sentence j follows i, as ``table[i, j]``: [sentences, sentences]; diagonal unused."""


@runtime_checkable
class PrecedenceModel(Protocol):
    """A model that may also have learned which of two sentences comes first, at any distance."""

    def precedence_table(self, document: Document) -> npt.NDArray[np.float64] | None:
        """Return the gain of any order in which sentence i comes before j, as ``table[i, j]``.

        The table is antisymmetric. None: the model has not learned precedence.
        """


@runtime_checkable
class TabledModel(Protocol):
    """A model whose score of an order is a sum over two tables, divided by the number of transitions."""

    def order_tables(self, document: Document) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the gain if j follows i, and the gain if i comes anywhere before j (antisymmetric)."""


@runtime_checkable
class Arranger(Protocol):
    """A model that orders sentences by a rule instead of a search over scores."""

    def arrange(self, document: Document, *, first: int | None = None, seed: int = 1) -> tuple[int, ...]:
        """Return an order of the sentences that starts with ``first``, if given."""


@runtime_checkable
class SentenceModel(Protocol):
    """A model of the next sentence; `weft.scoring.uni_bi_mmi.Scorer` scores documents with it."""

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return log p(target | context), natural and SUMMED over the target's tokens and ``</s>``, of each window."""

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included, by which sums are divided."""


@runtime_checkable
class SequenceModel(Protocol):
    """A model of the next sentence given all before it; `SequenceScorer` scores documents with it."""

    def log_probs(self, sentences: Sequence[str], orders: Sequence[Sequence[int]]) -> list[npt.NDArray[np.float64]]:
        """Return, for every order of the sentences, log p(s_n | s_1 … s_{n-1}) of its second and later sentences."""

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included, by which sums are divided."""


@runtime_checkable
class OrderScorer(Protocol):
    """A model with memory that scores several orders of one text at once and encodes each sentence once."""

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return one score per order."""


@runtime_checkable
class ShuffleJudge(Protocol):
    """A model that quickly compares a text with its own random orders."""

    def shuffles_beaten(self, document: Document) -> float | None:
        """Return the share of random orders that score lower than the text's own; None if there is no other order.

        Ties count as not beaten.
        """


@runtime_checkable
class FluencyModel(Protocol):
    """A model with a second value: how likely the sentences of a text are, whatever their order."""

    def fluency(self, document: Document) -> float | None:
        """Return the mean predicted log-likelihood per token, in nats; None if the model has not learned it."""


@runtime_checkable
class BreakModel(Protocol):
    """A model that estimates where a text breaks; `break_calibration` is None before `weft calibrate`."""

    break_calibration: BreakCalibration | None

    def break_odds(self, document: Document) -> npt.NDArray[np.float64]:
        """Return the log-odds of a break after each sentence but the last, not calibrated: [sentences − 1]."""

    def break_probabilities(self, document: Document) -> tuple[float, ...]:
        """Return the probability of a break after each sentence but the last, calibrated if the model is."""


@runtime_checkable
class StrayModel(Protocol):
    """A model that estimates which sentences do not belong where they stand."""

    def stray_log_odds(self, document: Document) -> npt.NDArray[np.float64] | None:
        """Return the log-odds for each sentence, not calibrated; None if the model has not learned them."""


class OrderSearch(Protocol):
    """The state of a beam search for an order: partial orders of a text (paths) that grow to the right."""

    def begin(self, firsts: Sequence[int]) -> npt.NDArray[np.float64]:
        """Start one path with each of these sentences, and return their gains: [paths]."""

    def gains(self) -> npt.NDArray[np.float64]:
        """Return the gain of each sentence if it comes next, placed or not: [paths, sentences]."""

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths (``rows``) and add one sentence (``columns``) to each."""


@runtime_checkable
class SearchableModel(Protocol):
    """A model with memory whose beam search keeps the state of each partial order."""

    def order_search(self, document: Document) -> OrderSearch:
        """Return the state of a beam search over the document's sentences."""


# Capabilities of some models -----------------------------------------------------------------------------------------


@runtime_checkable
class AdjustableModel(Protocol):
    """A trained model of which some settings, `settings.adjustable()`, can change without training again."""

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same trained model with other settings."""


@runtime_checkable
class CombinableModel(Protocol):
    """A generative model whose parts are combined as uni, bi or mmi."""

    @property
    def combine(self) -> Combine:
        """The combination in use."""

    def combined(self, combine: str) -> Self:
        """Return the same trained model with another combination."""


@runtime_checkable
class MovableModel(Protocol):
    """A model that can be moved to another device."""

    def to(self, device: str | torch.device) -> Self:
        """Move the model to a device."""


@runtime_checkable
class PlacedModel(MovableModel, Protocol):
    """A model that knows on which devices it can run, for example because it runs without PyTorch."""

    def devices(self) -> tuple[str, ...]:
        """Return the devices that it can run on here: ``cpu``, and ``cuda`` if there is a GPU that it can use."""


@runtime_checkable
class CalibratedModel(Protocol):
    """A model that can hold reference scores; `reference` is None until `weft calibrate` has computed them."""

    reference: Reference | None


class Estimator(Protocol):
    """How log-probabilities are estimated."""

    @property
    def name(self) -> str:
        """Name of the estimate, such as ``iwae-5``."""

    @property
    def kind(self) -> str:
        """What is averaged over the samples, such as ``iwae``."""

    @property
    def samples(self) -> int:
        """Number of samples."""


@runtime_checkable
class EstimatingModel(Protocol):
    """A model whose log-probabilities are estimates, not exact."""

    @property
    def estimate(self) -> Estimator:
        """The bound or sampling estimate of scores."""


@runtime_checkable
class SearchEstimatingModel(Protocol):
    """A model that searches for orders and reranks with an estimate of its own, usually of fewer samples."""

    @property
    def search_estimate(self) -> Estimator:
        """The estimate in searches for orders and in reranking."""


@runtime_checkable
class WritingModel(CombinableModel, Protocol):
    """A generative model that can also write the next sentence."""

    name: ClassVar[str]

    def writer(self) -> Writer:
        """Return the forward part, which proposes next sentences.

        Raises:
            ModelError: It is not trained.
        """

    def reranker(self, combine: str) -> Scorer | SequenceScorer:
        """Return the scorer that reranks candidates."""


@runtime_checkable
class BulkWritingModel(WritingModel, Protocol):
    """A writing model that also writes for many contexts at once."""

    def bulk_writer(self) -> BulkWriter:
        """Return what writes for many contexts at once.

        Raises:
            ModelError: A part is not trained.
        """


# Neural models -------------------------------------------------------------------------------------------------------


@runtime_checkable
class NetworkModel(MovableModel, Protocol):
    """A model with trained networks that other models and evaluators can use."""

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of all networks; None before training."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the networks, in training order: a part may build on those before it."""

    def networks(self) -> dict[str, torch.nn.Module]:
        """Return the trained networks by part."""

    def companions(self) -> dict[str, Artifact]:
        """Return other models that are saved in the same folder, by name, such as the topic model of hmm-lda-gm."""


@runtime_checkable
class NeuralModel(NetworkModel, CoherenceModel, Protocol):
    """The contract between a model made of networks and `weft.training`."""

    name: ClassVar[str]

    def new_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """Return an untrained network."""

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> Batches:
        """Return the source of a part's batches."""

    def batch_loss(self, network: torch.nn.Module, batch: Any, device: torch.device) -> LossPart:
        """Return the summed loss of a batch."""

    def foundation(self, part: str) -> Mapping[str, torch.Tensor]:
        """Return the weights outside of a part that its training depends on, such as frozen encoders of other parts."""

    def initial_parts(self) -> Mapping[str, str]:
        """Return, by part, the part of `run.start` that it starts from; a part not listed starts from its namesake."""

    def prepare(self) -> None:
        """Load the models that the settings name, so that a missing folder is reported before data are prepared."""

    def built_on(self) -> tuple[str, ...]:
        """Return the model folders named in the settings whose weights are part of this model."""

    def read_texts(self, sentences: Iterable[str], tokenizer: Tokenizer, *, progress: Progress = silent) -> None:
        """Read the training texts, if the model needs more than their tokens, such as their parses."""

    def assemble(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        """Return the model with trained networks, rounded as they will be saved."""

    def save(
        self, folder: str | Path, *, training: Mapping[str, Any] | None = None, beside: Sequence[str | Path] = ()
    ) -> None:
        """Write a model folder without the weights that are already in one of the folders ``beside``."""
