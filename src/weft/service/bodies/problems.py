"""Errors as problem details (RFC 9457): the four parts of every error of weft, a status and a code."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

from weft.errors import MOST_ALLOWED, WeftError, shortened, with_fields

MEDIA_TYPE = "application/problem+json"
TITLES = {
    400: "body that cannot be read",
    401: "not allowed",
    404: "not found",
    405: "method not allowed",
    408: "request timeout",
    413: "body too large",
    415: "body not sent as JSON",
    422: "request cannot be processed",
    429: "too many requests",
    500: "internal error",
    503: "service unavailable",
}


class Problem(BaseModel):
    """What a response with a status of 400 or more contains (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "urn:weft:problem:too-many-sentences",
                "title": "the text has too many sentences",
                "status": 422,
                "detail": "the text has too many sentences: saw 2400 sentences; allowed: up to 2000 sentences; "
                "next: split the text into sections",
                "seen": "2400 sentences",
                "allowed": "up to 2000 sentences",
                "next_step": "split the text into sections",
            }
        }
    )

    type: str = Field(description="`urn:weft:problem:` and a stable code, such as `queue-full`.")
    title: str = Field(description="What was wrong.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="The whole message on one line.")
    seen: str | None = Field(None, description="The value seen, shortened.")
    allowed: str | None = Field(None, description="What is allowed.")
    next_step: str | None = Field(None, description="What to do.")


class LineProblem(Problem):
    """What a stream of JSON lines contains instead of the result of a line, or at its end."""

    line: int = Field(description="Number of the line of the request, from 1.")


class ServiceError(WeftError):
    """An error with the status of its response.

    Args:
        status: HTTP status.
        code: Stable name of the reason.
        what: What was wrong.
        seen: The value seen.
        allowed: What is accepted.
        next_step: What the caller can do.
        retry_after: Seconds after which the same request may succeed.

    Example:
        >>> ServiceError(429, "queue-full", "the queue is full", retry_after=1).status
        429
    """

    def __init__(
        self,
        status: int,
        code: str,
        what: str,
        *,
        seen: object = None,
        allowed: str | None = None,
        next_step: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(what, seen=seen, allowed=allowed, next_step=next_step)
        self.status, self.code, self.retry_after = status, code, retry_after


def problem_of(error: WeftError) -> Problem:
    """Return an error as a problem; an error of the library is one of the request (422)."""
    status, code = (error.status, error.code) if isinstance(error, ServiceError) else (422, "invalid-request")
    title = with_fields(shortened(error.what))
    seen = None if error.seen is None else _without_surrogates(shortened(_in_json(error.seen)))
    allowed = None if error.allowed is None else with_fields(error.allowed)
    next_step = None if error.next_step is None else with_fields(error.next_step)
    parts = (
        seen and f"saw {seen}",
        allowed and f"allowed: {shortened(allowed, MOST_ALLOWED)}",
        next_step and f"next: {shortened(next_step)}",
    )
    tail = "; ".join(part for part in parts if part)
    return Problem(
        type=f"urn:weft:problem:{code}",
        title=title,
        status=status,
        detail=_without_surrogates(" ".join(f"{title}: {tail}".split()) if tail else title),
        seen=seen,
        allowed=allowed,
        next_step=next_step,
    )


def _in_json(value: object) -> str:
    """Return a value as a client wrote it: words as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _without_surrogates(text: str) -> str:
    """Return a text that can be encoded: half a surrogate pair is written as an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def problem_response(error: WeftError) -> JSONResponse:
    """Return the response for an error."""
    problem = problem_of(error)
    headers: dict[str, Any] = {}
    if isinstance(error, ServiceError) and error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(problem.model_dump(), problem.status, headers, MEDIA_TYPE)
