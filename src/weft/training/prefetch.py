"""Prefetching: a thread computes the next items while the current one is used."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def prefetched(items: Iterator[Item], *, depth: int) -> Generator[Item, None, None]:
    """Yield the items of an iterator that runs up to ``depth`` items ahead in a thread; closing stops the thread.

    Example:
        >>> list(prefetched(iter(range(4)), depth=2))
        [0, 1, 2, 3]
    """
    waiting: queue.Queue[tuple[bool, Item | BaseException | None]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def offer(entry: tuple[bool, Item | BaseException | None]) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(entry, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not offer((True, item)):
                    return
            offer((False, None))
        except BaseException as error:  # raised again where the items are used
            offer((False, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            more, value = waiting.get()
            if not more:
                if isinstance(value, BaseException):
                    raise value
                return
            yield value  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join(timeout=5)
