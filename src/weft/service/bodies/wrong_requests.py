"""What is wrong with a request that does not fit its description, in words for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.errors import shortened
from weft.service.bodies.problems import ServiceError
from weft.service.bodies.request_bodies import (
    CompareRequest,
    GenerateRequest,
    OrderRequest,
    ScoreRequest,
    StreamOptions,
    TextBody,
)

BODIES = (ScoreRequest, OrderRequest, GenerateRequest, CompareRequest, StreamOptions, TextBody)
FIELDS = frozenset(name for body in BODIES for name in body.model_fields)
TEXT = "a string, or an object with `text` or `sentences`"
ALLOWED = {
    "missing": "a value for every field that is needed",
    "extra_forbidden": "the fields in /openapi.json",
    "json_invalid": "a JSON object in UTF-8",
    "model_type": TEXT,
    "model_attributes_type": "a JSON object",
    "string_type": "a string",
    "list_type": "a list",
}
Found = Mapping[str, Any]  # an error of pydantic


def wrong_request(errors: Sequence[Found]) -> ServiceError:
    """Return the error (422) of a request, from what pydantic found in it; the first element of a place is left out.

    Example:
        >>> found = {"type": "string_type", "loc": ("body", "text", "str"), "msg": "", "input": 1}
        >>> print(wrong_request([found]))
        wrong value of `text`: saw '1'; allowed: a string; next: see the description in /openapi.json
    """
    error = _most_telling([{**one, "loc": one["loc"][1:]} for one in errors])
    return _problem(error, _what(error, "the body of the request is wrong"), "see the description in /openapi.json")


def wrong_line(errors: Sequence[Found]) -> ServiceError:
    """Return the error (422) of a line of a stream, from what pydantic found in it."""
    error = _most_telling(errors)
    next_step = 'write a string, or an object such as {"id": "a", "text": "It rained. He slept."}, on each line'
    return _problem(error, _what(error, "the line is not a text"), next_step)


def _problem(error: Found, what: str, next_step: str) -> ServiceError:
    nothing = error["type"] in ("missing", "json_invalid")
    seen = None if nothing else shortened(repr(error.get("input")), 100)
    plain = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    allowed = ALLOWED.get(error["type"], plain)
    return ServiceError(422, "invalid-request", what, seen=seen, allowed=allowed, next_step=next_step)


def _most_telling(errors: Sequence[Found]) -> Found:
    """Return the error that lies deepest in the body: of a value of several types, each type has errors of its own."""
    real = [one for one in errors if one["type"] != "none_required"] or errors
    return max(real, key=lambda one: (len(_place(one)), one["type"] != "string_type"))


def _place(error: Found) -> list[int | str]:
    """Return the fields and numbers that lead to an error, without pydantic's names of types."""
    *inner, last = error["loc"] or ("",)
    own = error["type"] == "extra_forbidden"  # the client's name
    return [part for part in inner if _is_place(part)] + [part for part in (last,) if own or _is_place(part)]


def _is_place(part: int | str) -> bool:
    return isinstance(part, int) or part in FIELDS


def _what(error: Found, otherwise: str) -> str:
    if error["type"] == "json_invalid":
        return "the body is not JSON"
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in _place(error)).removeprefix(".")
    if not place:
        return otherwise
    if error["type"] == "missing":
        return f"`{shortened(place, 60)}` is missing"
    if error["type"] == "extra_forbidden":
        return f"unknown field `{shortened(place, 60)}`"
    return f"wrong value of `{place}`"
