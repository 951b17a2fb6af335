"""Device, precision, seeds and processes: the only file that knows torch.distributed.

One process on CPU, one on a GPU, or several under ``torchrun`` run the same code; what differs is held here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.errors import ConfigError, check_known


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where a run computes.

    Attributes:
        device: ``cpu`` or ``cuda:N``.
        rank: The number of this process.
        world: How many processes there are.
        bf16: Whether matrix products run in bfloat16.
    """

    device: torch.device
    rank: int = 0
    world: int = 1
    bf16: bool = False

    @property
    def is_main(self) -> bool:
        """The process that writes files and shows progress."""
        return self.rank == 0

    def autocast(self) -> AbstractContextManager[object]:
        """Reduced precision where the device gains from it."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if self.bf16 else nullcontext()

    def release(self) -> None:
        """Give memory back that torch holds for later, so that other processes on the same GPU can have it."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def sum_over_processes(self, value: Tensor) -> Tensor:
        """Add a tensor up over all processes, in place."""
        if self.world > 1:
            torch.distributed.all_reduce(value)
        return value

    def mean_over_processes(self, value: float) -> float:
        """The mean of a plain number over all processes."""
        if self.world == 1:
            return value
        return float(self.sum_over_processes(torch.tensor(value, dtype=torch.float64, device=self.device))) / self.world

    def sum_gradients(self, network: nn.Module) -> None:
        """Add the gradients of all processes up; as one flat tensor, since many small ones cost a round trip each."""
        if self.world == 1:
            return
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])  # [all parameters]
        self.sum_over_processes(flat)
        torch._foreach_copy_(gradients, _like(flat, gradients))

    def broadcast(self, network: nn.Module) -> None:
        """Give every process the parameters of the first."""
        if self.world > 1:
            for parameter in network.parameters():
                torch.distributed.broadcast(parameter.data, src=0)


def _like(flat: Tensor, shapes: Iterable[Tensor]) -> list[Tensor]:
    parts, start = [], 0
    for shape in shapes:
        parts.append(flat[start : start + shape.numel()].view_as(shape))
        start += shape.numel()
    return parts


@contextmanager
def start_runtime(device: str = "auto", *, deterministic: bool = False) -> Iterator[Runtime]:
    """Set the device and, under ``torchrun``, the process group up; take the group down at the end.

    Args:
        device: ``auto`` takes a GPU where there is one; else ``cpu`` or ``cuda``.
        deterministic: Refuse operations whose result depends on timing, so that runs can be repeated bit by bit.

    Example:
        >>> with start_runtime("cpu") as runtime:
        ...     runtime.world, runtime.is_main
        (1, True)
    """
    place = _device(device)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    torch.use_deterministic_algorithms(deterministic)
    if place.type == "cuda":
        torch.cuda.set_device(place)
        torch.set_float32_matmul_precision("high")
    if world > 1:
        torch.distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")
    try:
        yield Runtime(place, int(os.environ.get("RANK", "0")), world, bf16=place.type == "cuda")
    finally:
        torch.use_deterministic_algorithms(False)
        if world > 1:
            torch.distributed.destroy_process_group()


def _device(name: str) -> torch.device:
    check_known("device", name, ("auto", "cpu", "cuda"))
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ConfigError("there is no GPU here", seen=name, allowed="cpu", next_step="use --device cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seed dropout and sampling from the step alone, so that a resumed run needs no saved generator state."""
    torch.manual_seed((seed * 1_000_003 + step) * 1_009 + rank)
