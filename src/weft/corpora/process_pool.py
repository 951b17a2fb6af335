"""A task that several processes share; results come back in the order of the items.

Item number k goes to process k modulo n, and results are read in the same order, so that they do not depend on the
number of processes or their speed.

Every process has a pipe of its own. `concurrent.futures.ProcessPoolExecutor` has one queue for the results of all
processes: if a process is killed while it writes a result, for example by the system when memory runs out, the executor
waits for ever. Here the end of the pipe is an error at once.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
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
        return _map_in_processes(task, items, workers, next_step)
    function = task.start()
    return (function(item) for item in items)


def _map_in_processes(
    task: WorkerTask[Item, Result], items: Iterable[Item], workers: int, next_step: str
) -> Generator[Result, None, None]:
    with _one_thread_each():
        processes = [_start_process(task) for _ in range(workers)]
    pipes = [pipe for _, pipe in processes]
    waiting: deque[Connection] = deque()
    try:
        for number, item in enumerate(items):
            if len(waiting) >= BACKLOG * workers:
                yield _receive(waiting.popleft(), next_step)
            _send(pipes[number % workers], item)
            waiting.append(pipes[number % workers])
        while waiting:
            yield _receive(waiting.popleft(), next_step)
    finally:
        _stop(processes)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Set the environment of processes started in the block; numerical libraries read it once, when imported."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_process(task: WorkerTask[Any, Any]) -> tuple[BaseProcess, Connection]:
    # "spawn": a forked copy of a process with threads (torch, tokenizers) can deadlock.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(task, theirs), daemon=True)
    process.start()
    theirs.close()  # so that the pipe ends here when the process dies
    return process, ours


def _send(pipe: Connection, item: object) -> None:
    # `_receive` reports a process that died, after the results that it sent before.
    with suppress(BrokenPipeError, ConnectionResetError):
        pipe.send(item)


def _receive(pipe: Connection, next_step: str) -> Any:
    try:
        result = pipe.recv()
    except (EOFError, OSError):  # OSError: the process died while it wrote a result
        raise WorkerStoppedError(
            "a worker process stopped before its work was done",
            seen="the end of its pipe",
            allowed="enough memory, and a script whose entry is under `if __name__ == '__main__':`",
            next_step=next_step,
        ) from None
    if isinstance(result, WeftError):
        raise result
    return result


def _stop(processes: list[tuple[BaseProcess, Connection]]) -> None:
    for process, pipe in processes:
        pipe.close()
        process.terminate()
    for process, _ in processes:
        process.join()
        process.close()


def _work(task: WorkerTask[Any, Any], pipe: Connection) -> None:
    """Run a worker process: read items, and send the result or the error of each.

    The process ends with its pipe, also if the main process is killed.
    """
    # Ctrl-C is sent to all processes of the terminal; the main process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    function = task.start()
    inbox: queue.SimpleQueue[tuple[Any] | None] = queue.SimpleQueue()
    # A thread reads items: if both ends of a pipe were writing, both would wait for ever.
    threading.Thread(target=_read_items, args=(pipe, inbox), daemon=True).start()
    while (item := inbox.get()) is not None:
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.send(_result_or_error(function, item[0]))


def _read_items(pipe: Connection, inbox: queue.SimpleQueue[tuple[Any] | None]) -> None:
    try:
        while True:
            inbox.put((pipe.recv(),))
    except (EOFError, OSError):
        inbox.put(None)


def _result_or_error(function: Callable[[Any], Any], item: object) -> object:
    try:
        return function(item)
    except WeftError as error:
        return error
