"""Training the parts of a neural model: prepared text in, trained networks out, resumable at every point."""

from __future__ import annotations

import hashlib
import json
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from weft.checkpoints import RunLog, load_checkpoint, save_checkpoint
from weft.corpora.store import TokenStore
from weft.corpora.tokenizers import Tokenizer
from weft.document import Document
from weft.progress import Progress, silent
from weft.runtime import Runtime, seed_step, start_runtime
from weft.training import LossPart, Report, Trainer, TrainingSettings

VALIDATION_BATCHES = 40
LOG_EVERY = 50
CHECKPOINT_SECONDS = 60.0


class Stream(Protocol):
    """Batches from any place of the run on."""

    def batches(self, epoch: int, start: int = 0) -> Iterator[tuple[int, int, Any]]:
        """(epoch, number of the batch in it, batch), for ever."""

    def epoch(self, number: int) -> list[Any]:
        """The plan of an epoch."""

    def batch(self, pairs: Any) -> Any:
        """One batch of the plan."""


class Trainable(Protocol):
    """What a neural model tells the run: its parts, and for each a network, batches and a loss."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Their names, in the order of training: a part may stand on those before it."""

    def new_network(self, part: str, tokenizer: Tokenizer) -> nn.Module:
        """An untrained network."""

    def training_batches(self, part: str, store: TokenStore, pad: int, settings: TrainingSettings) -> Stream:
        """Where its batches come from."""

    def batch_loss(self, network: nn.Module, batch: Any, device: torch.device) -> LossPart:
        """The summed loss of a batch."""

    def foundation(self, part: str) -> Mapping[str, Tensor]:
        """The weights of other parts that a part stands on."""

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
        start: Weights to start from; what they lack, or have in another shape, starts as in a new network.
        listen: Told every report.
        checkpoint_seconds: How much work may be lost by a power cut.

    Returns:
        The network with its best weights, in evaluation mode.
    """
    network = _initial_network(model, part, corpus, settings, start).to(runtime.device)
    pad = corpus.train.tokenizer().pad_id
    trainer = Trainer(
        network,
        lambda batch: model.batch_loss(network, _share(batch, runtime), runtime.device),
        model.training_batches(part, corpus.train, pad, settings),
        settings,
        runtime,
        _validator(model, part, corpus, pad, settings, runtime, network),
    )
    recipe = _recipe(model, part, corpus, settings, start)
    log = _resume(trainer, folder, recipe, runtime)
    saved_at = time.monotonic()
    with asked_to_stop() as stopping:
        for report in trainer.run():
            if listen:
                listen(report)
            if log and (report.kind == "validation" or report.step % LOG_EVERY == 0):
                log.write(asdict(report))
            due = trainer.finished or stopping() or time.monotonic() - saved_at >= checkpoint_seconds
            if folder and runtime.is_main and due:
                save_checkpoint(folder, *trainer.snapshot(), recipe=recipe)
                saved_at = time.monotonic()
            if stopping() and not trainer.finished:
                raise KeyboardInterrupt
    network.load_state_dict(trainer.result())
    return network.eval()


def _initial_network(
    model: Trainable, part: str, corpus: Corpus, settings: TrainingSettings, start: Mapping[str, Tensor] | None
) -> nn.Module:
    """The network before its first step, the same in every process."""
    seed_step(settings.seed, 0, 0)
    network = model.new_network(part, corpus.train.tokenizer())
    if start is not None:
        own = network.state_dict()
        fitting = {name: value for name, value in start.items() if name in own and own[name].shape == value.shape}
        network.load_state_dict({**own, **fitting})
    return network


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
    found = load_checkpoint(folder, recipe=_recipe(model, part, corpus, settings, start))
    if found is None or not found[1]["finished"]:
        return None
    tensors = found[0]
    prefix = "best." if any(name.startswith("best.") for name in tensors) else "network."
    network = model.new_network(part, corpus.train.tokenizer())
    network.load_state_dict({n.removeprefix(prefix): v for n, v in tensors.items() if n.startswith(prefix)})
    return network.eval()


def _resume(trainer: Trainer, folder: Path | None, recipe: str, runtime: Runtime) -> RunLog | None:
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    snapshot = load_checkpoint(folder, recipe=recipe)
    if snapshot:
        trainer.restore(*snapshot)
    return RunLog(folder, trainer.step) if runtime.is_main else None


class Batch(Protocol):
    """A batch that processes can share."""

    def rows(self, start: int, step: int) -> Any:
        """Every ``step``-th row from ``start``."""


def _share(batch: Batch, runtime: Runtime) -> Any:
    """This process's rows of a global batch."""
    return batch.rows(runtime.rank, runtime.world) if runtime.world > 1 else batch


def _validator(
    model: Trainable,
    part: str,
    corpus: Corpus,
    pad: int,
    settings: TrainingSettings,
    runtime: Runtime,
    network: nn.Module,
) -> Callable[[], float] | None:
    """Mean loss over the same sample of validation batches each time, spread over all lengths."""
    if corpus.valid is None:
        return None
    stream = model.training_batches(part, corpus.valid, pad, replace(settings, seed=0))
    chosen = stream.epoch(0)[:VALIDATION_BATCHES]

    def validate() -> float:
        losses = [model.batch_loss(network, stream.batch(pairs), runtime.device) for pairs in chosen]
        return float(sum(loss.total for loss in losses)) / sum(loss.count for loss in losses)

    return validate


def _recipe(
    model: Trainable,
    part: str,
    corpus: Corpus,
    settings: TrainingSettings,
    start: Mapping[str, Tensor] | None,
) -> str:
    """A hash of all that decides how a run goes; a checkpoint of another recipe is not resumed."""
    plain = {name: value for name, value in vars(model).items() if isinstance(value, str | int | float | bool)}
    stores = [corpus.train.info.fingerprint, corpus.valid.info.fingerprint if corpus.valid else ""]
    digest = hashlib.sha256(json.dumps([part, plain, asdict(settings), stores], sort_keys=True).encode())
    for name, value in sorted([*(start or {}).items(), *model.foundation(part).items()]):
        digest.update(name.encode() + value.detach().cpu().contiguous().float().numpy().tobytes())
    return digest.hexdigest()


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
    from weft.corpora.corruption import PermutedDocument
    from weft.corpora.negatives import write_negatives
    from weft.corpora.prepare import prepare

    chosen = replace(settings or TrainingSettings(steps=200, warmup=20, validate_every=0), seed=seed)
    with tempfile.TemporaryDirectory() as place, start_runtime() as runtime:
        text = Path(place) / "documents.jsonl"
        write_negatives(text, (PermutedDocument(document, ()) for document in documents))
        store = prepare([text], Path(place) / "store", vocabulary_size=vocabulary, workers=1)
        for part in model.parts:
            network = train_part(model, part, Corpus(store), chosen, runtime, listen=_told(part, progress))
            model.assemble({part: network}, store.tokenizer())
    return model


def _told(part: str, progress: Progress) -> Callable[[Report], None]:
    return lambda report: progress(f"training {part} (loss {report.loss:.2f})", int(1000 * report.share), 1000)
