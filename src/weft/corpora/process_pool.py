"""Work that several processes share: items go out in turn, answers come back in the order of the items.

Item number k goes to worker k modulo n and answers are taken in the same order, so the result does not depend on how
many workers there are or which is fastest.
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

# Items under way per worker: one being worked on, one waiting, one on its way back.
BACKLOG = 3
# One process a core already: threads inside each would only fight.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Asked = TypeVar("Asked", contravariant=True)
Given = TypeVar("Given", covariant=True)


class WorkerStoppedError(CorpusError):
    """A worker died; the inputs are not to blame, so what is done so far is kept."""


class Job(Protocol[Asked, Given]):
    """All a worker needs to know, small enough to be sent to each of them once."""

    def begin(self) -> Callable[[Asked], Given]:
        """Get ready, once a worker; returns what answers an item."""


def in_order(
    job: Job[Item, Answer], items: Iterable[Item], *, workers: int, if_stopped: str
) -> Generator[Answer, None, None]:
    """The answers to all items, in order, by one process or several.

    Args:
        job: What is done.
        items: At most a few per worker are held at a time.
        workers: How many processes; with one, the work is done here.
        if_stopped: What a person can do where a worker dies.

    Raises:
        WeftError: What an item was answered with; the first one in the order of the items.
        WorkerStoppedError: A worker died.
    """
    if workers > 1:
        return _in_processes(job, items, workers, if_stopped)
    answer = job.begin()
    return (answer(item) for item in items)


def _in_processes(
    job: Job[Item, Answer], items: Iterable[Item], workers: int, if_stopped: str
) -> Generator[Answer, None, None]:
    with _one_thread_each():
        crew = [_start_worker(job) for _ in range(workers)]
    pipes = [pipe for _, pipe in crew]
    waiting: deque[Connection] = deque()
    try:
        for number, item in enumerate(items):
            if len(waiting) >= BACKLOG * workers:
                yield _receive(waiting.popleft(), if_stopped)
            _send(pipes[number % workers], item)
            waiting.append(pipes[number % workers])
        while waiting:
            yield _receive(waiting.popleft(), if_stopped)
    finally:
        _stop(crew)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """What processes started inside inherit; numerical libraries read it when they are imported, never again."""
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


def _start_worker(job: Job[Any, Any]) -> tuple[BaseProcess, Connection]:
    # "spawn": a forked copy of a process with threads (torch, tokenizers) can deadlock.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(job, theirs), daemon=True)
    process.start()
    theirs.close()  # so that the worker's death is seen here as the end of the pipe
    return process, ours


def _send(pipe: Connection, item: object) -> None:
    # A worker that died is reported by `_receive`, which knows whether it left an answer first.
    with suppress(BrokenPipeError, ConnectionResetError):
        pipe.send(item)


def _receive(pipe: Connection, if_stopped: str) -> Any:
    try:
        answer = pipe.recv()
    except (EOFError, ConnectionResetError):
        raise WorkerStoppedError(
            "a worker process stopped in the middle of its work",
            seen="the end of its pipe",
            allowed="enough memory, and a script whose entry is under `if __name__ == '__main__':`",
            next_step=if_stopped,
        ) from None
    if isinstance(answer, WeftError):
        raise answer
    return answer


def _stop(crew: list[tuple[BaseProcess, Connection]]) -> None:
    for process, pipe in crew:
        pipe.close()
        process.terminate()  # it holds nothing but memory
    for process, _ in crew:
        process.join()
        process.close()


def work(job: Job[Any, Any], pipe: Connection) -> None:
    """The life of a worker process: read items, send for each its answer or the error it met.

    The end of the pipe, also when the main process is killed, is the end of the worker.
    """
    # Ctrl-C reaches the whole group; the main process decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer = job.begin()
    inbox: queue.SimpleQueue[tuple[Any] | None] = queue.SimpleQueue()
    # Reading on the side: if both ends of a pipe were writing, both would wait for ever.
    threading.Thread(target=_read_into, args=(pipe, inbox), daemon=True).start()
    while (item := inbox.get()) is not None:
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.send(_answer_or_error(answer, item[0]))


def _read_into(pipe: Connection, inbox: queue.SimpleQueue[tuple[Any] | None]) -> None:
    try:
        while True:
            inbox.put((pipe.recv(),))
    except (EOFError, OSError):
        inbox.put(None)


def _answer_or_error(answer: Callable[[Any], Any], item: object) -> object:
    try:
        return answer(item)
    except WeftError as error:
        return error
