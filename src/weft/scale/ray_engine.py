"""Blocks computed by workers of Ray, on one machine or on the machines of a cluster.

Ray sends the numbers of blocks to workers, and gets receipts back. Texts and scores never pass through Ray: workers
read and write the files themselves. A worker that dies is replaced, and its block is computed again.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from weft.corpora.process_pool import BACKLOG, ONE_THREAD, WorkerStoppedError, WorkerTask
from weft.errors import ConfigError, WeftError
from weft.io.cpu_cores import usable_cores
from weft.scale.engines import AFTER_STOPPED_WORKER

ADDRESS = "RAY_ADDRESS"
MOST_DEATHS = 3  # for each worker, before one of them has computed another item

Item = TypeVar("Item")
Result = TypeVar("Result")


def with_ray(task: WorkerTask[Item, Result], items: Iterable[Item], *, workers: int) -> Generator[Result, None, None]:
    """Apply a task to items in workers of Ray, one core each; a cluster is used if RAY_ADDRESS names one.

    A worker gets its next item when it is free, and its first one when it has started, so that no item waits for a
    worker that finds no place in the cluster. The results come as they are found.

    Raises:
        ConfigError: Ray is not installed.
        WeftError: The task raised it.
        WorkerStoppedError: The workers stopped several times.
    """
    waiting = deque(items)
    left, deaths = len(waiting), 0
    with _workers(task, min(workers, left)) as pool:
        while left:
            pool.give(waiting)
            for item, result in pool.results():
                if not isinstance(result, pool.death):
                    left, deaths = left - 1, 0
                    yield _value(result)
                    continue
                deaths += 1
                if deaths > MOST_DEATHS * workers:
                    raise _stopped(result) from result
                waiting.extend(item)  # last, so that an item that kills its workers does not stop the others


class _Workers:
    """Workers of Ray that compute one item at a time.

    Args:
        ray: The module.
        task: The task of every worker.
    """

    def __init__(self, ray: Any, task: WorkerTask[Any, Any]) -> None:
        self.ray, self.task, self.death = ray, task, ray.exceptions.RayActorError
        self.busy: dict[Any, tuple[Any, tuple[Any, ...]]] = {}  # a worker and its item, or none while it starts
        self.free: list[Any] = []

    def start(self) -> None:
        """Start one more worker."""
        worker = worker_class(self.ray).remote(self.task)
        self.busy[worker.ready.remote()] = worker, ()

    def give(self, waiting: deque[Any]) -> None:
        """Give items to free workers."""
        while waiting and self.free:
            worker, item = self.free.pop(), waiting.popleft()
            self.busy[worker.apply.remote(item)] = worker, (item,)

    def results(self) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Wait, and yield an item and its result; or, if a worker has died, its item, if it had one, and the error."""
        for found in self.ray.wait(list(self.busy), num_returns=1)[0]:
            worker, item = self.busy.pop(found)
            try:
                result = self.ray.get(found)
            except self.death as error:
                self.start()
                yield item, error
            else:
                self.free.append(worker)
                if item:
                    yield item, result

    def stop(self) -> None:
        """Stop all workers."""
        for worker in [*self.free, *(worker for worker, _ in self.busy.values())]:
            self.ray.kill(worker)


@contextmanager
def _workers(task: WorkerTask[Any, Any], count: int) -> Iterator[_Workers]:
    """Start workers that end with the block."""
    pool = _Workers(connected_ray(count), task)
    try:
        for _ in range(count):
            pool.start()
        yield pool
    finally:
        pool.stop()


def worker_class(ray: Any, **options: Any) -> Any:
    """Return the class of a worker that uses one core, as Ray needs it."""
    return ray.remote(num_cpus=1, **options)(_Worker)


class _Worker:
    """A worker of Ray: the function of a task, made once, in one thread; an error of weft is a result."""

    def __init__(self, task: WorkerTask[Any, Any]) -> None:
        one_thread()
        self.function = task.start()

    def ready(self) -> None:
        """Return when the worker has started."""

    def apply(self, item: Any) -> Any:
        """Return the result for an item, or the error."""
        try:
            return self.function(item)
        except WeftError as error:
            return error


def one_thread() -> None:
    """Limit this process to one thread: libraries that are loaded already, and those that read the environment later.

    Ray has a way to start processes with environment variables; it costs seconds at every start.
    """
    from threadpoolctl import threadpool_limits

    os.environ.update(ONE_THREAD)
    threadpool_limits(1)


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
    make = worker_class(ray, max_restarts=-1, max_task_retries=-1)
    pool = [make.remote(task) for _ in range(workers)]
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


def _value(result: Any) -> Any:
    if isinstance(result, WeftError):
        raise result
    return result


def _stopped(error: Exception) -> WorkerStoppedError:
    return WorkerStoppedError(
        "the workers of Ray stopped several times",
        seen=str(error).strip().splitlines()[0][:200],
        allowed="enough memory, and weft with the model on every machine",
        next_step=AFTER_STOPPED_WORKER,
    )


def ray_data(workers: int) -> Any:
    """Return the module ray.data, connected to a cluster or started on this machine, without messages of its own."""
    connected_ray(workers)
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data


def cores_of_machines() -> list[float]:
    """Return the number of cores of every machine of the cluster that this process is connected to."""
    import ray

    return [float(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]


def connected_ray(workers: int) -> Any:
    """Return the module ray, connected to a cluster or started on this machine.

    Raises:
        ConfigError: Ray is not installed.
        WeftError: It did not start.
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
        if os.environ.get(ADDRESS):
            _start(ray, tries=1)
        else:
            _start(ray, tries=3, num_cpus=max(workers, usable_cores()))
    return ray


def _start(ray: Any, *, tries: int, **options: int) -> None:
    """Connect to Ray, or start it; it gives up after 30 seconds, which are few on a busy machine."""
    for left in reversed(range(tries)):
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, **options)
            return
        except Exception as error:  # Ray has no narrower type for this
            ray.shutdown()
            if not left:
                raise WeftError(
                    "Ray did not start",
                    seen=str(error),
                    allowed="a machine with free cores, or the address of a cluster in RAY_ADDRESS",
                    next_step="repeat the command: it continues where it stopped; or omit --engine",
                ) from error
