"""What is wrong with a request whose body is not read: its path, its method, its type of content, its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from email.message import Message

from starlette.exceptions import HTTPException
from starlette.requests import Request

from weft.errors import closest_name, shortened
from weft.service.bodies.problems import TITLES, ServiceError
from weft.service.bodies.wrong_requests import BODIES

READ = ("/v1/models", "/healthz", "/readyz", "/metrics")
PATHS = (*BODIES, *READ, "/openapi.json", "/")
HEALTH = ("/healthz", "/readyz")  # checks of health send HEAD too
ALIKE = 0.8  # similarity of a path to one that it may be meant for; most paths begin alike
CHARSETS = ("utf-8", "utf8", "us-ascii")
OBJECT = 'a JSON object in UTF-8, such as {"text": "It rained. He slept."}'


def methods_of(path: str) -> str:
    """Return the methods of a path, as in the header `Allow`.

    Example:
        >>> methods_of("/v1/score"), methods_of("/metrics"), methods_of("/healthz")
        ('POST', 'GET', 'GET, HEAD')
    """
    return "POST" if path in BODIES else "GET" if path in READ and path not in HEALTH else "GET, HEAD"


def framework_error(request: Request, error: HTTPException) -> ServiceError:
    """Return an error of the framework as one of the service."""
    status, path = error.status_code, shortened(request.url.path, 100)
    title = TITLES.get(status, "request cannot be processed")
    code = title.replace(" ", "-")
    if status == 400:
        return _unreadable_body(error)
    if status == 405:
        allowed = methods_of(path)
        next_step = f"send it with {allowed.replace(', ', ' or ')}"
        return ServiceError(405, code, title, seen=f"{request.method} {path}", allowed=allowed, next_step=next_step)
    if status == 404:
        close = closest_name(path, PATHS, cutoff=ALIKE)
        next_step = f"did you mean {close}?" if close else "correct the path"
        return ServiceError(404, code, title, seen=path, allowed=", ".join(PATHS), next_step=next_step)
    return ServiceError(status, code, title, seen=f"{request.method} {path}", allowed="requests as in /openapi.json")


def _unreadable_body(error: HTTPException) -> ServiceError:
    title = TITLES[400]
    code = title.replace(" ", "-")
    if isinstance(error.__cause__, RecursionError):
        return ServiceError(
            400, code, "the JSON of the body is nested too deeply", seen="brackets inside hundreds of others",
            allowed=OBJECT, next_step="send the texts in `text` or `texts`, without further nesting",
        )  # fmt: skip
    seen = "bytes that are not UTF-8" if isinstance(error.__cause__, UnicodeDecodeError) else None
    return ServiceError(400, code, title, seen=seen, allowed=OBJECT, next_step="send the body as JSON in UTF-8")


def wrong_type_of_content(kind: str) -> ServiceError:
    """Return the error of a body that is not sent as JSON."""
    return ServiceError(
        415, "wrong-content-type", TITLES[415], seen=f"Content-Type: {kind}" if kind else "no header Content-Type",
        allowed="Content-Type: application/json",
        next_step="send the header `Content-Type: application/json` (curl: --json instead of --data)",
    )  # fmt: skip


def check_encoding(headers: Mapping[str, str]) -> None:
    """Raise ServiceError (415) if a body is compressed, or its header names another encoding than UTF-8."""
    coding = headers.get("content-encoding", "").strip()
    if coding.lower() not in ("", "identity"):
        raise ServiceError(
            415, "content-encoding", "the body is compressed", seen=f"Content-Encoding: {shortened(coding, 60)}",
            allowed="a body without Content-Encoding", next_step="send the body without compression",
        )  # fmt: skip
    kind = Message()
    kind["content-type"] = headers.get("content-type", "")
    charset = str(kind.get_param("charset", ""))
    if charset and charset.lower() not in CHARSETS:
        raise ServiceError(
            415, "charset", "the body is not sent in UTF-8", seen=f"charset={shortened(charset, 60)}",
            allowed="charset=utf-8", next_step="send the body in UTF-8, without another charset in Content-Type",
        )  # fmt: skip


def is_json(kind: str) -> bool:
    """Return whether a body of this type of content is read as JSON, as FastAPI decides it.

    Example:
        >>> [is_json(kind) for kind in ("application/json; charset=utf-8", "application/problem+json", "text/json", "")]
        [True, True, False, False]
    """
    kind, _, subtype = kind.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))
