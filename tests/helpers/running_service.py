"""A service on a free port of the loopback, in a thread of the test or in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx
import numpy as np
import numpy.typing as npt
from tests.helpers.scorers import TestScorer

from weft.document import Document, Score
from weft.loaded_model import Model
from weft.registry import create_model
from weft.service.app import create_app
from weft.service.engine import Engine, ServedModel
from weft.service.server import Server, listening_socket, server_config
from weft.service.settings import ServiceSettings

BEES = (
    "Bees do not see the world as we do. Their eyes are tuned to ultraviolet light.\n\n"
    "Many flowers carry patterns of such light. A bee that follows them finds the nectar faster. "
    "My uncle bought a motorbike in 1987. In return, the flower dusts the bee with pollen."
)


@dataclass
class Running:
    """A running service."""

    address: str
    engine: Engine
    http: httpx.Client
    server: Server


@contextmanager
def running(settings: ServiceSettings, models: Sequence[ServedModel] = ()) -> Iterator[Running]:
    """Run a service in a thread; given models are served beside those of the settings."""
    engine = Engine(settings)
    engine.models = {served.name: served for served in models}
    listening = listening_socket("127.0.0.1", 0)
    config = server_config(create_app(settings, engine), settings, verbose=True)
    server = Server(config, engine.begin_to_stop)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
            _wait_until(lambda: server.started or not thread.is_alive())
            assert server.started
            yield Running(address, engine, client, server)
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
    assert not thread.is_alive()


def _wait_until(reached: object, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.005)
    assert reached()  # type: ignore[operator]


@contextmanager
def process(*options: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``weft serve`` in a process of its own: (the process, its address); stderr is a pipe."""
    command = [sys.executable, "-m", "weft", "serve", "--port", "0", *options]
    run = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, **variables}
    )
    assert run.stderr is not None
    try:
        first = run.stderr.readline()
        found = re.search(r"http://\S+", first)
        assert found, first + run.stderr.read()
        address = found[0].rstrip("/")
        _wait_until(lambda: _answers(address))
        yield run, address
    finally:
        run.kill()
        run.wait()
        run.stderr.close()


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


@dataclass
class GatedModel(TestScorer):
    """Scores as `foltz-sif` does, but only while its gate is open, and records the texts of every call."""

    gate: threading.Event = field(default_factory=threading.Event)
    calls: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inner = create_model("foltz-sif")
        self.Settings, self.settings = type(self.inner.settings), self.inner.settings

    def score(self, documents: Sequence[Document]) -> list[Score]:
        self.calls.append([document.id for document in documents])
        assert self.gate.wait(30)
        if any("divide by zero" in sentence for document in documents for sentence in document.sentences):
            raise ZeroDivisionError("a secret text")
        return self.inner.score(documents)

    @property
    def served(self) -> ServedModel:
        """The model as the service takes it."""
        return ServedModel("gated", Model(self, "gated"))


def wait_for(reached: object) -> None:
    """Return when a condition is true, which has to happen soon."""
    _wait_until(reached)


def source_folder() -> Path:
    """The folder of the package, for processes."""
    import weft

    return Path(weft.__file__).parents[1]


@dataclass
class SteppedModel(GatedModel):
    """A model whose table of pairs takes very many short steps."""

    steps: int = 0

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        return np.zeros((len(document), len(document)))

    def remembering(self) -> Self:
        return self

    def score_steps(self, document: Document) -> Iterator[None]:
        return self.table_steps(document)

    def table_steps(self, document: Document) -> Iterator[None]:
        for _ in range(10_000):
            self.steps += 1
            time.sleep(0.002)
            yield
