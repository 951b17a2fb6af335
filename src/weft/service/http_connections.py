"""HTTP connections whose answer to a request that cannot be read is a problem too (RFC 9457)."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from weft.service.bodies.problems import MEDIA_TYPE, ServiceError, problem_response


class HttpConnection(H11Protocol):
    """A connection of uvicorn."""

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
