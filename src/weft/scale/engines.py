"""Where blocks are computed: in processes of this machine, or by Ray on many."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Protocol

from weft.corpora.process_pool import WorkerTask, map_in_processes
from weft.errors import check_known
from weft.scale.output_folder import Record

ENGINES = ("processes", "ray")
AFTER_STOPPED_WORKER = "repeat the command: it continues where it stopped; with less memory, use fewer workers"


class Engine(Protocol):
    """A function that applies a task to numbers, in several workers."""

    def __call__(
        self, task: WorkerTask[int, Record], items: Iterable[int], *, workers: int
    ) -> Generator[Record, None, None]:
        """Yield the results as they come."""


def in_processes(task: WorkerTask[int, Record], items: Iterable[int], *, workers: int) -> Generator[Record, None, None]:
    """Apply a task to numbers in processes of this machine, one thread each.

    Raises:
        WorkerStoppedError: A process died.
    """
    return map_in_processes(task, items, workers=workers, next_step=AFTER_STOPPED_WORKER)


def engine_of(name: str) -> Engine:
    """Return the engine of a name.

    Raises:
        ConfigError: There is no such engine, or Ray is not installed.

    Example:
        >>> engine_of("processes").__name__
        'in_processes'
    """
    check_known("engine", name, ENGINES)
    if name == "processes":
        return in_processes
    from weft.scale.ray_engine import with_ray

    return with_ray
