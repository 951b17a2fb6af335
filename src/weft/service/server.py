"""Runs the application with uvicorn."""

from __future__ import annotations

import asyncio
import copy
import errno
import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import Any

import h11
import uvicorn
import uvicorn.config
from uvicorn.protocols.http.h11_impl import H11Protocol

from weft.errors import ConfigError
from weft.models.common.thread_pool import few_threads
from weft.service.app import create_app
from weft.service.bodies.problems import MEDIA_TYPE, ServiceError, problem_response
from weft.service.engine import Engine
from weft.service.process_memory import share_arenas
from weft.service.settings import ServiceSettings

LOCAL = ("localhost", "127.0.0.1", "[::1]")
UNREAD_SECONDS = 1.0  # a client that reads nothing for so long does not delay the end of the service


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 takes a free one.

    Raises:
        ConfigError: The address is in use or not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, UnicodeError) as error:
        found.close()
        raise ConfigError(
            "cannot listen on this address",
            seen=f"{host} port {port}: {getattr(error, 'strerror', '') or error}",
            allowed="an address of this machine and a free port",
            next_step=_next_step(error),
        ) from error
    return found


def _next_step(error: OSError | UnicodeError) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return "give another --port, or --port 0 for any free one"
    if isinstance(error, PermissionError):
        return "give a --port from 1024 on"
    return "omit --host to serve this machine alone, or give 0.0.0.0 for all addresses of this machine"


def names_of(host: str, further: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names that requests may use for a service on an address; none, which allows all, for other machines.

    Args:
        host: The address that the service listens on.
        further: Names that a proxy passes on; with ``*``, all names are allowed.

    Example:
        >>> names_of("127.0.0.1", ["weft.example.org"]), names_of("0.0.0.0")
        (('localhost', '127.0.0.1', '[::1]', 'weft.example.org'), ())
    """
    if "*" in further or not (further or is_loopback(host)):
        return ()
    own = f"[{host}]" if ":" in host else host
    return tuple(dict.fromkeys((*LOCAL, *(() if own == "0.0.0.0" else (own.lower(),)), *map(str.lower, further))))


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine reach an address.

    Example:
        >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "example.org")]
        [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class HttpConnection(H11Protocol):
    """A connection of uvicorn that answers a request which cannot be read with a problem too (RFC 9457)."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer a request that is not HTTP, then close the connection; such a request never reaches the application.

        Args:
            msg: What uvicorn would answer as plain text.
        """
        error = ServiceError(
            400, "not-http", "the request cannot be read as HTTP",
            allowed="requests in HTTP/1.1, with the header Host",
            next_step="send the whole request with a library for HTTP, or with curl",
        )  # fmt: skip
        problem = problem_response(error)
        body = bytes(problem.body)
        headers = [
            ("content-type", MEDIA_TYPE), ("content-length", str(len(body))), ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"), ("connection", "close"),
        ]  # fmt: skip
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """uvicorn that tells the requests when it stops, and meanwhile closes connections whose clients do not read.

    Without this, an endless stream, or an answer that nobody reads, would keep the process alive until the time for its
    end is over, and end with a traceback in the log.

    Args:
        config: The configuration of uvicorn.
        told: Called in the event loop when the server begins to stop.
    """

    def __init__(self, config: uvicorn.Config, told: Callable[[], None]) -> None:
        super().__init__(config)
        self.told = told

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; answers that are being read are finished first."""
        self.told()
        watching = asyncio.create_task(self._close_unread())
        try:
            await super().shutdown(sockets)
        finally:
            watching.cancel()

    async def _close_unread(self) -> None:
        """Close each connection from which nothing was read for `UNREAD_SECONDS`, although something is to be read."""
        unread: dict[asyncio.Transport, int] = {}
        while True:
            transports = [connection.transport for connection in self.server_state.connections]
            waiting = {one: size for one in transports if (size := one.get_write_buffer_size())}
            for transport in (one for one, size in waiting.items() if unread.get(one) == size):
                transport.abort()
            unread = waiting
            await asyncio.sleep(UNREAD_SECONDS)


def run(settings: ServiceSettings, host: str, port: int, told: Callable[[str], None], *, verbose: bool = False) -> None:
    """Serve until the process gets SIGINT or SIGTERM; requests in progress are finished first.

    Args:
        settings: The settings of the service.
        host: Address to listen on.
        port: Port; 0 for a free one.
        told: Receives the address of the service when it can be used.
        verbose: Whether to log a line for each request.

    Raises:
        WeftError: A model cannot be loaded, or the address cannot be used.
    """
    share_arenas()
    listening = listening_socket(host, port)
    engine = Engine(settings)
    engine.load()
    server = Server(server_config(create_app(settings, engine), settings, verbose=verbose), engine.begin_to_stop)
    name = f"[{host}]" if ":" in host else host
    told(f"http://{name}:{listening.getsockname()[1]}/")
    # OpenBLAS takes a limit of its threads only from the main thread. Set by the threads that compute, it has no
    # effect, and a short text costs ten times the work.
    with listening, few_threads():
        server.run(sockets=[listening])


def server_config(app: Any, settings: ServiceSettings, *, verbose: bool = False) -> uvicorn.Config:
    """Return the configuration of uvicorn: no access log, which would have paths and queries as given."""
    logs = copy.deepcopy(uvicorn.config.LOGGING_CONFIG)
    logs["loggers"]["weft.service"] = {
        "handlers": ["default"], "level": "INFO" if verbose else "WARNING", "propagate": False,
    }  # fmt: skip
    logs["loggers"]["uvicorn.access"] = {"handlers": [], "level": "CRITICAL", "propagate": False}
    return uvicorn.Config(
        app,
        http=HttpConnection,
        access_log=False,
        log_level="info" if verbose else "warning",
        log_config=logs,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=round(settings.shutdown_seconds),
        lifespan="on",
    )
