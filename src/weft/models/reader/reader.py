"""The reader: a model that reads all sentences of a text at once, without their order.

References: Cui et al. 2018 (set encoders for ordering); Chen et al. 2016 (precedence of pairs); Wang et al. 2020
(MiniLM). Not in the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from weft.corpora.store.window_batches import WindowBatch, WindowStream
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document, Score
from weft.io.devices import has_gpu
from weft.io.model_folder import Artifact, load_artifact
from weft.models.common.network_parts import fitting_weights, saved_break_calibration, saved_tokenizer
from weft.models.common.saved_reference import saved_reference
from weft.models.common.setting_checks import restored_settings, untrained
from weft.models.reader.order_search import order_steps
from weft.models.reader.reader_settings import PART, ReaderSettings, exported_model, no_surprise
from weft.models.reader.recent_texts import SHUFFLES, RecentTexts
from weft.models.reader.text_tables import TableReader, TextTables, cut_remarks
from weft.models.reader.window_scores import WindowScores
from weft.progress import Progress, Steps, result_of, silent
from weft.protocols import ModelCard
from weft.scoring.break_calibration import BreakCalibration, sigmoid
from weft.scoring.percentiles import Reference, reference_for
from weft.scoring.text_soundness import sentence_soundness, sound_surprises
from weft.scoring.uni_bi_mmi import Table, check_numbers

if TYPE_CHECKING:  # an exported model runs without PyTorch
    import torch
    from torch import Tensor

    from weft.corpora.store.token_store import TokenStore
    from weft.models.reader.network import ReaderNetwork
    from weft.training.loop import Batches, LossPart
    from weft.training.settings import TrainingSettings

NO_COMBINATION = ""  # reference scores belong to the model itself


class Reader:
    """Reads all sentences of a text at once and says which comes first, which follows, and where the text breaks.

    One encoder reads the sentences without their order. For every pair of sentences it gives the log-odds that i
    precedes j, and log p(j follows i). The score of an order is the mean of log p(next) along it, above chance, plus
    `precedence_weight` times the mean log-odds of its pairs and `neighbour_weight` times that of its neighbours: any
    order of a text is a look-up. Links of repeated and of unreadable sentences count as broken, so that neither raises
    a score. A third head reads the given order and gives the probability of a break at each gap; a fourth one, with
    `stray_weight`, the log-odds that a sentence does not belong where it stands.

    Attributes:
        tokenizer: The tokenizer; None before training.
        reference: Reference scores; None before `weft calibrate`.
        break_calibration: Calibration and threshold of the probabilities of breaks; None before `weft calibrate`.

    Example:
        >>> Reader(ReaderSettings(layers=4, local_layers=2)).parts
        ('reader',)
    """

    name: ClassVar[str] = "reader"
    card = ModelCard(
        summary="a transformer that reads all sentences of a text at once, without their order",
        reference="Cui et al. 2018; Chen et al. 2016; Wang et al. 2020 (MiniLM)",
        score_range="nats above chance, around -3 to 3",
        meaning="each sentence is a likely next one after the sentence before it, and sentences are in a likely order",
        comparable="between texts of about the same length",
        needs="training",
    )
    Settings = ReaderSettings
    parts = (PART,)

    def __init__(self, settings: ReaderSettings | None = None) -> None:
        self.settings = settings or ReaderSettings()
        self.tokenizer: Tokenizer | None = None
        self.reference: Reference | None = None
        self.break_calibration: BreakCalibration | None = None
        self._reader: TableReader | None = None
        self._networks: dict[str, torch.nn.Module] = {}
        self._exported: str | Path | None = None  # the folder, if it was exported
        self._texts = RecentTexts(self.settings)

    # Training ---------------------------------------------------------------------------------------------------------

    def empty_network(self, part: str, tokenizer: Tokenizer) -> ReaderNetwork:  # noqa: ARG002
        """Return a network of the right shape."""
        from weft.models.reader.reader_training import empty_network

        return empty_network(self.settings, tokenizer)

    def new_network(self, part: str, tokenizer: Tokenizer) -> ReaderNetwork:  # noqa: ARG002
        """Return an untrained network, with the encoder that the settings name."""
        from weft.models.reader.reader_training import new_network

        return new_network(self.settings, tokenizer)

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> Batches:  # noqa: ARG002
        """Return batches of windows, some of them damaged.

        Raises:
            CorpusError: The network has a head for surprise, and the store has no values for it.
        """
        from weft.models.reader.reader_training import untaught

        if self.settings.surprise_weight > 0 and store.surprise_info is None:
            raise untaught(store.folder)
        options = self.settings.windows(settings.max_tokens)
        return WindowStream(store, batch_tokens=settings.batch_tokens, seed=settings.seed, options=options)

    def batch_loss(self, network: torch.nn.Module, batch: WindowBatch, device: torch.device) -> LossPart:
        """Return the losses of all heads, summed over windows."""
        from weft.models.reader.reader_training import batch_loss

        return batch_loss(self.settings, network, batch, device)

    def foundation(self, part: str) -> Mapping[str, Tensor]:  # noqa: ARG002
        """Return an empty mapping: there is one network."""
        return {}

    def initial_parts(self) -> Mapping[str, str]:
        """Return an empty mapping: the network starts from that of another reader."""
        return {}

    def prepare(self) -> None:
        """Check that the encoder to start from is there and has the configured sizes."""
        from weft.models.reader.bert_weights import check_encoder, encoder_folder

        if self.settings.encoder:
            check_encoder(self.settings, encoder_folder(self.settings.encoder))

    def built_on(self) -> tuple[str, ...]:
        """Return an empty tuple: no weights are shared with another model folder."""
        return ()

    def read_texts(self, sentences: Iterable[str], tokenizer: Tokenizer, *, progress: Progress = silent) -> None:
        """Do nothing: the model needs only the tokens of the store."""

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Train on documents in memory, with a vocabulary learned from them."""
        from weft.training.fit_documents import fit_documents

        return fit_documents(self, documents, seed=seed, progress=progress)

    def assemble(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        """Take the trained network into the model, rounded as it will be saved."""
        from weft.models.common.neural.network_folder import round_as_saved

        round_as_saved(networks, self.settings.precision)
        return self._take(networks, tokenizer)

    def _take(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        from weft.models.reader.network import ReaderNetwork
        from weft.models.reader.torch_tables import TorchTableReader

        network = networks[PART].eval()
        assert isinstance(network, ReaderNetwork)
        self.tokenizer, self._networks = tokenizer, {PART: network}
        self._reader = TorchTableReader(network, tokenizer, self.settings.sentence_tokens, self.settings.slots)
        self._texts = RecentTexts(self.settings)
        return self

    # Networks ---------------------------------------------------------------------------------------------------------

    @property
    def reader(self) -> TableReader:
        """The trained network with its tokenizer.

        Raises:
            ModelError: It is not trained.
        """
        if self._reader is None:
            raise untrained(self.name)
        return self._reader

    def networks(self) -> dict[str, torch.nn.Module]:
        """Return the trained network by part; that of an exported model is built in PyTorch.

        Raises:
            ModelError: The weights of an exported model do not fit its settings.
        """
        if self._networks or self._exported is None:
            return dict(self._networks)
        from weft.models.reader.reader_training import exported_network

        assert self.tokenizer is not None
        with fitting_weights(PART, self._exported):
            return {PART: exported_network(self.settings, self.tokenizer, load_artifact(self._exported).graphs)}

    def devices(self) -> tuple[str, ...]:
        """Return the devices that the model can run on here."""
        return self.reader.devices()

    def to(self, device: str | torch.device) -> Self:
        """Move the network to a device.

        Raises:
            ConfigError: The model cannot use the device.
        """
        if self._reader is None:
            return self
        if str(device).startswith("cuda") and "cuda" not in self._reader.devices() and has_gpu():
            assert self.tokenizer is not None
            self._take(self.networks(), self.tokenizer)  # an exported model, where onnxruntime has no GPU
        self._reader.to(str(device))
        return self

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same trained model with other weights of precedence."""
        other = type(self)(self.settings.adjusted(changes))
        other.tokenizer, other.reference = self.tokenizer, self.reference
        other.break_calibration = self.break_calibration
        other._reader, other._networks, other._exported = self._reader, self._networks, self._exported
        other._texts = self._texts.adjusted(other.settings)
        return other

    # Scoring ----------------------------------------------------------------------------------------------------------

    def tables(self, document: Document) -> TextTables:
        """Return what the network says about all pairs of sentences of a text, and about each sentence.

        A text with more sentences than slots is read in groups; its tables do not depend on the given order.

        Raises:
            ConfigError: The text is so long that tables of all pairs do not fit into memory.
        """
        return result_of(self._texts.table_steps(self.reader, document))

    def table_steps(self, document: Document) -> Steps[None]:
        """Compute the tables of a text; those of a long one in steps of a fraction of a second."""
        yield from self._texts.table_steps(self.reader, document)

    def score_steps(self, document: Document) -> Steps[None]:
        """Read the windows of a long text in steps of a fraction of a second; a short text has no steps."""
        if self._texts.is_long(document):
            yield from self._texts.window_steps(self.reader, document)

    def _in_order(self, document: Document) -> TextTables | WindowScores:
        """Return what the network says about a text in its given order."""
        return self._windows(document) if self._texts.is_long(document) else self.tables(document)

    def _windows(self, document: Document, shuffles: int = SHUFFLES, seed: int = 1) -> WindowScores:
        return result_of(self._texts.window_steps(self.reader, document, shuffles=shuffles, seed=seed))

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the score of each document in its own order."""
        weight, known = self.settings.precedence_weight, self._texts.short_tables(self.reader, documents)
        scores = []
        for document in documents:
            if len(document) < 2:
                scores.append(Score(None))
                continue
            if self._texts.is_long(document):
                steps = self._windows(document).transitions
                check_numbers(steps)
                scores.append(Score(float(steps.mean()), tuple(steps.tolist())))
                continue
            found = self._texts.weighed(document, known.get(document.sentences) or self.tables(document))
            order = range(len(document))
            check_numbers(found.follows)
            scores.append(Score(found.value(order, weight), tuple(found.transitions(order, weight).tolist())))
        return scores

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return a remark if much of a text is not read, because its sentences are long."""
        return cut_remarks(self.reader.ids(document.sentences), self.settings.sentence_tokens)

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order: by look-ups in the same tables, or by the windows of a long text."""
        if len(document) < 2:
            return [None] * len(orders)
        if self._texts.is_long(document):
            return [float(self._windows(document.reorder(order)).transitions.mean()) for order in orders]
        tables = self._texts.weighed(document, self.tables(document))
        return [tables.value(order, self.settings.precedence_weight) for order in orders]

    def arrange(self, document: Document, *, first: int | None = None, seed: int = 1) -> tuple[int, ...]:
        """Return the order with the highest sum of log p(next) and weighted precedence that the search finds."""
        return result_of(self.arrange_steps(document, first=first, seed=seed))

    def arrange_steps(self, document: Document, *, first: int | None = None, seed: int = 1) -> Steps[tuple[int, ...]]:  # noqa: ARG002
        """Return what `arrange` returns, in steps of a fraction of a second."""
        if len(document) < 2:
            return tuple(range(len(document)))
        tables = yield from self._texts.table_steps(self.reader, document)
        follows = self._texts.weighed(document, tables).follows
        # Precedence counts as in a text that is read at once, and that of repeated sentences too: they have a place.
        size = self._texts.group if self._texts.is_long(document) else len(document)
        precedence = self.settings.order_weight * tables.precedence / size
        return (yield from order_steps(follows, precedence, first=first))

    def order_tables(self, document: Document) -> tuple[Table, Table]:
        """Return the transitions and the weighted precedence whose sums over an order make its score.

        The score of a long text counts only pairs of the same window; the tables have all pairs.
        """
        tables = self._texts.weighed(document, self.tables(document))
        return tables.follows, 2 * self.settings.precedence_weight / len(document) * tables.precedence

    def break_odds(self, document: Document) -> Table:
        """Return the log-odds of a break after each sentence but the last, not calibrated: [sentences − 1]."""
        return self._in_order(document).breaks if len(document) > 1 else np.zeros(0)

    def break_probabilities(self, document: Document) -> tuple[float, ...]:
        """Return the probability of a break after each sentence but the last, calibrated if the model is."""
        odds, calibration = self.break_odds(document), self.break_calibration
        return calibration.probabilities(odds) if calibration is not None else tuple(sigmoid(odds).tolist())

    def stray_log_odds(self, document: Document) -> Table | None:
        """Return the log-odds that each sentence does not belong where it stands; None without this head."""
        if not self.settings.stray_weight > 0:
            return None
        return self._in_order(document).strays if document.sentences else np.zeros(0)

    def surprises(self, document: Document) -> tuple[float, ...]:
        """Return the predicted log-likelihood per token of each sentence, in nats.

        The prediction is that of a language model which has read the text before the sentence.

        Raises:
            ModelError: The network was trained without this head.
        """
        if not self.settings.surprise_weight > 0:
            raise no_surprise()
        return tuple(self._in_order(document).surprises.tolist()) if document.sentences else ()

    def fluency(self, document: Document) -> float | None:
        """Return the mean of `surprises`, a value that agrees with people's ratings more than the order of sentences.

        Repeated and unreadable sentences count as very surprising, so that neither raises it. None for an empty text,
        and for a network without this head.
        """
        if not (self.settings.surprise_weight > 0 and document.sentences):
            return None
        return float(np.mean(sound_surprises(self.surprises(document), sentence_soundness(document.sentences))))

    def shuffles_beaten(self, document: Document, *, shuffles: int = SHUFFLES, seed: int = 1) -> float | None:
        """Return the share of random orders of a text that score lower than its own; None for two sentences or fewer.

        Ties count as not beaten.
        """
        if len(document) < 3:
            return None
        if self._texts.is_long(document):
            return self._windows(document, shuffles=shuffles, seed=seed).shuffles_beaten
        tables = self._texts.weighed(document, self.tables(document))
        return tables.shuffles_beaten(self.settings.precedence_weight, shuffles=shuffles, seed=seed)

    # Saving -----------------------------------------------------------------------------------------------------------

    def companions(self) -> dict[str, Artifact]:
        """Return an empty mapping: no other model is saved in the same folder."""
        return {}

    def save(
        self, folder: str | Path, *, training: Mapping[str, Any] | None = None, beside: Sequence[str | Path] = ()
    ) -> None:
        """Write the network and its tokenizer.

        Raises:
            ModelError: The model is not trained, or was exported.
        """
        from weft.models.common.neural.network_folder import save_networks

        if self.tokenizer is None:
            raise untrained(self.name)
        if not self._networks:
            raise exported_model(str(folder))
        save_networks(
            self.name, self.settings.to_dict(), self.networks(), self.tokenizer, folder, companions={},
            reference=self.reference, training=training, beside=beside,
            break_calibration=self.break_calibration,
        )  # fmt: skip

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save` or by `weft export`; the latter runs in onnxruntime, without PyTorch."""
        artifact = load_artifact(folder)
        tokenizer = saved_tokenizer(artifact, folder)
        model = cls(restored_settings(cls.Settings, artifact, folder))
        if artifact.graphs:
            from weft.models.reader.exported.onnx_tables import exported_reader

            model.tokenizer, model._exported = tokenizer, folder
            model._reader = exported_reader(artifact, tokenizer, model.settings, folder)
        else:
            from weft.models.common.neural.network_folder import load_networks

            empty = partial(model.empty_network, tokenizer=tokenizer)
            model._take(load_networks(model.parts, empty, artifact, folder), tokenizer)
        model.reference = reference_for(saved_reference(artifact, folder), NO_COMBINATION)
        model.break_calibration = saved_break_calibration(artifact, folder)
        return model
