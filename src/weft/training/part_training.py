"""Training of one part of a neural model, from a prepared corpus to a trained network; a run can be resumed."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from weft.corpora.store.token_store import TokenStore
from weft.errors import ConfigError, Stopped
from weft.protocols import NeuralModel
from weft.training.checkpoints import Recipe, load_checkpoint
from weft.training.devices import Runtime, seed_step
from weft.training.loop import Batches, LossPart, Report, Trainer, summed, with_prefix
from weft.training.network_protocols import CompilableNetwork, WrappingNetwork
from weft.training.run_folder import RunFolder
from weft.training.settings import TrainingSettings

VALIDATION_BATCHES = 40
CHECKPOINT_SECONDS = 60.0
RECIPE_DATA = ("training data", "validation data", "weights that the run starts from or builds on")
RECOMPILATIONS = 64  # of one piece of code
NETWORKS = 2  # version of the networks; checkpoints of another version are not resumed


@dataclass(frozen=True, slots=True)
class Corpus:
    """The training and validation data of a run."""

    train: TokenStore
    valid: TokenStore | None = None


def train_part(
    model: NeuralModel,
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
    """Train one part to the end of its run, from its last checkpoint if there is one.

    Args:
        model: The model of the part.
        part: Name of the part.
        corpus: Training and validation data.
        settings: The training settings.
        runtime: The device and the processes.
        folder: Folder of checkpoints and the log; None writes nothing.
        start: Weights to start from; other weights start as in a new network.
        listen: Called with every report.
        checkpoint_seconds: Time between checkpoints.

    Returns:
        The network with its best weights, in evaluation mode.
    """
    training = PartTraining(model, part, corpus, settings, start)
    trainer = training.trainer(runtime)
    recipe = training.recipe()
    run_folder = RunFolder(trainer, folder, recipe, checkpoint_seconds)
    with closing(run_folder), stop_requests() as stop_requested:
        _check_same_run(runtime, recipe, trainer.step)
        for report in trainer.run():
            if listen:
                listen(report)
            # Read once, so that a run that stops here has saved this step and all its reports. All processes stop at
            # the same step, also if the signal reached only one of them or reached them at different steps.
            stop = runtime.highest_over_processes(stop_requested() or 0) if not trainer.reports_pending else 0
            run_folder.write(report, now=stop > 0)
            if stop and not trainer.finished:
                runtime.wait()  # for the checkpoint: torchrun ends all processes when one of them ends
                raise Stopped(stop, "the same command continues the run from its last checkpoint")
    trainer.network.load_state_dict(trainer.result())
    return trainer.network.eval()


def _check_same_run(runtime: Runtime, recipe: Recipe, step: int) -> None:
    """Raise ConfigError if processes have different data or settings, or continue from different steps."""
    if not runtime.same_in_all_processes(f"{recipe.sha256} {step}"):
        raise ConfigError(
            "the processes of this run have different data, settings or checkpoints",
            seen=f"recipe {recipe.sha256[:12]} and step {step} in process {runtime.rank}",
            allowed="the same in all processes",
            next_step="give all machines the same command, data and run.folder, on a file system that they share",
        )


@contextmanager
def stop_requests() -> Iterator[Callable[[], int | None]]:
    """Turn Ctrl-C and SIGTERM into a request to stop after the current step; only the main thread receives signals.

    The block gets a function that returns the number of the first such signal, or None.
    """
    received: list[int] = []

    def first() -> int | None:
        return received[0] if received else None

    if threading.current_thread() is not threading.main_thread():
        yield first
        return
    stops = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, lambda got, _: received.append(got)) for number in stops}
    try:
        yield first
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def finished_part(
    model: NeuralModel,
    part: str,
    corpus: Corpus,
    settings: TrainingSettings,
    folder: Path,
    start: Mapping[str, Tensor] | None = None,
) -> nn.Module | None:
    """Return the network of a part whose run is finished, or None."""
    found = load_checkpoint(folder, recipe=PartTraining(model, part, corpus, settings, start).recipe())
    if found is None or not found[1]["finished"]:
        return None
    tensors = found[0]
    network = model.new_network(part, corpus.train.tokenizer())
    network.load_state_dict(with_prefix("best.", tensors) or with_prefix("network.", tensors))
    return network.eval()


@dataclass(frozen=True, slots=True)
class PartTraining:
    """One part of a model, with its data and its training settings."""

    model: NeuralModel
    part: str
    corpus: Corpus
    settings: TrainingSettings
    start: Mapping[str, Tensor] | None

    def network(self) -> nn.Module:
        """Return the network before its first step; it is the same in all processes."""
        seed_step(self.settings.seed, 0, 0)
        network = self.model.new_network(self.part, self.corpus.train.tokenizer())
        if self.start is not None:
            own = network.state_dict()
            prefix = network.inner_prefix if isinstance(network, WrappingNetwork) else ""
            named = {n if n in own else f"{prefix}{n}": value for n, value in self.start.items()}
            _check_start(self.part, own, named)
            network.load_state_dict({**own, **{n: value for n, value in named.items() if n in own}})
        return network

    def stream(self, store: TokenStore, settings: TrainingSettings) -> Batches:
        """Return the batches of a store for the part."""
        return self.model.training_batches(self.part, store, self.corpus.train.tokenizer().pad_id, settings)

    def trainer(self, runtime: Runtime) -> Trainer:
        """Return the training loop before its first step."""
        network = self.network().to(runtime.device)
        if self.settings.compiled:
            _compile(network)

        def loss(batch: Any) -> LossPart:
            return self._loss_of_share(network, batch, runtime)

        stream, validator = self.stream(self.corpus.train, self.settings), self._validator(loss)
        return Trainer(network, loss, stream, self.settings, runtime, validator)

    def _loss_of_share(self, network: nn.Module, batch: Any, runtime: Runtime) -> LossPart:
        """Return the loss of the rows of a batch that belong to this process."""
        if runtime.world == 1:
            return self.model.batch_loss(network, batch, runtime.device)
        own = batch.rows(runtime.rank, runtime.world)
        if len(own):
            return self.model.batch_loss(network, own, runtime.device)
        # There are more processes than rows. The share of the first process, times zero, has the parts of a loss and a
        # gradient of each weight that the other processes have, so that all of them can be summed.
        found = self.model.batch_loss(network, batch.rows(0, runtime.world), runtime.device)
        return LossPart(0.0 * found.total, 0, {name: 0.0 * value for name, value in (found.parts or {}).items()})

    def _validator(self, loss: Callable[[Any], LossPart]) -> Callable[[], LossPart] | None:
        """Return a function that computes the loss of a fixed sample of validation batches, or a process's share."""
        if self.corpus.valid is None:
            return None
        stream = self.stream(self.corpus.valid, replace(self.settings, seed=0))
        chosen = stream.epoch(0)[:VALIDATION_BATCHES]

        def validate() -> LossPart:
            return summed([loss(stream.batch(pairs)) for pairs in chosen])

        return validate

    def recipe(self) -> Recipe:
        """Return everything that determines the run; a checkpoint of another recipe is not resumed."""
        settings = self.model.settings.to_dict()
        plain = {name: value for name, value in settings.items() if isinstance(value, str | int | float | bool)}
        stores = [store.contents if store else "" for store in (self.corpus.train, self.corpus.valid)]
        content = [NETWORKS, self.part, plain, asdict(self.settings), stores]
        digest = sha256(json.dumps(content, sort_keys=True).encode())
        weights, weight_digest = [*(self.start or {}).items(), *self.model.foundation(self.part).items()], sha256()
        for name, value in sorted(weights):
            named = name.encode() + value.detach().cpu().contiguous().float().numpy().tobytes()
            digest.update(named)
            weight_digest.update(named)
        training = asdict(self.settings)
        named_settings = {
            **{f"model.{name}": value for name, value in plain.items()},
            **{f"training.{name}": value for name, value in training.items() if name != "seed"},
            "run.seed": training["seed"],
        }
        hashes = (*stores, weight_digest.hexdigest())
        return Recipe(digest.hexdigest(), named_settings, dict(zip(RECIPE_DATA, hashes, strict=True)))


def _compile(network: nn.Module) -> None:
    """Compile the layers of a network in place, so that the names of its weights stay.

    Raises:
        ConfigError: The network has no layers to compile.
    """
    if not isinstance(network, CompilableNetwork):
        raise ConfigError(
            "training.compiled is for readers only", seen="true", allowed="false", next_step="remove training.compiled"
        )
    import torch._dynamo  # slow to import

    # All layers are compiled from one piece of code, for training and for evaluation, local or not, and sizes of a
    # first kind. The default, 8, was reached after the first validation; further layers then ran as they are.
    torch._dynamo.config.recompile_limit = max(RECOMPILATIONS, torch._dynamo.config.recompile_limit)
    for module in network.repeated_modules():
        module.compile(dynamic=True)


def _check_start(part: str, own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    """Raise ConfigError if weights to start from belong to another network, which would silently start anew."""
    differing = [name for name, value in given.items() if name in own and own[name].shape != value.shape]
    if differing or not any(name in own for name in given):
        name = differing[0] if differing else ""
        seen = f"{name} {tuple(given[name].shape)}" if name else "no weight of the same name"
        raise ConfigError(
            f"the {part} network to start from does not have the configured sizes",
            seen=seen,
            allowed=str(tuple(own[name].shape)) if name else "weights of an encoder-decoder",
            next_step="copy the [model] sizes of that model, or omit run.start",
        )
