"""What surrounds every request: key, size of the body, headers, metrics, and one line in the log without any text."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.errors import WeftError
from weft.service.answers import Stopping
from weft.service.bodies.problems import ServiceError, problem_response
from weft.service.bodies.unread_requests import check_encoding
from weft.service.bodies.wrong_requests import BODIES
from weft.service.metrics import Metrics
from weft.service.settings import ServiceSettings

log = logging.getLogger("weft.service")

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")  # another one is the client's own words
PROTECTED = ("/v1/", "/metrics")  # paths that need the key; the page and the checks of health need none
STREAMS = ("/v1/score/stream",)  # read their body themselves
DRAINED = 16  # a body that is too large is read up to so many times the limit, so that the client reads the answer
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """ASGI middleware around all routes.

    Args:
        app: The application inside.
        settings: The settings of the service.
        metrics: Counts requests.
        stopping: Limits the time of requests when the service stops.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, metrics: Metrics, stopping: Stopping) -> None:
        self.app, self.settings, self.metrics, self.stopping = app, settings, metrics, stopping
        self.running = 0  # requests that are being answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens inside."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *_headers(scope["path"])]}
            await send(message)

        self.running += 1
        self.metrics.running.set(self.running)
        try:
            async with self.stopping.limited():
                await self._answer(scope, receive, send_guarded)
        except WeftError as error:
            if not status:
                await problem_response(error)(scope, receive, send_guarded)
        except Exception as error:
            _log_failure(error)
            if not status:
                await problem_response(_internal_error())(scope, receive, send_guarded)
        finally:
            self.running -= 1
            self.metrics.running.set(self.running)
            self._count(scope, status, time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["path"]
        if self.settings.hosts and not self.settings.api_key:
            _check_host(headers.get("host", ""), self.settings.hosts)
        if path.startswith("/v1/"):
            self._check_room()
        if self.settings.api_key and path.startswith(PROTECTED):
            _check_key(headers, self.settings.api_key)
        if scope["method"] in ("POST", "PUT", "PATCH", "DELETE") and path not in STREAMS:
            receive = await _read_body(headers, receive, self.settings)
        if path in BODIES:
            check_encoding(headers)
        await self.app(scope, receive, send)

    def _check_room(self) -> None:
        """Raise ServiceError (429) if too many requests are being answered; each may hold a large body in memory."""
        if self.running > self.settings.requests:
            raise ServiceError(
                429, "queue-full", "too many requests at a time", seen=f"{self.running} requests",
                allowed=f"up to {self.settings.requests} requests", retry_after=1,
                next_step="send the request again after the time in Retry-After",
            )  # fmt: skip

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope["route"].path if "route" in scope else "other"
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.requests.labels(route, method, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        # Neither the path nor the query as given: someone may have put a text there.
        log.info("%s %s %s %.0f ms", method, route, status, 1000 * seconds)


def _headers(path: str) -> list[tuple[bytes, bytes]]:
    cache = "no-store" if path.startswith(PROTECTED) else "no-cache"
    return [(name.encode(), value.encode()) for name, value in {**SECURITY, "cache-control": cache}.items()]


def _check_host(given: str, hosts: Sequence[str]) -> None:
    """Raise ServiceError (400) unless a request uses one of the names of the service."""
    name = re.sub(r":\d*$", "", given).lower()
    if not any(name == host or (host.startswith("*.") and name.endswith(host[1:])) for host in hosts):
        raise ServiceError(
            400, "wrong-host", "the request uses another name for the service", seen=given, allowed=", ".join(hosts),
            next_step="use one of these names in the address, or start the service with --allow-host NAME",
        )  # fmt: skip


def _check_key(headers: Mapping[str, str], key: str) -> None:
    """Raise ServiceError (401) unless the request has the key, compared in constant time."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = bearer.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    if not secrets.compare_digest(given.encode("latin-1"), key.encode()):
        raise ServiceError(
            401, "wrong-key", "the request has no valid key", seen="no key" if not given else "another key",
            allowed="the key that the service was started with",
            next_step="send it in the header `Authorization: Bearer KEY`",
        )  # fmt: skip


async def _read_body(headers: Mapping[str, str], receive: Receive, settings: ServiceSettings) -> Receive:
    """Return a `receive` that gives the whole body, which is in memory then.

    Raises:
        ServiceError: The body is too large (413), or takes too long to arrive (408).
    """
    body, size, limit = bytearray(), 0, settings.body_bytes
    try:
        async with asyncio.timeout(settings.request_seconds):
            while size <= DRAINED * limit:
                message = await receive()
                if message["type"] == "http.disconnect":
                    break
                chunk = message.get("body", b"")
                size += len(chunk)
                if size <= limit:
                    body += chunk
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise ServiceError(
            408, "slow-body", "the body of the request did not arrive in time", seen=f"{size} bytes",
            allowed=f"{settings.request_seconds:g} seconds", next_step="send the request again",
        ) from None  # fmt: skip
    if size > limit:
        seen = f"{headers.get('content-length') or f'at least {size}'} bytes"
        raise ServiceError(
            413, "body-too-large", "the body of the request is too large", seen=seen, allowed=f"up to {limit} bytes",
            next_step="send fewer texts in a request, or JSON lines to /v1/score/stream",
        )  # fmt: skip
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    return replay


def _internal_error() -> ServiceError:
    return ServiceError(
        500, "internal-error", "the service made a mistake", allowed="any request",
        next_step="send the request again; if it fails again, report the request and the log of the service",
    )  # fmt: skip


def _log_failure(error: Exception) -> None:
    """Log where an error was raised; its message may quote a text, so it is not logged."""
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    log.error("%s at %s", type(error).__name__, places)
