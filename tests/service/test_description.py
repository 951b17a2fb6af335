"""The service keeps what its description in OpenAPI promises, whatever it is sent."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from tests.helpers.running_service import BEES, Running

FEW = settings(max_examples=6, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
SLOW = ("generate", "generate_stream")  # they compute; one request each is sent by other tests


@pytest.fixture(scope="module")
def description(service: Running) -> object:
    import schemathesis

    @schemathesis.serializer("application/x-ndjson")
    def lines(_: object, value: object) -> bytes:
        return str(value).encode("utf-8", "replace")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return schemathesis.openapi.from_url(f"{service.address}/openapi.json")


def test_requests_of_any_kind_get_described_answers(description: object) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    tried = []
    for found in description.get_all_operations():  # type: ignore[attr-defined]
        operation = found.ok()
        if operation.definition.raw["operationId"] in SLOW:
            continue

        @settings(
            max_examples=6, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy())
        def send(case: object) -> None:
            case.call_and_validate(checks=checks)  # type: ignore[attr-defined]

        send()
        tried.append(operation.path)
    assert len(tried) >= 8


def test_the_examples_of_the_description_work(service: Running) -> None:
    described = service.http.get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    for name, path in (("ScoreRequest", "score"), ("OrderRequest", "order"), ("CompareRequest", "compare")):
        example = schemas[name]["example"] | {"model": "weft-reader"}
        assert service.http.post(f"/v1/{path}", json=example).status_code == 200, name


def test_the_description_has_answers_with_the_fields_of_the_service(service: Running) -> None:
    described = service.http.get("/openapi.json").json()
    for name, path in (("ScoreRequest", "score"), ("OrderRequest", "order"), ("CompareRequest", "compare")):
        example = described["components"]["schemas"][name]["example"] | {"model": "weft-reader"}
        (content,) = described["paths"][f"/v1/{path}"]["post"]["responses"]["200"]["content"].values()
        assert fields(content["example"]) == fields(service.http.post(f"/v1/{path}", json=example).json())
    for path, operations in described["paths"].items():
        for operation in operations.values():
            contents = operation["responses"]["200"].get("content", {}).values()
            assert path == "/metrics" or all("example" in content for content in contents)


def fields(value: object) -> object:
    """Return the fields of an answer without their values, which change with the weights of the model."""
    if isinstance(value, dict):
        return {name: fields(one) for name, one in value.items()}
    return [fields(value[0])] if isinstance(value, list) and value else type(value) is list


def test_every_field_of_a_score_is_described(service: Running) -> None:
    schemas = service.http.get("/openapi.json").json()["components"]["schemas"]
    (found,) = service.http.post("/v1/score", json={"text": BEES}).json()["scores"]
    assert set(found) == set(schemas["ScoreBody"]["properties"]) == set(schemas["ScoreBody"]["required"])
