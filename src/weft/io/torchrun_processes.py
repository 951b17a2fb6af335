"""The processes of a run as ``torchrun`` numbers them; commands ask for them before they import PyTorch."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessNumbers:
    """The number of this process, in the run and on its machine, and the number of processes of the run."""

    rank: int = 0
    local_rank: int = 0
    world: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0


def process_numbers() -> ProcessNumbers:
    """Return the numbers that ``torchrun`` has given to this process; those of a single process without it.

    Example:
        >>> process_numbers().is_main
        True
    """
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
    rank, local_rank, world = (int(os.environ.get(name, default)) for name, default in zip(names, "001", strict=True))
    return ProcessNumbers(rank, local_rank, world)
