"""Every refusal is a problem (RFC 9457) that says what was wrong, what was seen, what is allowed and what to do."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.helpers.running_service import BEES, GatedModel, Running, running, wait_for

from weft.errors import ConfigError
from weft.service.engine import Engine
from weft.service.settings import ServiceSettings


def check(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["type"] == f"urn:weft:problem:{code}" and problem["status"] == status
    assert problem["title"] and problem["allowed"] and problem["next_step"]
    assert problem["title"] in problem["detail"]
    return problem


WRONG = [
    ("score", {}, "invalid-request"),
    ("score", {"text": 1}, "invalid-request"),
    ("score", {"text": "A.", "texts": ["B."]}, "invalid-request"),
    ("score", {"text": None}, "invalid-request"),
    ("score", {"text": {"id": "a"}}, "invalid-request"),
    ("score", {"text": {"sentences": ["A.", " "]}}, "invalid-request"),
    ("score", {"text": {"sentences": ["A."], "paragraph_starts": [0, 1]}}, "invalid-request"),
    ("score", {"text": {"sentences": ["A.", "B."], "paragraph_starts": [1]}}, "invalid-request"),
    ("score", {"text": "A. B.", "sentences": 3}, "invalid-request"),
    ("score", {"text": "A. B.", "model": "seq2seq"}, "invalid-request"),
    ("score", {"text": "A. B.", "model": "../../etc"}, "invalid-request"),
    ("score", {"text": "A. B.", "combine": "mmi"}, "invalid-request"),
    ("score", {"text": "A. B.", "genre": "essay"}, "invalid-request"),
    ("score", {"text": "A. B.", "model": "weft-reader", "genre": "poem"}, "invalid-request"),
    ("score", {"text": {"text": "A. B.", "genre": "poem"}, "model": "weft-reader"}, "invalid-request"),
    ("score", {"text": "A. B.", "language": "klingon"}, "invalid-request"),
    ("score", {"texts": ["A. B."] * 9}, "too-many-texts"),
    ("score", {"text": "It rained. " * 51}, "too-many-sentences"),
    ("score", {"text": "a" * 8001}, "too-many-characters"),
    ("score", {"text": "It rained. " + "and " * 1600}, "too-many-tokens"),
    ("score", {"text": "x q " * 900, "model": "weft-reader"}, "too-many-tokens"),
    ("compare", {"first": "A. B.", "second": "and " * 1600}, "too-many-tokens"),
    ("order", {"text": "It rained. " * 13}, "too-many-sentences"),
    ("order", {"text": "A. B.", "beam": 0}, "invalid-request"),
    ("order", {"text": "A. B.", "objective": "precedence"}, "invalid-request"),
    ("generate", {"text": ""}, "empty-text"),
    ("generate", {"text": "A. B.", "model": "foltz-sif"}, "invalid-request"),
    ("generate", {"text": "A. B.", "number": 21}, "invalid-request"),
    ("generate", {"text": "A. B.", "min_tokens": 50, "max_tokens": 20}, "invalid-request"),
    ("generate/stream", {"text": ""}, "empty-text"),
    ("compare", {"first": "A. B."}, "invalid-request"),
    ("compare", {"first": "A. B.", "second": "It rained. " * 51}, "too-many-sentences"),
]


@pytest.mark.parametrize(("path", "body", "code"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_request_is_refused(service: Running, path: str, body: dict[str, object], code: str) -> None:
    check(service.http.post(f"/v1/{path}", json=body), 422, code)


@pytest.mark.parametrize(
    ("path", "body", "title"),
    [
        ("score", {"text": 1}, "wrong value of `text`"),
        ("score", {"texts": ["A. B.", 3]}, "wrong value of `texts[1]`"),
        ("score", {"texts": ["A.", {"sentences": ["A.", 3]}]}, "wrong value of `texts[1].sentences[1]`"),
        ("score", {"text": {"text": "A.", "colour": 1}}, "unknown field `text.colour`"),
        ("compare", {"frist": "A. B.", "second": "A."}, "unknown field `frist`"),
        ("score", {"text": "A.", "genre": 5}, "wrong value of `genre`"),
        ("compare", {"first": "A. B."}, "`second` is missing"),
    ],
)
def test_a_wrong_field_is_named_as_the_client_knows_it(
    service: Running, path: str, body: dict[str, object], title: str
) -> None:
    problem = check(service.http.post(f"/v1/{path}", json=body), 422, "invalid-request")
    assert problem["title"] == title
    assert "TextBody" not in problem["detail"] and ".str" not in problem["detail"]


@pytest.mark.parametrize(
    ("path", "body", "allowed", "next_step"),
    [
        ("score", {"text": 1}, "a string, or an object", "`text`"),
        ("score", {"texts": "A. B."}, "a list", "`texts`"),
        ("score", {"txt": "A. B."}, "`texts`", "did you mean `text`"),
        ("score", {"text": "A.", "genr": "essay"}, "`genre`", "did you mean `genre`"),
        ("score", {"text": {"text": "A.", "titel": "B"}}, "`title`", "did you mean `title`"),
        ("order", {"text": "A. B.", "begin": 1}, "`first_given`", "`begin`"),
        ("order", {"text": "A. B.", "beam": 0}, "at least 1", "`beam`"),
        ("compare", {"frist": "A.", "second": "B."}, "`first`", "did you mean `first`"),
        ("score", [], "{", "`text`"),
        ("score", {"text": "A. B.", "language": "klingon"}, "639-1", '`"language": "en"`'),
        ("order", {"text": "A. B.", "objective": "precedence"}, "coherence", "`objective`"),
        ("score/stream?genr=essay", "A. B.", "`genre`", "did you mean `genre`"),
    ],
)
def test_a_refusal_names_the_fields(service: Running, path: str, body: object, allowed: str, next_step: str) -> None:
    problem = check(service.http.post(f"/v1/{path}", json=body), 422, "invalid-request")
    assert allowed in problem["allowed"] and next_step in problem["next_step"]
    assert "--" not in problem["detail"]


def test_a_body_nested_too_deeply_is_told_so(service: Running) -> None:
    for content in (b"[" * 9_000, b'{"text":' + b"[" * 9_000 + b"]" * 9_000 + b"}"):
        response = service.http.post("/v1/score", content=content, headers={"content-type": "application/json"})
        assert "nested" in check(response, 400, "body-that-cannot-be-read")["title"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b'{"text": "\\ud800 a. b."}', b"[" * 10_000, b'{"text": NaN}', b"null", b"[]"]
)
def test_a_body_that_is_no_json_object_is_refused(service: Running, content: bytes) -> None:
    response = service.http.post("/v1/score", content=content, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    check(response, response.status_code, response.json()["type"].rsplit(":", 1)[1])


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "text/json", ""])
def test_other_types_of_content_are_refused(service: Running, kind: str) -> None:
    """A page of another site can send text/plain without asking first."""
    headers = {"content-type": kind} if kind else {}
    response = service.http.post("/v1/score", content=b'{"text": "A. B."}', headers=headers)
    problem = check(response, 415, "wrong-content-type")
    assert "Content-Type: application/json" in problem["next_step"] and kind in problem["seen"]
    good = {"content-type": "application/json; charset=utf-8"}
    assert service.http.post("/v1/score", content=b'{"text": "A. B."}', headers=good).status_code == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"content-type": "application/json", "content-encoding": "gzip"}, "content-encoding"),
        ({"content-type": "application/json; charset=latin-1"}, "charset"),
        ({"content-type": 'application/json; charset="utf-16"'}, "charset"),
    ],
)
def test_other_encodings_of_a_body_are_refused(service: Running, headers: dict[str, str], code: str) -> None:
    for path in ("score", "score/stream"):
        check(service.http.post(f"/v1/{path}", content=b'{"text": "A. B."}', headers=headers), 415, code)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b'{"text": null}', '{"text": null}'),
        (b'{"text": "A. B.", "beam": NaN}', "NaN"),
        (b'{"text": "A. B.", "search": "magic"}', '"magic"'),
        (b'{"text": "A. B.", "first_given": "True"}', '"True"'),
        (b'{"text": {"text": "A.", "title": false}}', "false"),
        (b'{"text": "\xff"}', "bytes that are not UTF-8"),
    ],
)
def test_what_was_seen_is_written_in_json(service: Running, content: bytes, seen: str) -> None:
    response = service.http.post("/v1/order", content=content, headers={"content-type": "application/json"})
    problem = check(response, response.status_code, response.json()["type"].rsplit(":", 1)[1])
    assert response.status_code in (400, 422) and problem["seen"] == seen and f"saw {seen};" in problem["detail"]


def test_the_advice_of_a_text_with_half_a_character_names_no_python(service: Running) -> None:
    body = b'{"text": "\\ud800 a. b."}'
    response = service.http.post("/v1/score", content=body, headers={"content-type": "application/json"})
    assert "errors=" not in check(response, 422, "invalid-request")["next_step"]


def test_unknown_paths_and_methods(service: Running) -> None:
    check(service.http.get("/v1/nothing"), 404, "not-found")
    check(service.http.get("/../pyproject.toml"), 404, "not-found")
    check(service.http.get("/%2e%2e/app.py"), 404, "not-found")
    assert "/v1/score" in check(service.http.get("/v1/scroe"), 404, "not-found")["next_step"]
    assert "did you mean" not in check(service.http.get("/v1/nope"), 404, "not-found")["next_step"]


def test_checks_of_health_may_send_head(service: Running) -> None:
    for path in ("/healthz", "/readyz"):
        response = service.http.head(path)
        assert response.status_code == 200 and response.content == b""


@pytest.mark.parametrize("request_line", [b"GET /healthz HTTP/1.1", b"BREW"])
def test_a_request_that_is_not_http_gets_a_problem(service: Running, request_line: bytes) -> None:
    host, port = service.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request_line + b"\r\n\r\n")
        answer = received(connection)
    check(answer, 400, "not-http")


def received(connection: socket.socket) -> httpx.Response:
    """The answer on a connection that the service closes."""
    head, _, body = b"".join(iter(lambda: connection.recv(4096), b"")).partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return httpx.Response(int(first.split()[1]), headers=dict(line.split(": ", 1) for line in lines), content=body)


def test_a_wrong_method_is_told_the_right_ones(service: Running) -> None:
    described = service.http.get("/openapi.json").json()["paths"]
    with_head = dict.fromkeys(("/", "/openapi.json", "/healthz", "/readyz"), ("get", "head"))
    for path, methods in {**described, **with_head}.items():
        response = service.http.request("DELETE", path)
        problem = check(response, 405, "method-not-allowed")
        assert response.headers["allow"] == problem["allowed"] == ", ".join(methods).upper()
        for method in methods:
            assert service.http.request(method, path).status_code != 405


def test_a_large_body_is_refused_whether_it_says_its_size_or_not(service: Running) -> None:
    large = b'{"text": "' + b"a" * 30_000 + b'"}'
    problem = check(service.http.post("/v1/score", content=large), 413, "body-too-large")
    assert problem["seen"] == f"{len(large)} bytes"
    chunks = (large[start : start + 1000] for start in range(0, len(large), 1000))
    check(service.http.post("/v1/score", content=chunks), 413, "body-too-large")


def test_a_stream_ends_with_the_problem_of_a_line_that_is_too_long(service: Running) -> None:
    lines = service.http.post("/v1/score/stream", content=b'"A. B."\n"' + b"a" * 30_000).text.splitlines()
    assert len(lines) == 2 and '"line":2' in lines[1] and "body-too-large" in lines[1]
    lines = service.http.post("/v1/score/stream", content=(b'"' + b"a" * 998 + b'"\n') * 45).text.splitlines()
    assert "body-too-large" in lines[-1] and len(lines) > 2
    check(service.http.post("/v1/score/stream?genre=essay", content=b'"A. B."'), 422, "invalid-request")


def test_a_key_is_asked_for_where_there_is_one() -> None:
    with running(ServiceSettings(models=("foltz-sif",), api_key="öpen sesame")) as service:
        ask = service.http.post
        check(ask("/v1/score", json={"text": "A. B."}), 401, "wrong-key")
        for wrong in ("Bearer open", "Basic open sesame", "Bearer open sesame2", "Bearer öffne"):
            response = ask("/v1/score", json={"text": "A. B."}, headers={b"authorization": wrong.encode()})
            assert check(response, 401, "wrong-key")["seen"] != wrong
            assert response.headers["www-authenticate"] == "Bearer"
        for right in ({b"authorization": "Bearer öpen sesame".encode()}, {b"x-api-key": "öpen sesame".encode()}):
            assert ask("/v1/score", json={"text": "A. B."}, headers=right).status_code == 200
        check(service.http.get("/metrics"), 401, "wrong-key")
        assert service.http.get("/healthz").status_code == service.http.get("/").status_code == 200
        described = service.http.get("/openapi.json").json()
        assert described["paths"]["/v1/score"]["post"]["security"] == [{"key": []}]


def test_a_request_that_takes_too_long_gets_503() -> None:
    model = GatedModel()
    settings = ServiceSettings(models=("gated",), request_seconds=1.0)
    with running(settings, [model.served]) as service:
        response = service.http.post("/v1/score", json={"text": BEES})
        check(response, 503, "time-out")
        assert int(response.headers["retry-after"]) > 0
        model.gate.set()
        assert service.http.post("/v1/score", json={"text": BEES}).status_code == 200


def test_more_requests_than_are_answered_at_a_time_get_429() -> None:
    model = GatedModel()
    settings = ServiceSettings(models=("gated",), requests=2)
    with running(settings, [model.served]) as service, ThreadPoolExecutor(2) as pool:
        sent = [pool.submit(service.http.post, "/v1/score", json={"text": BEES}) for _ in range(2)]
        wait_for(lambda: sum(map(len, model.calls)) + len(service.engine.queue.waiting) == 2)
        check(service.http.post("/v1/score", json={"text": BEES}), 429, "queue-full")
        assert service.http.get("/readyz").status_code == 200
        model.gate.set()
        assert [one.result().status_code for one in sent] == [200, 200]


def test_a_body_that_does_not_arrive_gets_408() -> None:
    with running(ServiceSettings(models=("foltz-sif",), request_seconds=0.2)) as service:
        host, port = service.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(
                b"POST /v1/score HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
            )
            assert connection.recv(4096).startswith(b"HTTP/1.1 408")


def test_a_mistake_of_the_service_is_a_problem_without_details(
    gated: tuple[GatedModel, Running], caplog: pytest.LogCaptureFixture
) -> None:
    model, service = gated
    model.gate.set()
    response = service.http.post("/v1/score", json={"text": "We divide by zero. It fails."})
    check(response, 500, "internal-error")
    assert "secret" not in response.text
    wait_for(lambda: "POST /v1/score 500" in caplog.text)
    assert "ZeroDivisionError" in caplog.text and "secret" not in caplog.text
    assert service.http.post("/v1/score", json={"text": BEES}).status_code == 200


def test_a_bad_text_does_not_spoil_the_batch_of_others(gated: tuple[GatedModel, Running]) -> None:
    model, service = gated
    texts = [BEES, "We divide by zero. It fails.", BEES]
    with ThreadPoolExecutor(4) as pool:
        held = pool.submit(service.http.post, "/v1/score", json={"text": "A. B."})
        wait_for(lambda: model.calls)
        sent = [pool.submit(service.http.post, "/v1/score", json={"text": text}) for text in texts]
        wait_for(lambda: len(service.engine.queue.waiting) == 3)
        model.gate.set()
        assert [one.result().status_code for one in [held, *sent]] == [200, 200, 500, 200]


# A service in a process in which PyTorch is not installed, and what it answers.
WITHOUT_PYTORCH = """
import json, sys
sys.modules.update(dict.fromkeys(("torch", "sklearn", "scipy", "onnx")))
from starlette.testclient import TestClient
from weft.service.app import create_app
from weft.errors import ConfigError
from weft.service.engine import Engine
from weft.service.settings import ServiceSettings

with TestClient(create_app(ServiceSettings(models=("foltz-sif",)))) as client:
    body = {"text": "A cat sat. It slept."}
    found = [client.post(f"/v1/{path}", json=body) for path in ("generate", "generate/stream", "score")]
print(json.dumps([[one.status_code, one.json()] for one in found]))
"""


def test_a_service_without_pytorch_says_what_to_install_and_still_scores() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYTORCH], capture_output=True, text=True, check=True, timeout=60
    )
    *refused, (status, _) = json.loads(done.stdout.splitlines()[-1])
    assert status == 200
    for status, problem in refused:
        assert status == 422 and problem["type"] == "urn:weft:problem:no-writer"
        assert "pip install '.[train]' ./zoo" in problem["next_step"] and "--writer" in problem["next_step"]


def test_a_writer_that_was_named_is_checked_when_the_service_starts() -> None:
    for name, message in (("no-such-model", "unknown model"), ("foltz-sif", "cannot write")):
        with pytest.raises(ConfigError, match=message):
            Engine(ServiceSettings(models=("foltz-sif",), writer=name)).load()
