"""Threads for numpy computations, during which numpy releases the interpreter lock."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from weft.io.cpu_cores import usable_cores

MOST_THREADS = 8  # more gave no gain: one text has few parts
SHORT = 16  # sentences for which one thread of PyTorch is enough; two are twice as fast from 32 on
OMP_LIMIT = "OMP_NUM_THREADS"  # the common limit of threads of numerical programs
OPENBLAS_LIMIT = "OPENBLAS_NUM_THREADS"  # the limit of threads of matrix products, read once, when numpy is imported

Item = TypeVar("Item")
Other = TypeVar("Other")
Found = TypeVar("Found")


class _Limits:
    """The current limits of threads, set by the first caller that enters and lifted by the last that leaves."""

    def __init__(self) -> None:
        self.lock, self.callers = threading.Lock(), 0
        self.blas: Any = None
        self.torch_threads = 0

    def enter(self, torch_threads: int) -> None:
        with self.lock:
            self.callers += 1
            if self.callers > 1:
                return
            from threadpoolctl import threadpool_limits

            self.blas = threadpool_limits(1, user_api="blas")
            torch = sys.modules.get("torch")
            self.torch_threads = torch.get_num_threads() if torch is not None else 0
            if torch is not None and self.torch_threads > torch_threads:
                torch.set_num_threads(torch_threads)

    def leave(self) -> None:
        with self.lock:
            self.callers -= 1
            if self.callers:
                return
            self.blas.restore_original_limits()
            if self.torch_threads:
                sys.modules["torch"].set_num_threads(self.torch_threads)


_limits = _Limits()  # one per process, as the thread pools of numpy and PyTorch are


@contextmanager
def few_threads(*, sentences: int | None = None) -> Iterator[None]:
    """Keep numpy's matrix products on the thread that calls them, and limit PyTorch's threads, inside the block.

    The products of one short text are small: threads that OpenBLAS starts for them spend ten times the work waiting.
    PyTorch gets `MOST_THREADS`, and one thread for a short text: with two threads, 60 texts of 4 sentences took 9
    CPU-seconds instead of 6 on idle cores, and 38 on busy ones, where the threads wait for each other.

    Args:
        sentences: Number of sentences to compute with, if known.

    Example:
        >>> with few_threads():
        ...     thread_count() >= 1
        True
    """
    _limits.enter(1 if sentences is not None and sentences <= SHORT else MOST_THREADS)
    try:
        yield
    finally:
        _limits.leave()


def thread_count() -> int:
    """Return the number of threads to compute with.

    It is above 1 only if matrix products run on the calling thread: inside `few_threads`, or if OPENBLAS_NUM_THREADS is
    1. Otherwise the library divides its products among threads itself, and further threads would wait for each other.

    Example:
        >>> thread_count() >= 1
        True
    """
    if os.environ.get(OPENBLAS_LIMIT) != "1" and not _limits.callers:
        return 1
    limit = os.environ.get(OMP_LIMIT, "")
    return max(1, min(usable_cores(), MOST_THREADS, int(limit) if limit.isdecimal() else MOST_THREADS))


def in_threads(function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """Return ``function`` of every item, in order, computed in `thread_count` threads.

    Example:
        >>> in_threads(abs, [-1, 2])
        [1, 2]
    """
    waiting = list(items)
    threads = min(thread_count(), len(waiting))
    if threads < 2:
        return [function(item) for item in waiting]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, waiting))


def at_once(one: Callable[[], Found], other: Callable[[], Other]) -> tuple[Found, Other]:
    """Return the results of two functions, called at the same time if there are two threads.

    Example:
        >>> at_once(lambda: 1, lambda: "b")
        (1, 'b')
    """
    if thread_count() < 2:
        return one(), other()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(other)
        return one(), waiting.result()
