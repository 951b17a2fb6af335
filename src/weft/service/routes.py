"""The paths of the service."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from weft.service import operations
from weft.service.answers import answered, json_response
from weft.service.bodies.problems import TITLES, ServiceError
from weft.service.bodies.request_bodies import (
    CompareRequest,
    GenerateRequest,
    OrderRequest,
    ScoreRequest,
    StreamOptions,
)
from weft.service.bodies.response_bodies import (
    CompareResponse,
    GenerateResponse,
    Health,
    ModelsResponse,
    OrderResponse,
    ScoreResponse,
)
from weft.service.engine import Engine
from weft.service.json_lines import MEDIA_TYPE as LINES
from weft.service.json_lines import TwoWayLines, lines_response
from weft.service.score_stream import ScoreStream

Responses = dict[int | str, dict[str, Any]]
PROBLEMS: Responses = {
    status: {"description": TITLES[status]} for status in (400, 401, 408, 413, 415, 422, 429, 500, 503)
}
STREAM_BODY = {
    "description": "One text per line: a JSON string, or an object as in `texts` of /v1/score.",
    "content": {LINES: {"schema": {"type": "string"}, "example": '"Bees visit flowers. They drink nectar."\n'}},
}
UNAVAILABLE: Responses = {503: {"description": TITLES[503]}}


def routes_of(engine: Engine) -> APIRouter:
    """Return the routes, which compute with the models of an engine."""
    router = APIRouter()
    seconds = engine.settings.request_seconds

    @router.post("/v1/score", response_model=ScoreResponse, responses=PROBLEMS, operation_id="score", tags=["texts"])
    async def score(body: ScoreRequest, request: Request) -> Response:
        """Score how well the sentences of texts fit together; higher is more coherent."""
        return json_response(await answered(request, operations.score(engine, body), seconds))

    @router.post(
        "/v1/score/stream", response_class=Response, responses=PROBLEMS | _lines_of("ScoreBody", "LineProblem"),
        operation_id="score_stream", tags=["texts"], openapi_extra={"requestBody": STREAM_BODY},
    )  # fmt: skip
    async def score_stream(options: Annotated[StreamOptions, Query()]) -> Response:
        """Score any number of texts, one JSON line each: a string, or an object as in `texts` of /v1/score.

        Each score, or the problem of a line, is a JSON line that is sent as soon as it is known, in the order of the
        request.
        """
        return TwoWayLines(ScoreStream.of(engine, options).results, seconds)

    @router.post("/v1/order", response_model=OrderResponse, responses=PROBLEMS, operation_id="order", tags=["texts"])
    async def order(body: OrderRequest, request: Request) -> Response:
        """Put the sentences of texts into the most coherent order."""
        return json_response(await answered(request, operations.order(engine, body), seconds))

    @router.post(
        "/v1/generate", response_model=GenerateResponse, responses=PROBLEMS, operation_id="generate", tags=["texts"]
    )
    async def generate(body: GenerateRequest, request: Request) -> Response:
        """Continue texts, sentence by sentence."""
        return json_response(await answered(request, operations.generate(engine, body), seconds))

    @router.post(
        "/v1/generate/stream", response_class=Response, responses=PROBLEMS | _lines_of("WrittenSentence", "Problem"),
        operation_id="generate_stream", tags=["texts"],
    )  # fmt: skip
    async def generate_stream(body: GenerateRequest, request: Request) -> Response:
        """Continue texts; each new sentence is a JSON line that is sent as soon as it is written."""
        return await answered(request, lines_response(operations.generate_stream(engine, body)), seconds)

    @router.post(
        "/v1/compare", response_model=CompareResponse, responses=PROBLEMS, operation_id="compare", tags=["texts"]
    )
    async def compare(body: CompareRequest, request: Request) -> Response:
        """Compare two versions of a text: which sentences changed, and what that did to each transition."""
        return json_response(await answered(request, operations.compare(engine, body), seconds))

    @router.get(
        "/v1/models", response_model=ModelsResponse, responses=PROBLEMS, operation_id="models", tags=["service"]
    )
    async def models() -> Response:
        """Return the models and the limits of the service."""
        return json_response(operations.models(engine))

    @router.get("/healthz", operation_id="healthz", tags=["service"])
    async def healthz() -> Health:
        """Return that the process answers."""
        return Health(status="ok")

    @router.get("/readyz", responses=UNAVAILABLE, operation_id="readyz", tags=["service"])
    async def readyz() -> Health:
        """Return whether the models are loaded and the service accepts requests."""
        if not engine.ready:
            raise ServiceError(
                503, "not-ready", "the service is not ready", allowed="requests while the service runs",
                next_step="wait and ask again", retry_after=1,
            )  # fmt: skip
        return Health(status="ok")

    @router.head("/healthz", include_in_schema=False)
    async def healthz_head() -> Response:
        return Response()

    @router.head("/readyz", include_in_schema=False)
    async def readyz_head() -> Response:
        await readyz()
        return Response()

    @router.get("/metrics", operation_id="metrics", tags=["service"], response_class=Response)
    async def metrics() -> Response:
        """Return counters in the text format of Prometheus."""
        return Response(engine.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def _lines_of(*schemas: str) -> Responses:
    """Return the description of a stream of JSON lines, each with one of these schemas."""
    either = {"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in schemas]}
    return {200: {"description": "One JSON object per line.", "content": {LINES: {"schema": either}}}}
