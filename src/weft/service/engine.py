"""The models of the service, and the threads in which they compute; the event loop never waits for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TypeVar

from weft.corpora.text.language_detection import foreign_language
from weft.errors import ConfigError, WeftError, packages_named
from weft.generation.writing_models import writing_model
from weft.loaded_model import Model, load
from weft.models.common.thread_pool import few_threads
from weft.progress import Steps
from weft.registry import DEFAULT_WRITER
from weft.service.answers import Stopping
from weft.service.bodies.problems import ServiceError
from weft.service.metrics import Metrics
from weft.service.remembering import remembering
from weft.service.score_queue import ScoreQueue
from weft.service.settings import ServiceSettings

Found = TypeVar("Found")
FOREIGN = "Der Hund bellt, und die Katze schläft heute nicht."
WARM_UP = "It rained all night. In the morning the street was wet."
TURN = 0.1  # seconds after which a computation in steps lets others go first
MOST_CALLS = 32  # orders, comparisons and continuations that may wait


@dataclass(frozen=True)
class ServedModel:
    """A loaded model; whoever computes with it holds its lock, because models keep what they have just read."""

    name: str
    model: Model
    lock: threading.Lock = field(default_factory=threading.Lock)
    _combinations: dict[str, Model] = field(default_factory=dict)

    def combined(self, combine: str | None) -> Model:
        """Return the model with its parts combined in a way; the same object each time, so that texts share a batch.

        Raises:
            ConfigError: It has no parts to combine.
        """
        if combine is None:
            return self.model
        if combine not in self._combinations:
            self._combinations[combine] = self.model.combined(combine)
        return self._combinations[combine]


class Engine:
    """Computes with models: scores in batches, everything else call by call.

    Args:
        settings: The settings of the service.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings, self.metrics = settings, Metrics()
        self.models: dict[str, ServedModel] = {}
        self.stopping = Stopping(settings.shutdown_seconds)
        self.ready = False
        self.calls = 0  # waiting or running calls
        self._loading = threading.Lock()
        self._writer: ServedModel | None = None
        self._call_thread = ThreadPoolExecutor(1, "weft-calls")
        self._text_threads = ThreadPoolExecutor(2, "weft-texts")
        self.queue = ScoreQueue(settings, self.metrics)

    def load(self) -> None:
        """Load the models and score a short text with each, so that the first request is not slow; once.

        A writer that was named is loaded too, so that a wrong name is an error here; the default one may be missing.

        Raises:
            WeftError: There is no such model, or the named writer cannot write.
        """
        for name in self.settings.models:
            if name not in self.models:
                served = ServedModel(name, remembering(load(name, device=self.settings.device)))
                served.model.score(WARM_UP)
                self.models[name] = served
        if self.settings.writer != DEFAULT_WRITER and self._writer is None:
            writer = self.models.get(self.settings.writer) or ServedModel(
                self.settings.writer, load(self.settings.writer)
            )
            writing_model(writer.model.inner, writer.name)
            self._writer = writer

    def start(self) -> None:
        """Begin to score what is queued; call it in the event loop."""
        self.queue.start()
        # What tells languages apart takes a second to load, and is first needed by a text with few English words.
        self._text_threads.submit(foreign_language, (FOREIGN,))
        self.ready = True

    def begin_to_stop(self) -> None:
        """Let streams end and requests finish in time; call it in the event loop, before `stop`."""
        self.ready = False
        self.stopping.begin()

    async def stop(self) -> None:
        """Finish what is queued and end the threads."""
        self.ready = False
        await self.queue.stop()
        self._call_thread.shutdown(wait=True, cancel_futures=True)
        self._text_threads.shutdown(wait=True, cancel_futures=True)

    def served(self, name: str | None) -> ServedModel:
        """Return a model by the name in a request.

        Raises:
            ConfigError: The service does not serve it.
        """
        if name is None:
            return self.models[self.settings.default_model]
        if name not in self.models:
            raise ConfigError(
                "the service does not serve this model",
                seen=name,
                allowed=", ".join(self.models),
                next_step="omit `model`, or choose one that /v1/models lists",
            )
        return self.models[name]

    def writer(self, name: str | None) -> ServedModel:
        """Return the model that continues texts; the default one is loaded when it is first used.

        Raises:
            ServiceError: The default one is not installed, or what it needs (422).
        """
        if name is not None and name != self.settings.writer:
            return self.served(name)
        with self._loading:
            if self._writer is None:
                known = self.models.get(self.settings.writer)
                self._writer = known or ServedModel(self.settings.writer, self._loaded_writer())
            return self._writer

    def _loaded_writer(self) -> Model:
        try:
            return load(self.settings.writer)
        except WeftError as error:
            raise ServiceError(
                422, "no-writer", "this service cannot continue texts", seen=error.what,
                allowed="a service with PyTorch and a trained model that writes",
                next_step="where the service runs, install both (pip install '.[train]' ./zoo, in a clone of weft) and "
                "start it again, or name another model that writes with --writer",
            ) from error  # fmt: skip

    async def read(self, function: Callable[[], Found]) -> Found:
        """Return what a function of texts, without a model, returns; it runs in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._text_threads, function)

    async def call(self, function: Callable[[], Found]) -> Found:
        """Return what a function returns that computes with a model; calls run one after the other in a thread.

        Raises:
            ServiceError: Too many calls wait (429).
        """
        if self.calls >= MOST_CALLS:
            raise queue_full(f"{self.calls} waiting requests", f"up to {MOST_CALLS} waiting requests")
        self.calls += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._call_thread, function)
        finally:
            self.calls -= 1

    async def iterate(self, items: Iterator[Found], locks: Sequence[threading.Lock]) -> AsyncIterator[Found]:
        """Yield the items of an iterator whose steps compute with models; other calls run between its steps.

        Only the thread of calls ever holds several locks, so that no two threads can wait for each other.
        """
        end = object()

        def step() -> Found | object:
            with ExitStack() as held:
                for lock in locks:
                    held.enter_context(lock)
                return next(items, end)

        while (item := await self.call(step)) is not end:
            yield item  # type: ignore[misc]

    async def finish(self, steps: Steps[Found], lock: threading.Lock) -> Found:
        """Return the result of a computation with a model, in turns with scores and other calls, which do not wait.

        A request that is cancelled stops after the turn under way.
        """

        def turn() -> list[Found]:
            ends = time.perf_counter() + TURN
            with lock, few_threads(), packages_named():
                try:
                    while time.perf_counter() < ends:
                        next(steps)
                except StopIteration as end:
                    return [end.value]
            return []

        while not (found := await self.call(turn)):
            pass
        return found[0]


def queue_full(seen: str, allowed: str) -> ServiceError:
    """Return the error of a request for which there is no place in the queue."""
    return ServiceError(
        429, "queue-full", "too many requests wait", seen=seen, allowed=allowed,
        next_step="send the request again after the time in Retry-After", retry_after=1,
    )  # fmt: skip
