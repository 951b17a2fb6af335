"""Streams of JSON lines."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from weft.errors import WeftError
from weft.service.problems import problem_of

log = logging.getLogger("weft.service")
MEDIA_TYPE = "application/x-ndjson"


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
