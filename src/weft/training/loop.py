"""The training loop: a generator that yields reports and neither prints nor saves.

A CPU, one GPU and several processes run the same code. A step depends only on the seed, its number and the parameters,
so that a run resumed from a snapshot gives the same result as an uninterrupted one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from weft.errors import ModelError
from weft.training.devices import Runtime, seed_step
from weft.training.network_protocols import PacedNetwork
from weft.training.prefetch import prefetched
from weft.training.settings import TrainingSettings

# Number of steps between reports, by kind of device; a divisor of `weft.training.run_folder.LOG_EVERY`. On a GPU,
# the host and the device wait for each other at every report.
REPORT_EVERY = {"cpu": 1, "cuda": 10}


@dataclass(frozen=True, slots=True)
class LossPart:
    """The loss of a batch in one process: a differentiable sum, the number of its terms, and parts for the log."""

    total: Tensor
    count: int
    parts: Mapping[str, Tensor] | None = None


def summed(losses: Sequence[LossPart]) -> LossPart:
    """Return the sum of the losses of several batches."""
    names = losses[0].parts or {}
    parts = {name: torch.stack([(one.parts or {})[name].detach() for one in losses]).sum() for name in names}
    return LossPart(torch.stack([one.total for one in losses]).sum(), sum(one.count for one in losses), parts)


class Batches(Protocol):
    """A source of batches; the plan of an epoch depends on its number alone, so that training can resume anywhere."""

    def epoch(self, number: int) -> Sequence[Any]:
        """Return the plan of an epoch, with one entry per batch."""

    def batch(self, pairs: Any) -> Any:
        """Return the batch of one entry.

        Its method ``rows(start, step)`` returns the share of one process, and its length is the number of rows.
        """


def endless(stream: Batches, epoch: int, start: int = 0) -> Iterator[tuple[int, int, Any]]:
    """Yield (epoch, number of the batch in the epoch, batch) without end, from a given epoch and batch."""
    while True:
        for number, planned in enumerate(stream.epoch(epoch)[start:], start):
            yield epoch, number, stream.batch(planned)
        epoch, start = epoch + 1, 0


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the steps since the last report, or of a validation."""

    kind: Literal["step", "validation"]
    step: int  # number of steps done
    epoch: int  # number of the current pass over the data
    loss: float  # mean loss per token, in natural-log units
    tokens: int  # number of tokens predicted in these steps, in all processes
    seconds: float  # training time so far
    share: float  # share of the run that is done, 0 to 1
    learning_rate: float = 0.0  # learning rate of the last step
    # Norm of the last gradient before clipping; −1 if it was not finite and the step changed nothing.
    gradient: float = 0.0
    best: float | None = None  # lowest validation loss so far; None before the first validation
    parts: Mapping[str, float] | None = None  # further parts of the loss, per token


class Trainer:
    """A network in training, and everything needed to resume it.

    Args:
        network: The network to train.
        loss: A function that returns the loss of a batch, on the device of this process.
        stream: The training batches.
        settings: The training settings.
        runtime: The device and the processes.
        validate: A function that returns the validation loss of the network, or the share of this process in it; None
            for no validation.
    """

    def __init__(
        self,
        network: nn.Module,
        loss: Callable[[Any], LossPart],
        stream: Batches,
        settings: TrainingSettings,
        runtime: Runtime,
        validate: Callable[[], LossPart] | None = None,
    ) -> None:
        self.network, self.loss, self.stream = network, loss, stream
        self.settings, self.runtime, self.validate = settings, runtime, validate
        runtime.broadcast(network)
        self.optimizer = make_optimizer(network, settings)
        self.step = self.epoch = self.next_batch = self.stale = 0
        self.seconds = 0.0
        self.best = math.inf
        self.reports_pending = False  # whether the step just done has another report, which no log holds yet
        self.best_weights: dict[str, Tensor] = {}
        self._part_names: tuple[str, ...] = ()
        self._report_every = REPORT_EVERY.get(runtime.device.type, 1)
        self._clock = time.monotonic()

    def run(self) -> Iterator[Report]:
        """Train to the end; yield a report every few steps and after each validation, when a snapshot can be taken."""
        batches = prefetched(endless(self.stream, self.epoch, self.next_batch), depth=8)
        self.network.train()
        self._clock = time.monotonic()
        try:
            while not self.finished:
                sums = [self._one_step(batches) for _ in range(self._steps_to_report())]
                step = self._report(torch.stack(sums))
                # Validate before yielding: a snapshot taken at a yield must hold the step and its validation.
                validation = self._validation() if self._validation_is_due() else None
                self.reports_pending = validation is not None
                yield step
                if validation is not None:
                    self.reports_pending = False
                    yield validation
        finally:
            batches.close()

    @property
    def share(self) -> float:
        """Share of the run that is done, by steps or by time, whichever is higher."""
        by_steps = self.step / self.settings.steps if self.settings.steps else 0.0
        by_time = self.seconds / (60 * self.settings.minutes) if self.settings.minutes else 0.0
        return min(1.0, max(by_steps, by_time))

    @property
    def finished(self) -> bool:
        """Whether the run has reached its end, or validation has not improved for `patience` validations."""
        return self.share >= 1.0 or bool(self.settings.patience and self.stale >= self.settings.patience)

    def _steps_to_report(self) -> int:
        """Return the number of steps to the next report, validation or end of the run."""
        ends = [self._report_every - self.step % self._report_every]
        ends += [every - self.step % every for every in (self.settings.validate_every,) if every and self.validate]
        ends += [self.settings.steps - self.step] if self.settings.steps else []
        return max(1, min(ends))

    def _one_step(self, batches: Iterator[tuple[int, int, Any]]) -> Tensor:
        """Run one step without waiting for the device; return [loss sum, token count, gradient norm, parts]."""
        seed_step(self.settings.seed, self.step, self.runtime.rank)
        rate = learning_rate(self.settings, self.step, self.share)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if isinstance(self.network, PacedNetwork):
            self.network.share = self.share
        self.optimizer.zero_grad(set_to_none=True)
        taken = [next(batches) for _ in range(self.settings.accumulate)]
        sums = self._backward([batch for _, _, batch in taken])
        gradient = clip_gradient(self.network, self.settings.clip)
        self.optimizer.step()
        self.epoch, last, _ = taken[-1]
        self.next_batch, self.step = last + 1, self.step + 1
        return torch.cat([sums[:2], gradient.double()[None], sums[2:]])

    def _report(self, steps: Tensor) -> Report:
        """Return the report on some steps, [steps, 3 + parts]; only here, the host waits for the device."""
        rows = steps.tolist()
        self._advance_clock()
        total, count, _, *parts = (sum(column) for column in zip(*rows, strict=True))
        if not math.isfinite(total):
            raise ModelError(
                f"training diverged at step {self.step}: the loss is not a number",
                seen=total,
                allowed="a finite loss",
                next_step="lower training.learning_rate; the last checkpoint precedes the divergence",
            )
        rate = self.optimizer.param_groups[0]["lr"]
        return Report(
            "step", self.step, self.epoch, total / count, int(count), self.seconds, self.share, rate, rows[-1][2],
            self._best_known, {name: value / count for name, value in zip(self._part_names, parts, strict=True)},
        )  # fmt: skip

    def _backward(self, batches: list[Any]) -> Tensor:
        """Compute gradients of the mean loss over all processes; return [loss sum, token count, parts]."""
        losses = []
        for batch in batches:
            with self.runtime.autocast():
                part = self.loss(batch)
            part.total.backward()  # type: ignore[no-untyped-call]
            losses.append(part)
        self._part_names = tuple((losses[0].parts or {}).keys())
        sums = torch.stack([self._row(part) for part in losses]).sum(dim=0)  # [2 + parts]
        self.runtime.sum_over_processes(sums)
        self.runtime.sum_gradients(self.network)
        # Divide the summed gradient by the count of ALL processes. Dividing by the count of each rank would give tokens
        # of small shares more weight (gradients were off by 60 to 70%).
        scale = (1.0 / sums[1]).float()
        torch._foreach_mul_([p.grad for p in self.network.parameters() if p.grad is not None], scale)
        return sums

    def _row(self, part: LossPart) -> Tensor:
        further = [value.detach().float() for value in (part.parts or {}).values()]
        count = part.total.detach().new_full((), part.count, dtype=torch.float32)  # created on the device: no copy
        return torch.stack([part.total.detach().float(), count, *further]).double()

    def _advance_clock(self) -> None:
        elapsed, self._clock = time.monotonic() - self._clock, time.monotonic()
        # All processes must measure the same time; otherwise one would stop while the others wait for it.
        self.seconds += self.runtime.mean_over_processes(elapsed)

    def _validation_is_due(self) -> bool:
        every = self.settings.validate_every
        return self.validate is not None and (self.finished or bool(every and self.step % every == 0))

    def _validation(self) -> Report:
        assert self.validate is not None
        self.network.eval()
        with torch.no_grad(), self.runtime.autocast():
            found = self.validate()
            # All processes must find the same loss; otherwise one would stop early while the others wait for it.
            total, count, *values = self.runtime.sum_over_processes(self._row(found)).tolist()
        loss = total / count
        parts = {name: value / count for name, value in zip(found.parts or {}, values, strict=True)}
        self.network.train()
        self._clock = time.monotonic()  # validation does not count as training time
        if loss < self.best:
            self.best, self.stale = loss, 0
            # Copy the weights: training changes them in place.
            self.best_weights = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
        else:
            self.stale += 1
        return Report(
            "validation", self.step, self.epoch, loss, 0, self.seconds, self.share, best=self._best_known, parts=parts
        )

    @property
    def _best_known(self) -> float | None:
        return None if math.isinf(self.best) else self.best

    def result(self) -> dict[str, Tensor]:
        """Return the final weights: the best by validation, or the last without validation."""
        chosen = self.best_weights or self.network.state_dict()
        return {name: value.detach().cpu().contiguous() for name, value in chosen.items()}

    def snapshot(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return everything needed to resume: tensors, and plain numbers."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best_weights.items()}
        for number, values in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items() if torch.is_tensor(value)}
        numbers = {name: vars(self)[name] for name in ("step", "epoch", "next_batch", "stale", "seconds")}
        numbers |= {"best": self._best_known, "finished": self.finished}
        return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}, numbers

    def restore(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Restore a snapshot."""
        self.network.load_state_dict(with_prefix("network.", tensors))
        self.best_weights = {n: v.to(self.runtime.device) for n, v in with_prefix("best.", tensors).items()}
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in with_prefix("optimizer.", tensors).items():
            number, _, key = name.partition(".")
            state.setdefault(int(number), {})[key] = value
        packed = self.optimizer.state_dict()
        self.optimizer.load_state_dict({"state": state, "param_groups": packed["param_groups"]})
        for name in ("step", "epoch", "next_batch", "stale", "seconds"):
            setattr(self, name, numbers[name])
        self.best = math.inf if numbers["best"] is None else float(numbers["best"])


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names start with a prefix, named without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def clip_gradient(network: nn.Module, highest_norm: float) -> Tensor:
    """Clip the gradient and return its norm; a gradient that overflowed becomes zero, with norm −1.

    A chain of latent variables multiplies gradients from sentence to sentence. In about one of 100,000 texts they
    overflow, and without this step all weights would become NaN. The host does not wait for the device here.
    """
    norm = torch.nn.utils.clip_grad_norm_(network.parameters(), highest_norm)
    for parameter in network.parameters():
        if parameter.grad is not None:
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0)  # clipping by an infinite norm leaves zeros and NaN
    return norm.where(norm.isfinite(), -torch.ones_like(norm))


def make_optimizer(network: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Return the optimizer; weight decay applies to matrices only, not to biases."""
    matrices = [p for p in network.parameters() if p.requires_grad and p.ndim > 1]
    vectors = [p for p in network.parameters() if p.requires_grad and p.ndim <= 1]
    if settings.optimizer == "adagrad":
        return torch.optim.Adagrad([*matrices, *vectors], lr=settings.learning_rate)
    if settings.optimizer == "sgd":
        return torch.optim.SGD([*matrices, *vectors], lr=settings.learning_rate)
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.98), fused=True)


def learning_rate(settings: TrainingSettings, step: int, share: float) -> float:
    """Return the learning rate of a step: linear warm-up, then the chosen decay over the rest of the run.

    Example:
        >>> settings = TrainingSettings(steps=100, warmup=10, learning_rate=1.0)
        >>> [round(learning_rate(settings, step, step / 100), 2) for step in (0, 9, 50, 99)]
        [0.1, 0.98, 0.5, 0.0]
    """
    warm = min(1.0, (step + 1) / settings.warmup) if settings.warmup else 1.0
    if settings.decay == "cosine":
        return settings.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * share))
    if settings.decay == "linear":
        return settings.learning_rate * warm * (1 - share)
    return settings.learning_rate * warm
