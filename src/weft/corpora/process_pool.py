"""A task that several processes share; results come back in the order of the items.

Every process has a pipe of its own. `concurrent.futures.ProcessPoolExecutor` has one queue for the results of all
processes: if a process is killed while it writes a result, for example by the system when memory runs out, the executor
waits for ever. Here the end of the pipe is an error at once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from weft.errors import CorpusError, WeftError

# Items in progress per process: one is computed, one waits, and one is being returned.
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
    """A task for worker processes; it is sent to each process once."""

    def start(self) -> Callable[[TaskItem], TaskResult]:
        """Return the function that is applied to every item; called once in each process."""


class OrderedMap(Protocol):
    """A function that applies a task to items in several workers, and returns the results in order."""

    def __call__(
        self, task: WorkerTask[Item, Result], items: Iterable[Item], *, workers: int, next_step: str
    ) -> Generator[Result, None, None]:
        """Apply the task; see `map_in_order`."""


def map_in_order(
    task: WorkerTask[Item, Result], items: Iterable[Item], *, workers: int, next_step: str
) -> Generator[Result, None, None]:
    """Apply a task to all items and return the results in order.

    Args:
        task: The task to apply to each item.
        items: The items; at most a few per process are held in memory.
        workers: Number of processes; with one, the work is done in this process.
        next_step: What a person can do if a process dies; part of the error message.

    Raises:
        WeftError: The task raised it for an item; the first one in the order of the items.
        WorkerStoppedError: A process died.
    """
    if workers > 1:
        return map_in_processes(task, items, workers=workers, next_step=next_step)
    function = task.start()
    return (function(item) for item in items)


def map_in_processes(
    task: WorkerTask[Item, Result], items: Iterable[Item], *, workers: int, next_step: str
) -> Generator[Result, None, None]:
    """Do what `map_in_order` does, with one worker also in a process of its own, which computes in one thread."""
    idle: SimpleQueue[Connection] = SimpleQueue()

    def compute(item: Item) -> Any:
        pipe = idle.get()
        try:
            pipe.send(item)
            return pipe.recv()
        except (EOFError, OSError):
            return _stopped(next_step)
        finally:
            idle.put(pipe)

    waiting: deque[Future[Any]] = deque()
    # One thread per process, which waits for its results.
    with ThreadPoolExecutor(workers) as threads, _processes(task, workers) as pipes:
        for pipe in pipes:
            idle.put(pipe)
        for item in items:
            if len(waiting) >= BACKLOG * workers:
                yield _result_of(waiting.popleft())
            waiting.append(threads.submit(compute, item))
        while waiting:
            yield _result_of(waiting.popleft())


def _result_of(future: Future[Any]) -> Any:
    result = future.result()
    if isinstance(result, WeftError):
        raise result
    return result


def _stopped(next_step: str) -> WorkerStoppedError:
    return WorkerStoppedError(
        "a worker process stopped before its work was done",
        seen="the end of its pipe",
        allowed="enough memory, and a script whose entry is under `if __name__ == '__main__':`",
        next_step=next_step,
    )


@contextmanager
def _processes(task: WorkerTask[Any, Any], count: int) -> Iterator[list[Connection]]:
    """Start worker processes and yield the pipe of each; the processes end with the block."""
    with _one_thread_each():
        started = [_start_process(task) for _ in range(count)]
    try:
        yield [pipe for _, pipe in started]
    finally:
        for process, _ in started:
            process.terminate()
        for process, _ in started:
            process.join()
            process.close()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Set the environment of processes started in the block; numerical libraries read it once, when imported."""
    before = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)


def _start_process(task: WorkerTask[Any, Any]) -> tuple[BaseProcess, Connection]:
    # "spawn": a forked copy of a process with threads (torch, tokenizers) can deadlock.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(task, theirs), daemon=True)
    process.start()
    theirs.close()  # so that the pipe ends here when the process dies
    return process, ours


def _end_with_parent() -> None:
    """End this process as soon as the main process has ended, so that nothing is written after it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(task: WorkerTask[Any, Any], pipe: Connection) -> None:
    """Run a worker process until its pipe ends, also if the main process is killed."""
    # Ctrl-C is sent to all processes of the terminal; the main process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    function = task.start()
    with suppress(EOFError, OSError):
        while True:
            item = pipe.recv()
            try:
                result: object = function(item)
            except WeftError as error:
                result = error
            pipe.send(result)
