"""The queue of texts to score: texts of many requests go into one call of the model."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from weft.document import Document, Score
from weft.loaded_model import Model
from weft.models.common.thread_pool import few_threads
from weft.progress import Steps
from weft.service.answers import stopping_error
from weft.service.bodies.problems import ServiceError
from weft.service.metrics import Metrics
from weft.service.remembering import score_steps
from weft.service.settings import ServiceSettings

LONG = (
    64  # sentences; a longer text has a call of its own, in steps if its model can, so that others do not wait for it
)
END = object()


@dataclass(frozen=True, eq=False)
class Waiting:
    """A text that waits for its score."""

    model: Model
    lock: threading.Lock
    document: Document
    genre: str
    found: asyncio.Future[Score]


class ScoreQueue:
    """Scores texts in the order in which they arrive, in batches.

    While the model computes, further texts arrive; together they are the next batch. So a busy service has large
    batches, and an idle one has no delay but `batch_wait`.
    """

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self.waiting: deque[Waiting] = deque()
        self._arrived = asyncio.Event()
        # Texts of all streams together take at most half of the queue; a stream waits, while a request is refused.
        self.stream_places = asyncio.Semaphore(max(1, settings.queue_texts // 2))
        self._thread = ThreadPoolExecutor(1, "weft-scores")
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        """Begin to score; call it in the event loop."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Score what waits, then end."""
        self._stopping = True
        self._arrived.set()
        if self._task is not None:
            await self._task
        self._thread.shutdown(wait=True)

    async def score(
        self,
        model: Model,
        lock: threading.Lock,
        documents: Sequence[Document],
        genres: Sequence[str],
        *,
        patient: bool = False,
    ) -> list[Score]:
        """Return the scores of documents; a caller that is cancelled takes its texts out of the queue.

        Args:
            model: The model.
            lock: Its lock.
            documents: The texts.
            genres: Their genres, checked; empty where none is given.
            patient: Whether the caller has one of the `stream_places` for each text.

        Raises:
            ServiceError: Too many texts wait (429), or the service is stopping (503).
        """
        places = self.settings.queue_texts
        if not patient and self.waiting and len(self.waiting) + len(documents) > places:
            raise ServiceError(
                429, "queue-full", "too many texts wait", seen=f"{len(self.waiting)} waiting texts",
                allowed=f"up to {places} waiting texts", retry_after=1,
                next_step="send the request again after the time in Retry-After",
            )  # fmt: skip
        return list(await asyncio.gather(*self._add(model, lock, documents, genres)))

    def _add(
        self, model: Model, lock: threading.Lock, documents: Sequence[Document], genres: Sequence[str]
    ) -> list[asyncio.Future[Score]]:
        if self._stopping:
            raise stopping_error()
        loop = asyncio.get_running_loop()
        added = [
            Waiting(model, lock, document, genre, loop.create_future())
            for document, genre in zip(documents, genres, strict=True)
        ]
        self.waiting.extend(added)
        self._changed()
        self._arrived.set()
        return [one.found for one in added]

    def _changed(self) -> None:
        self.metrics.queue.set(len(self.waiting))

    async def _run(self) -> None:
        while not (self._stopping and not self.waiting):
            await self._arrived.wait()
            if not self._stopping and len(self.waiting) < self.settings.batch_texts:
                await asyncio.sleep(self.settings.batch_wait)
            batch = self._next_batch()
            if len(batch) == 1 and len(batch[0].document) > LONG:
                await self._score_long(batch[0])
            elif batch:
                await self._score(batch)
            if not self.waiting and not self._stopping:
                self._arrived.clear()

    async def _score_long(self, text: Waiting) -> None:
        """Score a long text in steps, if its model can; texts that arrive meanwhile are scored between two steps."""
        steps = score_steps(text.model, text.document)
        loop = asyncio.get_running_loop()
        while not text.found.cancelled() and await loop.run_in_executor(self._thread, _step, steps, text.lock):
            if batch := self._next_batch(short=True):
                await self._score(batch)
        if not text.found.cancelled():
            await self._score([text])

    def _next_batch(self, *, short: bool = False) -> list[Waiting]:
        """Take the first texts of the queue that one call of a model can score; those no longer wanted are dropped.

        Args:
            short: Whether to take nothing if the first is a long text.
        """
        batch: list[Waiting] = []
        sentences = 0
        while self.waiting and len(batch) < self.settings.batch_texts:
            one = self.waiting[0]
            long, many = len(one.document) > LONG, sentences + len(one.document) > self.settings.batch_sentences
            if (batch and (one.model is not batch[0].model or long or many)) or (short and long):
                break
            self.waiting.popleft()
            if one.found.cancelled():
                continue
            batch.append(one)
            sentences += len(one.document)
            if long:
                break
        self._changed()
        return batch

    async def _score(self, batch: list[Waiting]) -> None:
        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._thread, _scores, batch)
        self.metrics.scored(len(batch), sum(len(one.document) for one in batch), time.perf_counter() - started)
        for one, result in zip(batch, found, strict=True):
            if one.found.cancelled():
                continue
            if isinstance(result, Score):
                one.found.set_result(result)
            else:
                one.found.set_exception(result)


def _step(steps: Steps[None], lock: threading.Lock) -> bool:
    """Take a step and return whether there was one."""
    with lock, few_threads():
        return next(steps, END) is not END


def _scores(batch: list[Waiting]) -> list[Score | Exception]:
    """Return the scores of a batch; if it fails, each text is scored by itself, so that only the bad one fails."""
    model, lock = batch[0].model, batch[0].lock
    with lock:
        try:
            return list(model.score_batch([one.document for one in batch], [one.genre for one in batch]))
        except Exception as error:
            if len(batch) == 1:
                return [error]
    return [_scores([one])[0] for one in batch]
