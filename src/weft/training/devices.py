"""Device, precision, seeds and processes of a run.

One process on a CPU, one on a GPU, and several under ``torchrun`` run the same code. Only this module uses
torch.distributed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

import torch
from torch import Tensor, nn

from weft.errors import ModelError, check_known
from weft.io.devices import DEVICES, no_gpu
from weft.io.torchrun_processes import process_numbers

PRECISIONS = ("auto", "float32", "bfloat16")
LONGEST_WAIT = timedelta(days=30)  # for the first process, which may prepare a large corpus


@dataclass(frozen=True, slots=True)
class Runtime:
    """The device and the processes of a run."""

    device: torch.device  # ``cpu`` or ``cuda:N``
    rank: int = 0  # the number of this process
    world: int = 1  # number of processes
    bf16: bool = False  # whether matrix products run in bfloat16
    waiting: torch.distributed.ProcessGroup | None = None  # in which processes wait for each other

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
            with _all_processes_running():
                torch.distributed.all_reduce(value)
        return value

    def mean_over_processes(self, value: float) -> float:
        """Return the mean of a number over all processes."""
        if self.world == 1:
            return value
        return float(self.sum_over_processes(torch.tensor(value, dtype=torch.float64, device=self.device))) / self.world

    def highest_over_processes(self, value: int) -> int:
        """Return the highest of the numbers of all processes."""
        if self.world == 1:
            return value
        numbers = torch.tensor(value, device=self.device)
        with _all_processes_running():
            torch.distributed.all_reduce(numbers, torch.distributed.ReduceOp.MAX)
        return int(numbers)

    def same_in_all_processes(self, text: str) -> bool:
        """Return whether all processes have the same text."""
        number = int.from_bytes(sha256(text.encode()).digest()[:7])
        return self.highest_over_processes(number) == -self.highest_over_processes(-number)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            with _all_processes_running():
                torch.distributed.barrier(self.waiting)

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """Run the block in the first process, then in all others, which find the files that the first one wrote."""
        if not self.is_main:
            self.wait()
        yield
        if self.is_main:
            self.wait()

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
        """Copy the parameters and buffers of the first process to all others."""
        if self.world > 1:
            with _all_processes_running():
                for value in (*network.parameters(), *network.buffers()):
                    torch.distributed.broadcast(value.data, src=0)


@contextmanager
def _all_processes_running() -> Iterator[None]:
    """Raise ModelError if the block waits for a process that has ended; PyTorch's own message would be a traceback."""
    try:
        yield
    except RuntimeError as error:
        raise ModelError(
            "another process of this run has ended, or cannot be reached",
            seen=str(error),
            next_step="see the message of that process; the same command continues the run from its last checkpoint",
        ) from error


@contextmanager
def start_runtime(device: str = "auto", *, deterministic: bool = False, precision: str = "auto") -> Iterator[Runtime]:
    """Set up the device and, under ``torchrun``, the process group; close the group at the end.

    A process group that exists already, such as that of Ray Train, is used and not closed.

    Args:
        device: ``auto`` (a GPU if there is one), ``cpu`` or ``cuda``.
        deterministic: Whether operations whose result depends on timing are errors, so that a run can be repeated
            exactly.
        precision: Of matrix products: ``float32``, ``bfloat16``, or ``auto`` (bfloat16 on a GPU, float32 on a CPU).

    Raises:
        ConfigError: The device or the precision is unknown, or there is no GPU.

    Example:
        >>> with start_runtime("cpu") as runtime:
        ...     runtime.world, runtime.is_main
        (1, True)
    """
    place = _device(device)
    check_known("precision", precision, PRECISIONS)
    bf16 = precision == "bfloat16" or (precision == "auto" and place.type == "cuda")
    numbers = process_numbers()
    _set_deterministic(deterministic)
    if place.type == "cuda":
        torch.cuda.set_device(place)
        torch.set_float32_matmul_precision("high")
        # cuDNN makes a plan of attention for every new shape, and nearly every batch has another one.
        torch.backends.cuda.enable_cudnn_sdp(False)
    own_group = numbers.world > 1 and not torch.distributed.is_initialized()
    if own_group:
        torch.distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")
    # The other groups have a limit of minutes, after which a process that hangs ends the run.
    waiting = torch.distributed.new_group(backend="gloo", timeout=LONGEST_WAIT) if numbers.world > 1 else None
    try:
        yield Runtime(place, numbers.rank, numbers.world, bf16=bf16, waiting=waiting)
    finally:
        _set_deterministic(False)
        if own_group:
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
    return torch.device("cuda", process_numbers().local_rank)


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seed dropout and sampling from the step alone, so that a resumed run needs no saved generator state."""
    torch.manual_seed((seed * 1_000_003 + step) * 1_009 + rank)
