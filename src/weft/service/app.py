"""The application: routes, handlers of errors, and the description in OpenAPI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from weft.errors import WeftError
from weft.service.bodies.answer_examples import with_answers
from weft.service.bodies.problems import MEDIA_TYPE as PROBLEM_TYPE
from weft.service.bodies.problems import LineProblem, Problem, problem_response
from weft.service.bodies.response_bodies import WrittenSentence
from weft.service.bodies.unread_requests import framework_error, is_json, methods_of, wrong_type_of_content
from weft.service.bodies.wrong_requests import wrong_request
from weft.service.engine import Engine
from weft.service.guard import Guard
from weft.service.routes import routes_of
from weft.service.settings import ServiceSettings
from weft.version import VERSION

PAGE = Path(__file__).parent / "page"
DESCRIPTION = (
    "weft measures, restores and writes coherent discourse. Results have the fields of the library's results. "
    "Errors are problem details (RFC 9457) that say what was wrong, what was seen, what is allowed and what to do."
)


def create_app(settings: ServiceSettings | None = None, engine: Engine | None = None) -> FastAPI:
    """Return the application, for uvicorn or another ASGI server.

    Args:
        settings: The settings of the service.
        engine: The models, if they are loaded already; otherwise they are loaded when the application starts.

    Example:
        >>> app = create_app(ServiceSettings(models=("foltz-sif",)))
        >>> "/v1/score" in app.openapi()["paths"]
        True
    """
    chosen = settings or ServiceSettings()
    used = engine or Engine(chosen)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(used.load)
        used.start()
        yield
        await used.stop()

    app = FastAPI(
        title="weft", version=VERSION, description=DESCRIPTION, lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json",
    )  # fmt: skip
    app.add_middleware(Guard, settings=chosen, metrics=used.metrics, stopping=used.stopping)
    app.add_exception_handler(WeftError, _weft_error)
    app.add_exception_handler(RequestValidationError, _wrong_body)
    app.add_exception_handler(HTTPException, _http_error)
    app.include_router(routes_of(used))
    app.router.default = _page(app.router.default)
    app.openapi = lambda: _described(app, used)  # type: ignore[method-assign]
    return app


def _page(otherwise: ASGIApp) -> ASGIApp:
    """Return the application that answers all other paths: with the files of the page.

    A mount at the root would also answer a wrong method on a route, with 404 instead of 405.
    """
    files = StaticFiles(directory=PAGE, html=True)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and not scope["path"].startswith("/v1/")
        await (files if is_page else otherwise)(scope, receive, send)

    return answer


async def _weft_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, WeftError)
    return problem_response(error)


async def _wrong_body(request: Request, error: Exception) -> Response:
    """Return pydantic's errors in the four parts of ours."""
    assert isinstance(error, RequestValidationError)
    kind = request.headers.get("content-type", "")
    if error.body and not is_json(kind):
        return problem_response(wrong_type_of_content(kind))
    return problem_response(wrong_request(error.errors(), request.url.path))


async def _http_error(request: Request, error: Exception) -> Response:
    """Return the errors of the framework, such as an unknown path, as problems."""
    assert isinstance(error, HTTPException)
    response = problem_response(framework_error(request, error))
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["allow"] = methods_of(request.url.path)
    return response


def _described(app: FastAPI, engine: Engine) -> dict[str, Any]:
    """Return the description in OpenAPI, with the names of the models and how to send the key."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = found["components"]["schemas"]
        schemas["Problem"] = Problem.model_json_schema()
        schemas["LineProblem"] = LineProblem.model_json_schema()
        schemas["WrittenSentence"] = WrittenSentence.model_json_schema(mode="serialization")
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for operation in (one for path in found["paths"].values() for one in path.values()):
            _describe_operation(operation, engine)
        with_answers(found["paths"])
        for name in ("ScoreRequest", "OrderRequest", "CompareRequest"):
            schemas[name]["properties"]["model"]["enum"] = list(engine.models)
        if engine.settings.api_key:
            found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = found
    return app.openapi_schema


def _describe_operation(operation: dict[str, Any], engine: Engine) -> None:
    """Add the body of refusals, the names of the models, and whether a key is needed."""
    operation["responses"] |= {
        status: {"description": response["description"], "content": {PROBLEM_TYPE: _PROBLEM}}
        for status, response in operation["responses"].items()
        if not status.startswith("2")
    }
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == "model":
            parameter["schema"]["enum"] = list(engine.models)
    if engine.settings.api_key and operation["operationId"] not in ("healthz", "readyz"):
        operation["security"] = [{"key": []}]


_PROBLEM = {"schema": {"$ref": "#/components/schemas/Problem"}}
