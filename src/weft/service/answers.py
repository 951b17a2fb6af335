"""How a request is answered: in time, only while its client listens and the service does not stop, and as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from weft.service.bodies.problems import ServiceError

Found = TypeVar("Found")
MARGIN = 0.1  # share of the time of the end that is left to send the last answers


async def answered(request: Request, work: Coroutine[Any, Any, Found], seconds: float) -> Found:
    """Return what some work returns; it is cancelled if it takes too long or if the client goes away.

    Raises:
        ServiceError: It took too long (503), or nobody waits for the answer (499).
    """
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            raise ServiceError(499, "client-gone", "the client has closed the connection")
        raise ServiceError(
            503, "time-out", "the request took too long", seen=f"more than {seconds:g} seconds",
            allowed=f"{seconds:g} seconds", next_step="send shorter texts, or fewer of them in a request",
            retry_after=1,
        )  # fmt: skip
    finally:
        task.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def json_response(body: str | BaseModel) -> Response:
    """Return a response of JSON."""
    text = body if isinstance(body, str) else body.model_dump_json()
    return Response(text, media_type="application/json")


class Stopping:
    """Whether the service has been asked to stop, for those who answer requests.

    Args:
        seconds: Time in which requests may finish.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds * (1 - MARGIN)
        self.begun = asyncio.Event()
        self._end: float | None = None
        self._limits: set[asyncio.Timeout] = set()

    def begin(self) -> None:
        """Let streams end, and limit the time of all other requests; call it in the event loop."""
        if not self.begun.is_set():
            self.begun.set()
            self._end = asyncio.get_running_loop().time() + self.seconds
            for limit in self._limits:
                limit.reschedule(self._end)

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Run a block, which has no limit until the service stops.

        Raises:
            ServiceError: The service was stopped, and its time is over (503).
        """
        limit = asyncio.timeout_at(self._end)
        try:
            async with limit:
                self._limits.add(limit)
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise stopping_error("the request takes longer than the service may") from None
        finally:
            self._limits.discard(limit)

    async def unless_begun(self, work: Coroutine[Any, Any, Found] | asyncio.Task[Found]) -> Found:
        """Return what some work returns; it is cancelled if the service stops before it is done.

        Raises:
            ServiceError: The service was asked to stop (503).
        """
        task = asyncio.ensure_future(work)
        begun = asyncio.create_task(self.begun.wait())
        try:
            await asyncio.wait({task, begun}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise stopping_error()
            return task.result()
        finally:
            begun.cancel()
            task.cancel()


def stopping_error(seen: str | None = None, next_step: str = "send the request again later") -> ServiceError:
    """Return the error of a request that comes too late, or that is not finished."""
    return ServiceError(
        503, "stopping", "the service is stopping", seen=seen, allowed="requests to a running service",
        next_step=next_step, retry_after=5,
    )  # fmt: skip
