"""Prefetching: a thread computes the next items while the current one is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


def prefetched(items: Iterator[Item], *, depth: int) -> Generator[Item, None, None]:
    """Yield the items of an iterator that runs up to ``depth`` items ahead in a thread; closing stops the thread.

    Example:
        >>> list(prefetched(iter(range(4)), depth=2))
        [0, 1, 2, 3]
    """
    end: Any = object()
    pool = ThreadPoolExecutor(1)  # one thread: an iterator cannot be advanced by two
    try:
        waiting = deque(pool.submit(next, items, end) for _ in range(depth))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, items, end))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
