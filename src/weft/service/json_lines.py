"""Streams of JSON lines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from weft.errors import WeftError
from weft.service.bodies.problems import ServiceError, problem_of

MEDIA_TYPE = "application/x-ndjson"
UNREAD_SECONDS = 1.0  # how long the rest of a body is read if the answer ends before it


async def lines_response(items: AsyncIterator[BaseModel]) -> Response:
    """Return a response that sends each item as soon as it is there.

    An error before the first item is raised, and gets a response of its own. A later one is the last line: the status
    of the response has been sent by then.
    """
    first = await anext(items, None)
    return StreamingResponse(_lines(first, items), media_type=MEDIA_TYPE)


async def _lines(first: BaseModel | None, rest: AsyncIterator[BaseModel]) -> AsyncIterator[bytes]:
    if first is None:
        return
    yield _line(first)
    try:
        async for item in rest:
            yield _line(item)
    except WeftError as error:
        yield _line(problem_of(error))


def _line(item: BaseModel) -> bytes:
    return item.model_dump_json().encode() + b"\n"


class TwoWayLines(Response):
    """A response that is sent while the body of the request still arrives.

    Starlette's StreamingResponse would read the body itself, in search of the end of the connection.

    Args:
        results: Makes an iterator over results of one over the parts of the body.
        patience: Seconds that the next part of the body may take.
    """

    media_type = MEDIA_TYPE

    def __init__(self, results: Callable[[AsyncIterator[bytes]], AsyncIterator[BaseModel]], patience: float) -> None:
        super().__init__()
        del self.headers["content-length"]
        self.results, self.patience = results, patience
        self.all_read = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the results until there are no more, or until the client has gone."""
        chunks: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=4)
        reading = asyncio.create_task(_read(receive, chunks))
        writing = asyncio.create_task(self._write(chunks, send))
        try:
            await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                writing.result()
        finally:
            reading.cancel()
            writing.cancel()

    async def _write(self, chunks: asyncio.Queue[bytes | None], send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for item in self.results(self._parts(chunks)):
            await send({"type": "http.response.body", "body": _line(item), "more_body": True})
        # A connection that is closed while the client sends loses what the client has not read yet.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(UNREAD_SECONDS):
                while not self.all_read:
                    self.all_read = await chunks.get() is None
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _parts(self, chunks: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
        while True:
            try:
                chunk = await asyncio.wait_for(chunks.get(), self.patience)
            except TimeoutError:
                raise ServiceError(
                    408, "slow-body", "the rest of the request did not arrive in time", seen="an open request",
                    allowed=f"{self.patience:g} seconds between two parts", next_step="send the rest again",
                ) from None  # fmt: skip
            if chunk is None:
                self.all_read = True
                return
            yield chunk


async def _read(receive: Receive, chunks: asyncio.Queue[bytes | None]) -> None:
    """Pass on the parts of a body, then wait; return when the client has closed the connection."""
    while (message := await receive())["type"] != "http.disconnect":
        await chunks.put(message.get("body", b""))
        if not message.get("more_body", False):
            await chunks.put(None)
