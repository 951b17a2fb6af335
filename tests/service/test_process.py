"""The service as a process: stopped, killed, and what it logs."""

from __future__ import annotations

import inspect
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.helpers.running_service import SteppedModel, process, running, wait_for

import weft
from weft.cli.serve import serve
from weft.service.server import listening_socket
from weft.service.settings import ServiceSettings

LONG = {"texts": [" ".join(f"The zebra number {n} crossed river {m}." for m in range(40)) for n in range(8)]}


def running_requests(address: str) -> bool:
    return "weft_requests_in_progress 2.0" in httpx.get(f"{address}/metrics", trust_env=False).text


def test_a_stopped_service_answers_what_is_in_progress_and_logs_no_text() -> None:
    with process("-v") as (run, address), ThreadPoolExecutor(1) as pool:
        httpx.post(f"{address}/v1/score?text=zebra", json={"text": "zebra", "x": "zebra"}, trust_env=False)
        httpx.get(f"{address}/zebra", trust_env=False)
        sent = pool.submit(httpx.post, f"{address}/v1/score", json=LONG, trust_env=False, timeout=60)
        wait_for(lambda: running_requests(address))
        run.send_signal(signal.SIGTERM)
        assert sent.result().status_code == 200
        assert len(sent.result().json()["scores"]) == 8
        assert run.wait(30) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        assert run.stderr is not None
        log = run.stderr.read()
    assert "POST /v1/score 200" in log and "POST /v1/score 422" in log
    assert "zebra" not in log
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz", trust_env=False)


def test_a_killed_service_leaves_its_clients_with_a_clean_error_and_can_be_started_again() -> None:
    with process() as (run, address), ThreadPoolExecutor(1) as pool, weft.Client(address) as client:
        sent = pool.submit(client.score, LONG["texts"])
        wait_for(lambda: running_requests(address))
        run.kill()
        with pytest.raises(weft.WeftError, match="cannot reach the service"):
            sent.result()
        port = address.rsplit(":", 1)[1]
        with process("--port", port, "-m", "foltz-sif") as (_, again):
            assert again == address
            assert client.score("A cat sat. It slept.").value is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "foltz-siff"], "unknown model"),
        (["--host", "203.0.113.7"], "cannot listen on this address"),
        (["--host", "203.0.113.7"], "omit --host"),
        (["--host", "no such name"], "omit --host"),
        (["--api-key", ""], "the key is empty"),
        (["--writer", "nope"], "unknown model"),
        (["--model", "foltz-sif", "--writer", "foltz-glove"], "cannot write"),
        (["--port", "70000"], "--port"),
        (["--seconds", "0"], "--seconds"),
    ],
)
def test_a_service_that_cannot_start_says_why(options: list[str], message: str) -> None:
    command = [sys.executable, "-m", "weft", "serve", "--port", "0", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr and done.stderr.count("\n") == 1


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(weft.ConfigError, match="--port 0"):
        listening_socket("127.0.0.1", taken.getsockname()[1])


def test_other_names_for_this_machine_are_refused_without_a_key() -> None:
    options = ("-m", "foltz-sif", "--allow-host", "weft.example.org")
    for key in ("", "sesame"):
        with process(*options, WEFT_API_KEY=key) as (_, address), httpx.Client(trust_env=False) as http:
            port = address.rsplit(":", 1)[1]
            for name in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", "[::1]", "WEFT.example.org"):
                assert http.get(f"{address}/healthz", headers={"host": name}).status_code == 200
            for name in (
                "evil.example",
                f"evil.example:{port}",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "",
            ):
                for path in ("/", "/v1/models", "/healthz"):
                    response = http.get(f"{address}{path}", headers={"host": name})
                    if key:  # which the page of another site does not know
                        assert response.status_code in (200, 401)
                    else:
                        assert response.status_code == 400 and response.json()["type"].endswith("wrong-host")


def test_a_service_for_other_machines_without_a_key_warns() -> None:
    options = ("--host", "0.0.0.0", "-m", "foltz-sif")
    for key, warned in (("", True), ("sesame", False)):
        with process(*options, WEFT_API_KEY=key) as (run, _):
            run.terminate()
            assert run.stderr is not None
            assert ("WEFT_API_KEY" in run.stderr.read()) == warned


def test_a_client_that_does_not_read_its_stream_does_not_delay_the_end() -> None:
    line = json.dumps(" ".join(f"The zebra number {number} crossed the river." for number in range(100))).encode()
    with process("-m", "foltz-sif") as (run, address), socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", int(address.rsplit(":", 1)[1])))
        body = (line + b"\n") * 150  # the answer is larger than what the buffers of the connection hold
        connection.sendall(
            b"POST /v1/score/stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        threading.Thread(target=connection.sendall, args=(body,), daemon=True).start()
        wait_for(lambda: stalled(address))
        run.send_signal(signal.SIGTERM)
        started = time.monotonic()
        run.wait(60)
        assert time.monotonic() - started < 15
        assert run.stderr is not None and run.stderr.read() == ""


def test_a_stopped_service_ends_a_long_stream_with_the_reason() -> None:
    text = " ".join(f"The zebra number {number} crossed the river." for number in range(60))

    def lines() -> Iterator[bytes]:
        for _ in range(2000):
            yield json.dumps(text).encode() + b"\n"
            time.sleep(0.01)

    with process("-v") as (run, address):
        stream = httpx.stream("POST", f"{address}/v1/score/stream", content=lines(), trust_env=False, timeout=60)
        threading.Thread(target=stop_when_scoring, args=(run, address), daemon=True).start()
        with stream as response:
            found = [json.loads(one) for one in response.iter_lines()]
        ended = time.monotonic()
        assert run.wait(30) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        assert time.monotonic() - ended < 10
        assert run.stderr is not None
        log = run.stderr.read()
    *scores, last = found
    assert all("value" in one for one in scores)
    assert last["type"] == "urn:weft:problem:stopping" and last["line"] == len(scores) + 1
    assert str(last["line"]) in last["next_step"]
    assert "Traceback" not in log and "rror" not in log and "POST /v1/score/stream 200" in log


def stop_when_scoring(run: subprocess.Popen[str], address: str) -> None:
    wait_for(lambda: "weft_scored_texts_total 0.0" not in httpx.get(f"{address}/metrics", trust_env=False).text)
    run.send_signal(signal.SIGTERM)


def test_a_stopped_service_refuses_what_takes_too_long() -> None:
    model = SteppedModel()
    model.gate.set()
    settings = ServiceSettings(models=("gated",), shutdown_seconds=2.0)
    with running(settings, [model.served]) as service, ThreadPoolExecutor(1) as pool:
        sent = pool.submit(service.http.post, "/v1/order", json={"text": "A cat sat. It slept. Rain fell."})
        wait_for(lambda: model.steps > 0)
        service.server.should_exit = True
        response = sent.result()
    assert response.status_code == 503
    assert response.json()["type"] == "urn:weft:problem:stopping" and "retry-after" in response.headers


def stalled(address: str) -> bool:
    """Return whether the service scores no more texts."""
    counts = []
    for _ in range(2):
        metrics = httpx.get(f"{address}/metrics", trust_env=False).text
        counts.append(float(re.findall(r"^weft_scored_texts_total (\S+)", metrics, re.MULTILINE)[0]))
        time.sleep(0.3)
    return counts[0] == counts[1] > 10


def test_the_options_of_the_command_have_the_defaults_of_the_settings() -> None:
    defaults = {name: one.default for name, one in inspect.signature(serve).parameters.items()}
    settings = ServiceSettings()
    assert tuple(defaults["model"]) == settings.models and defaults["writer"] == settings.writer
    given = [defaults[name] for name in ("body_bytes", "sentences", "tokens", "queue", "seconds")]
    limits = [settings.body_bytes, settings.sentences, settings.tokens, settings.queue_texts, settings.request_seconds]
    assert given == limits
