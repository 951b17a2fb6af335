"""How a request is answered: in time, only while its client listens, and as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from weft.service.bodies.problems import ServiceError

Found = TypeVar("Found")


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
