"""Work on arrays over several cores: numpy lets go of the interpreter's lock while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

from weft.io.cpu_cores import usable_cores

MOST_THREADS = 8  # more gained nothing: the parts of one text are few
ASKED = "OMP_NUM_THREADS"  # what people set to bound the threads of any numerical program
BLAS = "OPENBLAS_NUM_THREADS"  # what numpy's matrix products obey, read once, when numpy is imported

Item = TypeVar("Item")
Other = TypeVar("Other")
Found = TypeVar("Found")


def thread_count() -> int:
    """How many threads to compute with.

    Threads of our own pay only where the library of matrix products keeps to the thread that calls it, which the
    command line asks of it before numpy is imported. Where nobody has, the library splits its products itself, and
    threads of ours on top would wait for one another.

    Example:
        >>> thread_count() >= 1
        True
    """
    if os.environ.get(BLAS) != "1":
        return 1
    asked = os.environ.get(ASKED, "")
    return max(1, min(usable_cores(), MOST_THREADS, int(asked) if asked.isdecimal() else MOST_THREADS))


def in_threads(function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """``function`` of every item, in order, over `thread_count` threads.

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
    """What two functions return, called at the same time where there is a thread for each.

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
