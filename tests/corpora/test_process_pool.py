"""Several processes give the results of one, in order; a process that dies is a clear error."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import pytest

from weft.corpora.process_pool import ONE_THREAD, WorkerStoppedError, map_in_order
from weft.errors import CorpusError


class Echo:
    """Answers with what a worker sees around it; lives at the top of a module, so that workers can find it."""

    def start(self) -> Callable[[Any], Any]:
        return answer


def send_half(pipe: Connection, buffer: Any) -> None:
    """Die in the middle of a message, as a process does that the system kills while it writes."""
    os.write(pipe.fileno(), struct.pack("!i", len(buffer)) + bytes(buffer[: len(buffer) // 2]))
    os.kill(os.getpid(), signal.SIGKILL)


def answer(item: str) -> Any:
    if item == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "die while writing":
        Connection._send_bytes = send_half  # type: ignore[attr-defined]
    if item == "fail":
        raise CorpusError("a bad item", seen=item)
    return os.environ.get(item)


def test_workers_compute_in_one_thread_and_this_process_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    assert list(map_in_order(Echo(), ONE_THREAD, workers=2, next_step="")) == list(ONE_THREAD.values())
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "MKL_NUM_THREADS" not in os.environ


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_worker_is_raised_here(workers: int) -> None:
    with pytest.raises(CorpusError, match="a bad item"):
        list(map_in_order(Echo(), ["HOME", "fail", "HOME"], workers=workers, next_step=""))
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("how", ["die", "die while writing"])
def test_a_dead_worker_is_told_with_a_way_out(how: str) -> None:
    with pytest.raises(WorkerStoppedError, match="next: buy memory"):
        list(map_in_order(Echo(), ["HOME", how, "HOME", "HOME"], workers=2, next_step="buy memory"))
    assert multiprocessing.active_children() == []
