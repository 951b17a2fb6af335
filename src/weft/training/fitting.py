"""Training the parts of a neural model: prepared text in, trained networks out, resumable at every point."""

from __future__ import annotations

import hashlib
import json
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.errors import ConfigError
from weft.progress import Progress, silent
from weft.training.checkpoints import RunLog, load_checkpoint, save_checkpoint
from weft.training.devices import Runtime, seed_step, start_runtime
from weft.training.loop import Batches, LossPart, Report, Trainer, TrainingSettings, added_up, below

VALIDATION_BATCHES = 40
LOG_EVERY = 50
CHECKPOINT_SECONDS = 60.0
SHORT = TrainingSettings(steps=200, warmup=20, validate_every=0)  # for documents in memory
NETWORKS = 2  # rises when networks are put together differently: checkpoints from before are then not resumed


class Trainable(Protocol):
    """What a neural model tells the run: its parts, and for each a network, batches and a loss."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Their names, in the order of training: a part may stand on those before it."""

    def new_network(self, part: str, tokenizer: Tokenizer) -> nn.Module:
        """An untrained network."""

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> Batches:
        """Where its batches come from."""

    def batch_loss(self, network: nn.Module, batch: Any, device: torch.device) -> LossPart:
        """The summed loss of a batch."""

    def foundation(self, part: str) -> Mapping[str, Tensor]:
        """The weights of other parts that a part stands on."""

    def read_texts(self, sentences: Sequence[str], tokenizer: Tokenizer, *, progress: Progress = silent) -> None:
        """Read the training texts."""

    def assemble(self, networks: Mapping[str, nn.Module], tokenizer: Tokenizer) -> object:
        """Take trained networks in."""

    def to(self, device: str | torch.device) -> object:
        """Move what was taken in to a device."""


Model = TypeVar("Model", bound=Trainable)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a run learns from and is validated on."""

    train: TokenStore
    valid: TokenStore | None = None


def train_part(
    model: Trainable,
    part: str,
    corpus: Corpus,
    settings: TrainingSettings,
    runtime: Runtime,
    *,
    folder: Path | None = None,
    start: Mapping[str, Tensor] | None = None,
    listen: Callable[[Report], None] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> nn.Module:
    """Train one part to the end of its run, from its last checkpoint where there is one.

    Args:
        model: What the part belongs to.
        part: Its name.
        corpus: What to learn from.
        settings: How.
        runtime: Where.
        folder: Where checkpoints and the log go; None keeps nothing.
        start: Weights to start from; what they lack starts as in a new network.
        listen: Told every report.
        checkpoint_seconds: How much work may be lost by a power cut.

    Returns:
        The network with its best weights, in evaluation mode.
    """
    lesson = _Lesson(model, part, corpus, settings, start)
    trainer = lesson.trainer(runtime)
    keeper = _Keeper(trainer, folder, lesson.recipe(), checkpoint_seconds)
    with asked_to_stop() as stopping:
        for report in trainer.run():
            if listen:
                listen(report)
            stop = stopping()  # asked once: what stops the run has also made it keep its last step
            keeper.keep(report, now=stop)
            if stop and not trainer.finished:
                raise KeyboardInterrupt
    trainer.network.load_state_dict(trainer.result())
    return trainer.network.eval()


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Ctrl-C or a polite kill ends a run after the step at hand, with a checkpoint; only the main thread can listen."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = {number: signal.signal(number, lambda *_: asked.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def finished_part(
    model: Trainable,
    part: str,
    corpus: Corpus,
    settings: TrainingSettings,
    folder: Path,
    start: Mapping[str, Tensor] | None = None,
) -> nn.Module | None:
    """The network of a part whose run is over, or None."""
    found = load_checkpoint(folder, recipe=_Lesson(model, part, corpus, settings, start).recipe())
    if found is None or not found[1]["finished"]:
        return None
    tensors = found[0]
    network = model.new_network(part, corpus.train.tokenizer())
    network.load_state_dict(below("best.", tensors) or below("network.", tensors))
    return network.eval()


@dataclass(frozen=True, slots=True)
class _Lesson:
    """One part of a model, and all that decides how it is trained."""

    model: Trainable
    part: str
    corpus: Corpus
    settings: TrainingSettings
    start: Mapping[str, Tensor] | None

    def network(self) -> nn.Module:
        """The network before its first step, the same in every process."""
        seed_step(self.settings.seed, 0, 0)
        network = self.model.new_network(self.part, self.corpus.train.tokenizer())
        if self.start is not None:
            own = network.state_dict()
            # A network built around another one, such as a chain around an encoder-decoder, says under which name.
            inside = getattr(network, "inside", "")
            named = {n if n in own else f"{inside}{n}": value for n, value in self.start.items()}
            _check_start(self.part, own, named)
            network.load_state_dict({**own, **{n: value for n, value in named.items() if n in own}})
        return network

    def stream(self, store: TokenStore, settings: TrainingSettings) -> Batches:
        """The batches that a store holds for the part."""
        return self.model.training_batches(self.part, store, self.corpus.train.tokenizer().pad_id, settings)

    def trainer(self, runtime: Runtime) -> Trainer:
        """The loop, before its first step."""
        network = self.network().to(runtime.device)
        return Trainer(
            network,
            lambda batch: self.model.batch_loss(network, _share(batch, runtime), runtime.device),
            self.stream(self.corpus.train, self.settings),
            self.settings,
            runtime,
            self._validator(network, runtime.device),
        )

    def _validator(self, network: nn.Module, device: torch.device) -> Callable[[], LossPart] | None:
        """The loss of the same sample of validation batches each time, spread over all lengths."""
        if self.corpus.valid is None:
            return None
        stream = self.stream(self.corpus.valid, replace(self.settings, seed=0))
        chosen = stream.epoch(0)[:VALIDATION_BATCHES]

        def validate() -> LossPart:
            return added_up([self.model.batch_loss(network, stream.batch(pairs), device) for pairs in chosen])

        return validate

    def recipe(self) -> str:
        """A hash of all that decides how the run goes; a checkpoint of another recipe is not resumed."""
        plain = {name: value for name, value in vars(self.model).items() if isinstance(value, str | int | float | bool)}
        stores = [store.info.fingerprint if store else "" for store in (self.corpus.train, self.corpus.valid)]
        content = [NETWORKS, self.part, plain, asdict(self.settings), stores]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
        weights = [*(self.start or {}).items(), *self.model.foundation(self.part).items()]
        for name, value in sorted(weights):
            digest.update(name.encode() + value.detach().cpu().contiguous().float().numpy().tobytes())
        return digest.hexdigest()


def _check_start(part: str, own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    """Weights to start from may be fewer, but not of another network: most of it would start anew, in silence."""
    odd = [name for name, value in given.items() if name in own and own[name].shape != value.shape]
    if odd or not any(name in own for name in given):
        seen = f"{odd[0]} {tuple(given[odd[0]].shape)}" if odd else "no weight of the same name"
        raise ConfigError(
            f"the {part} network to start from has other sizes than the one configured",
            seen=seen,
            allowed=str(tuple(own[odd[0]].shape)) if odd else "weights of an encoder-decoder",
            next_step="copy the [model] sizes of that model, or leave run.start away",
        )


class Batch(Protocol):
    """A batch that processes can share."""

    def rows(self, start: int, step: int) -> Any:
        """Every ``step``-th row from ``start``."""


def _share(batch: Batch, runtime: Runtime) -> Any:
    """This process's rows of a global batch."""
    return batch.rows(runtime.rank, runtime.world) if runtime.world > 1 else batch


class _Keeper:
    """Takes a run up where its folder left it, and from then on keeps its log and its checkpoints there.

    Args:
        trainer: The run; restored here where there is a checkpoint.
        folder: None keeps nothing.
        recipe: What the run is made of; a checkpoint of another one is refused.
        seconds: Between checkpoints.
    """

    def __init__(self, trainer: Trainer, folder: Path | None, recipe: str, seconds: float) -> None:
        self.trainer, self.recipe, self.seconds = trainer, recipe, seconds
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            snapshot = load_checkpoint(folder, recipe=recipe)
            if snapshot:
                trainer.restore(*snapshot)
        self.folder = folder if trainer.runtime.is_main else None  # all processes read, one writes
        self.log = RunLog(self.folder, trainer.step) if self.folder else None
        self.saved_at = time.monotonic()

    def keep(self, report: Report, *, now: bool) -> None:
        """Log a report where it is worth a line; save a checkpoint where one is due, at the end, or ``now``."""
        if self.log and (report.kind == "validation" or report.step % LOG_EVERY == 0):
            self.log.write(asdict(report))
        due = now or self.trainer.finished or time.monotonic() - self.saved_at >= self.seconds
        if self.folder and due:
            save_checkpoint(self.folder, *self.trainer.snapshot(), recipe=self.recipe)
            self.saved_at = time.monotonic()


def fit_documents(
    model: Model,
    documents: Iterable[Document],
    *,
    settings: TrainingSettings | None = None,
    vocabulary: int = 2000,
    seed: int = 1,
    progress: Progress = silent,
) -> Model:
    """Train all parts of a model on documents in memory: the short way, for small corpora and for tests."""
    from weft.corpora.corrupt import write_negatives
    from weft.corpora.negatives.permuted_document import PermutedDocument
    from weft.corpora.store.prepare import prepare

    documents = list(documents)
    chosen = replace(settings or SHORT, seed=seed)
    with tempfile.TemporaryDirectory() as place, start_runtime() as runtime:
        text = Path(place) / "documents.jsonl"
        write_negatives(text, (PermutedDocument(document, ()) for document in documents))
        store = prepare([text], Path(place) / "store", vocabulary_size=vocabulary, workers=1)
        tell_texts(model, documents, store, progress)
        for part in model.parts:
            network = train_part(model, part, Corpus(store), chosen, runtime, listen=_told(part, progress))
            model.assemble({part: network}, store.tokenizer())
    return model


def tell_texts(model: Trainable, documents: Iterable[Document], store: TokenStore, progress: Progress) -> None:
    """Show the texts behind a store to a model that needs more of them than their tokens, such as their trees."""
    sentences = [text for document in documents for text in document.sentences]
    model.read_texts(sentences, store.tokenizer(), progress=progress)


def _told(part: str, progress: Progress) -> Callable[[Report], None]:
    return lambda report: progress(f"training {part} (loss {report.loss:.2f})", int(1000 * report.share), 1000)
