"""What is wrong with a request that does not fit its description, in words for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from weft.errors import closest_name, shortened
from weft.service.bodies.problems import ServiceError
from weft.service.bodies.request_bodies import (
    CompareRequest,
    GenerateRequest,
    OrderRequest,
    ScoreRequest,
    StreamOptions,
    TextBody,
)

BODIES: Mapping[str, type[BaseModel]] = {
    "/v1/score": ScoreRequest,
    "/v1/score/stream": StreamOptions,
    "/v1/order": OrderRequest,
    "/v1/generate": GenerateRequest,
    "/v1/generate/stream": GenerateRequest,
    "/v1/compare": CompareRequest,
}
OBJECTS: tuple[type[BaseModel], ...] = (*BODIES.values(), TextBody)
FIELDS = frozenset(name for body in OBJECTS for name in body.model_fields)
TEXTS = ("text", "texts", "first", "second")  # fields with a text: a string or an object
TEXT = "a string, or an object with `text` or `sentences`"
TYPES = {"string_type": "a string", "list_type": "a list", "bool_type": "true or false", "int_type": "a whole number"}
OF_OBJECTS = ("model_type", "model_attributes_type", "dict_type")
Found = Mapping[str, Any]  # an error of pydantic
Place = list[int | str]


def wrong_request(errors: Sequence[Found], path: str = "/v1/score") -> ServiceError:
    """Return the error (422) of a request, from what pydantic found in it; the first element of a place is left out.

    Args:
        errors: What pydantic found.
        path: Path of the request, which tells its fields.

    Example:
        >>> found = {"type": "extra_forbidden", "loc": ("body", "txt"), "msg": "", "input": 1}
        >>> print(wrong_request([found]).next_step)
        did you mean `text`?
    """
    body = BODIES.get(path, ScoreRequest)
    error = _most_telling([{**one, "loc": one["loc"][1:]} for one in errors])
    return _problem(error, body, "the body of the request is wrong")


def wrong_line(errors: Sequence[Found]) -> ServiceError:
    """Return the error (422) of a line of a stream, from what pydantic found in it."""
    return _problem(_most_telling(errors), TextBody, "the line is not a text")


def _problem(error: Found, body: type[BaseModel], otherwise: str) -> ServiceError:
    place, kind = _place(error), error["type"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
    known = body if len(place) <= 1 else TextBody
    nothing = kind in ("missing", "json_invalid")
    seen = None if nothing else shortened(json.dumps(error.get("input"), ensure_ascii=False, default=str), 100)
    what, allowed, next_step = _words(error, shortened(name, 60), known, otherwise)
    return ServiceError(422, "invalid-request", what, seen=seen, allowed=allowed, next_step=next_step)


def _words(error: Found, name: str, body: type[BaseModel], otherwise: str) -> tuple[str, str, str]:
    """Return what is wrong, what is allowed, and the next step."""
    kind, place = error["type"], _place(error)
    fields, example = _listed(body.model_fields), _example(body)
    if kind == "json_invalid":
        part = "line" if body is TextBody else "body"
        if "recursion" in str(error.get("ctx") or error["msg"]):
            return f"the JSON of the {part} is nested too deeply", example, "send it without further nesting"
        what = f"the {part} is not JSON"
        return (
            what,
            example,
            "correct it: names and strings stand in double quotes, and nothing follows the last bracket",
        )
    if not name:
        if kind == "missing":
            return "the request has no body", example, "send one"
        return otherwise, _allowed(error, place, example), f"the fields are {fields}"
    if kind == "missing":
        return f"`{name}` is missing", fields, f"add `{name}`"
    if kind == "extra_forbidden":
        close = closest_name(place[-1], body.model_fields)
        return f"unknown field `{name}`", fields, f"did you mean `{close}`?" if close else f"remove `{name}`"
    return f"wrong value of `{name}`", _allowed(error, place, example), f"correct `{name}`"


def _allowed(error: Found, place: Place, example: str) -> str:
    """Return which values a place may have."""
    kind = error["type"]
    if kind == "list_type" and place == ["texts"]:
        return f"a list; each entry is {TEXT}"
    if kind in (*OF_OBJECTS, "string_type") and _field(place) in TEXTS:
        return TEXT
    if kind in OF_OBJECTS:
        return example
    return TYPES.get(kind) or _plain(str(error["msg"]))


def _plain(message: str) -> str:
    """Return what pydantic allows, in plain words."""
    message = message.removeprefix("Value error, ").removeprefix("Input should be ")
    words = {"greater than or equal to": "at least", "less than or equal to": "at most", "greater than": "above"}
    for phrase, plain in words.items():
        message = message.replace(phrase, plain)
    return message


def _field(place: Place) -> str:
    """Return the field of a place in which a whole text is expected; empty for another place."""
    names = [part for part in place if isinstance(part, str)]
    return names[0] if len(names) == 1 else ""


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _example(body: type[BaseModel]) -> str:
    if body is CompareRequest:
        return 'a JSON object such as {"first": "It rained. He slept.", "second": "It rained. He woke."}'
    if body is TextBody:
        return 'a JSON string, or an object such as {"id": "a", "text": "It rained. He slept."}'
    return 'a JSON object such as {"text": "It rained. He slept."}'


def _most_telling(errors: Sequence[Found]) -> Found:
    """Return the error that lies deepest in the body: of a value of several types, each type has errors of its own."""
    real = [one for one in errors if one["type"] != "none_required"] or errors
    ranks = {"string_type": 0, "extra_forbidden": 2}  # an unknown field may be the missing one, misspelt
    return max(real, key=lambda one: (len(_place(one)), ranks.get(one["type"], 1)))


def _place(error: Found) -> Place:
    """Return the fields and numbers that lead to an error, without pydantic's names of types."""
    *inner, last = error["loc"] or ("",)
    own = error["type"] == "extra_forbidden"  # the client's name
    return [part for part in inner if _is_place(part)] + [part for part in (last,) if own or _is_place(part)]


def _is_place(part: int | str) -> bool:
    return isinstance(part, int) or part in FIELDS
