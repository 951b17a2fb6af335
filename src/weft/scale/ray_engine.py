"""Blocks computed by Ray Data, on one machine or on the machines of a cluster.

Ray sends the numbers of blocks to workers, and gets receipts back. Texts and scores never pass through Ray: workers
read and write the files themselves. A worker that dies is replaced by Ray, which gives its blocks to another one.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

from weft.corpora.process_pool import BACKLOG, ONE_THREAD, WorkerTask
from weft.errors import ConfigError, WeftError
from weft.io.cpu_cores import usable_cores
from weft.scale.output_folder import Record

PER_WORKER = 16  # groups of blocks for each worker: small enough to share the work evenly
ADDRESS = "RAY_ADDRESS"

Item = TypeVar("Item")
Result = TypeVar("Result")


def with_ray(task: WorkerTask[int, Record], items: Iterable[int], *, workers: int) -> Generator[Record, None, None]:
    """Apply a task to numbers in workers of Ray, one core each; a cluster is used if RAY_ADDRESS names one.

    Raises:
        ConfigError: Ray is not installed.
        WeftError: The task raised it.
    """
    numbers = [{"item": number} for number in items]
    data = ray_data(workers)
    groups = min(len(numbers), PER_WORKER * workers)
    dataset = data.from_items(numbers, override_num_blocks=groups).map_batches(
        _Worker,
        fn_constructor_args=(task,),
        batch_size=1,
        compute=data.ActorPoolStrategy(size=min(workers, groups)),
        num_cpus=1,
        runtime_env={"env_vars": ONE_THREAD},
    )
    for row in dataset.iter_rows():
        found = json.loads(row["result"])
        if "error" in found:
            raise WeftError(**found["error"])
        yield found["record"]


class _Worker:
    """A worker of Ray: the function of a task, made once."""

    def __init__(self, task: WorkerTask[int, Record]) -> None:
        self.function = task.start()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"result": [json.dumps(self._result(int(number))) for number in batch["item"]]}

    def _result(self, number: int) -> Record:
        try:
            return {"record": self.function(number)}
        except WeftError as error:
            seen = None if error.seen is None else str(error.seen)
            parts = {"what": error.what, "seen": seen, "allowed": error.allowed, "next_step": error.next_step}
            return {"error": parts}


def in_order_with_ray(
    task: WorkerTask[Item, Result],
    items: Iterable[Item],
    *,
    workers: int,
    next_step: str,  # noqa: ARG001  part of the contract
) -> Generator[Result, None, None]:
    """Do what `map_in_order` does, in workers of Ray; the items and results pass through Ray, a few at a time.

    Ray replaces a worker that dies.

    Raises:
        ConfigError: Ray is not installed.
        WeftError: The task raised it for an item; the first one in the order of the items.
    """
    ray = connected_ray(workers)
    make = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1, runtime_env={"env_vars": ONE_THREAD})
    pool = [make(_OrderedWorker).remote(task) for _ in range(workers)]
    waiting: deque[Any] = deque()
    try:
        for number, item in enumerate(items):
            if len(waiting) >= BACKLOG * workers:
                yield _value(ray.get(waiting.popleft()))
            waiting.append(pool[number % workers].apply.remote(item))
        while waiting:
            yield _value(ray.get(waiting.popleft()))
    finally:
        for worker in pool:
            ray.kill(worker)


class _OrderedWorker:
    """A worker of Ray: the function of a task, made once; an error of weft is a result."""

    def __init__(self, task: WorkerTask[Any, Any]) -> None:
        self.function = task.start()

    def apply(self, item: Any) -> Any:
        try:
            return self.function(item)
        except WeftError as error:
            return error


def _value(result: Any) -> Any:
    if isinstance(result, WeftError):
        raise result
    return result


def ray_data(workers: int) -> Any:
    """Return the module ray.data, connected to a cluster or started on this machine, without messages of its own."""
    connected_ray(workers)
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data


def connected_ray(workers: int) -> Any:
    """Return the module ray, connected to a cluster or started on this machine.

    Raises:
        ConfigError: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            "Ray is not installed",
            seen=f"engine ray ({error})",
            allowed="engine processes without it",
            next_step="pip install 'weft-coherence[scale]', or use --workers without --engine",
        ) from error
    if not ray.is_initialized():
        cores = {} if os.environ.get(ADDRESS) else {"num_cpus": max(workers, usable_cores())}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, **cores)
    return ray
