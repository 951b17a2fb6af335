"""A task that several processes share; results come back in the order of the items.

The result does not depend on the number of processes. The standard library's `ProcessPoolExecutor` runs them; this
module adds a bounded queue, one thread for each process, and an error message for a process that died.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any, Protocol, TypeVar

from weft.errors import CorpusError, WeftError

# Items in progress per process: one being computed, one waiting, one on its way back.
BACKLOG = 3
# There is one process per core already: threads inside each process would compete for the cores.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

Item = TypeVar("Item")
Result = TypeVar("Result")
TaskItem = TypeVar("TaskItem", contravariant=True)
TaskResult = TypeVar("TaskResult", covariant=True)


class WorkerStoppedError(CorpusError):
    """A worker process died. The inputs are not the cause, so finished work is kept."""


class WorkerTask(Protocol[TaskItem, TaskResult]):
    """What a worker process needs; it is sent to each process once."""

    def start(self) -> Callable[[TaskItem], TaskResult]:
        """Return the function that is applied to every item; called once in each process."""


def map_in_order(
    task: WorkerTask[Item, Result], items: Iterable[Item], *, workers: int, next_step: str
) -> Generator[Result, None, None]:
    """Apply a task to all items and return the results in order.

    Args:
        task: What is done with an item.
        items: The items; at most a few per process are held in memory.
        workers: Number of processes; with one, the work is done in this process.
        next_step: What a person can do if a process dies; part of the error message.

    Raises:
        WeftError: The task raised it for an item.
        WorkerStoppedError: A process died.
    """
    if workers > 1:
        return _map_in_processes(task, items, workers, next_step)
    function = task.start()
    return (function(item) for item in items)


def _map_in_processes(
    task: WorkerTask[Item, Result], items: Iterable[Item], workers: int, next_step: str
) -> Generator[Result, None, None]:
    # "spawn": a forked copy of a process with threads (torch, tokenizers) can deadlock.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_initialize, initargs=(task,))
    waiting: deque[Future[Any]] = deque()
    try:
        for item in items:
            if len(waiting) >= BACKLOG * workers:
                yield _result(waiting.popleft())
            waiting.append(executor.submit(_apply, item))
        while waiting:
            yield _result(waiting.popleft())
    except BrokenProcessPool:
        raise WorkerStoppedError(
            "a worker process stopped before its work was done",
            seen="a process that ended without a result",
            allowed="enough memory, and a script whose entry is under `if __name__ == '__main__':`",
            next_step=next_step,
        ) from None
    finally:
        executor.shutdown(cancel_futures=True)


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except WeftError as error:
        raise error from None  # without the traceback of the other process, which a user cannot act on


_tasks: list[WorkerTask[Any, Any]] = []  # in a worker process: its one task


def _initialize(task: WorkerTask[Any, Any]) -> None:
    """Prepare a worker process: one thread, no reaction to Ctrl-C, and an end when the main process ends."""
    from threadpoolctl import threadpool_limits

    # The environment is for libraries that are loaded later, the limit for those that are loaded already.
    os.environ.update(ONE_THREAD)
    threadpool_limits(1)
    # Ctrl-C is sent to all processes of the terminal; the main process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_main_process, daemon=True).start()
    _tasks.append(task)


def _exit_with_main_process() -> None:
    # Without this, the processes of a main process that was killed would wait for work for ever.
    main = multiprocessing.parent_process()
    if main is not None:
        main.join()
        os._exit(1)


@cache
def _function() -> Callable[[Any], Any]:
    return _tasks[0].start()


def _apply(item: Any) -> Any:
    return _function()(item)
