"""Device, precision, seeds and processes of a run.

One process on a CPU, one on a GPU, and several under ``torchrun`` run the same code. Only this module uses
torch.distributed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.errors import check_known
from weft.io.devices import DEVICES, no_gpu


@dataclass(frozen=True, slots=True)
class Runtime:
    """The device and the processes of a run."""

    device: torch.device  # ``cpu`` or ``cuda:N``
    rank: int = 0  # the number of this process
    world: int = 1  # number of processes
    bf16: bool = False  # whether matrix products run in bfloat16

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def autocast(self) -> AbstractContextManager[object]:
        """Return a context in which matrix products run in bfloat16, if `bf16` is set."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if self.bf16 else nullcontext()

    def release(self) -> None:
        """Release cached GPU memory for other processes."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def sum_over_processes(self, value: Tensor) -> Tensor:
        """Sum a tensor over all processes, in place."""
        if self.world > 1:
            torch.distributed.all_reduce(value)
        return value

    def mean_over_processes(self, value: float) -> float:
        """Return the mean of a number over all processes."""
        if self.world == 1:
            return value
        return float(self.sum_over_processes(torch.tensor(value, dtype=torch.float64, device=self.device))) / self.world

    def sum_gradients(self, network: nn.Module) -> None:
        """Sum gradients over all processes, as one flat tensor, because each tensor costs a round trip."""
        if self.world == 1:
            return
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])  # [all parameters]
        self.sum_over_processes(flat)
        pieces = torch.split(flat, [gradient.numel() for gradient in gradients])
        torch._foreach_copy_(gradients, [piece.view_as(g) for piece, g in zip(pieces, gradients, strict=True)])

    def broadcast(self, network: nn.Module) -> None:
        """Copy the parameters of the first process to all others."""
        if self.world > 1:
            for parameter in network.parameters():
                torch.distributed.broadcast(parameter.data, src=0)


@contextmanager
def start_runtime(device: str = "auto", *, deterministic: bool = False) -> Iterator[Runtime]:
    """Set up the device and, under ``torchrun``, the process group; close the group at the end.

    Args:
        device: ``auto`` (a GPU if there is one), ``cpu`` or ``cuda``.
        deterministic: Whether operations whose result depends on timing are errors, so that a run can be repeated
            exactly.

    Example:
        >>> with start_runtime("cpu") as runtime:
        ...     runtime.world, runtime.is_main
        (1, True)
    """
    place = _device(device)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    _set_deterministic(deterministic)
    if place.type == "cuda":
        torch.cuda.set_device(place)
        torch.set_float32_matmul_precision("high")
    if world > 1:
        torch.distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")
    try:
        yield Runtime(place, int(os.environ.get("RANK", "0")), world, bf16=place.type == "cuda")
    finally:
        _set_deterministic(False)
        if world > 1:
            torch.distributed.destroy_process_group()


def _set_deterministic(wanted: bool) -> None:
    """Set whether operations must be deterministic; the call imports PyTorch's compiler, which takes seconds."""
    if torch.are_deterministic_algorithms_enabled() != wanted:
        torch.use_deterministic_algorithms(wanted)


def _device(name: str) -> torch.device:
    check_known("device", name, DEVICES)
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise no_gpu()
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seed dropout and sampling from the step alone, so that a resumed run needs no saved generator state."""
    torch.manual_seed((seed * 1_000_003 + step) * 1_009 + rank)
