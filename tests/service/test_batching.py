"""Requests of many clients share calls of the model; what nobody waits for any longer is not computed."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.helpers.running_service import GatedModel, Running, SteppedModel, running, wait_for
from tests.helpers.zoo_models import WEFT_SMALL

import weft
from weft.service.settings import ServiceSettings


def text(number: int) -> str:
    return f"A cat sat on {number} mats. It slept for {number} hours. Rain fell on the roof."


def body(number: int) -> dict[str, object]:
    return {"text": {"id": f"cat-{number}", "text": text(number)}}


def test_waiting_texts_of_many_clients_are_one_call_and_score_as_alone(gated: tuple[GatedModel, Running]) -> None:
    model, service = gated
    with ThreadPoolExecutor(9) as pool:
        sent = [pool.submit(service.http.post, "/v1/score", json=body(0))]
        wait_for(lambda: model.calls)
        sent += [pool.submit(service.http.post, "/v1/score", json=body(number)) for number in range(1, 9)]
        wait_for(lambda: len(service.engine.queue.waiting) == 8)
        model.gate.set()
        found = [one.result().json()["scores"][0] for one in sent]
    assert [len(call) for call in model.calls] == [1, 8]
    assert [score["id"] for score in found] == [f"cat-{number}" for number in range(9)]
    assert [score["value"] for score in found] == [
        weft.score(text(number), model="foltz-sif").value for number in range(9)
    ]


def test_a_full_queue_refuses_with_429_and_then_goes_on(gated: tuple[GatedModel, Running]) -> None:
    model, service = gated
    with ThreadPoolExecutor(9) as pool:
        sent = [pool.submit(service.http.post, "/v1/score", json=body(0))]
        wait_for(lambda: model.calls)
        sent += [pool.submit(service.http.post, "/v1/score", json=body(number)) for number in range(1, 9)]
        wait_for(lambda: len(service.engine.queue.waiting) == 8)
        refused = service.http.post("/v1/score", json=body(9))
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        assert refused.json()["type"].endswith("queue-full")
        model.gate.set()
        assert {one.result().status_code for one in sent} == {200}
    assert service.http.post("/v1/score", json=body(9)).status_code == 200


def test_texts_of_a_client_that_has_gone_are_not_scored(gated: tuple[GatedModel, Running]) -> None:
    model, service = gated
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(service.http.post, "/v1/score", json=body(0))
        wait_for(lambda: model.calls)
        hasty = httpx.Client(base_url=service.address, timeout=0.3, trust_env=False)
        with hasty, pytest.raises(httpx.ReadTimeout):
            hasty.post("/v1/score", json=body(1))
        wait_for(lambda: all(one.found.cancelled() for one in service.engine.queue.waiting))
        later = pool.submit(service.http.post, "/v1/score", json=body(2))
        wait_for(lambda: len(service.engine.queue.waiting) == 2)
        model.gate.set()
        assert held.result().status_code == later.result().status_code == 200
    assert model.calls == [["cat-0"], ["cat-2"]]


def test_a_stream_waits_for_room_and_leaves_some_to_others(gated: tuple[GatedModel, Running]) -> None:
    model, service = gated
    lines = "\n".join(json.dumps({"id": f"cat-{number}", "text": text(number)}) for number in range(50))
    with ThreadPoolExecutor(2) as pool:
        stream = pool.submit(service.http.post, "/v1/score/stream", content=lines.encode())
        # The model has begun, and is held: what comes now stays in the queue.
        wait_for(lambda: model.calls and sum(map(len, model.calls)) + len(service.engine.queue.waiting) == 4)
        other = pool.submit(service.http.post, "/v1/score", json=body(99))
        wait_for(lambda: any(one.document.id == "cat-99" for one in service.engine.queue.waiting))
        assert sum(map(len, model.calls)) + len(service.engine.queue.waiting) == 5
        model.gate.set()
        assert other.result().status_code == 200
        found = [json.loads(line)["id"] for line in stream.result().text.splitlines()]
    assert found == [f"cat-{number}" for number in range(50)]


def test_texts_for_different_models_and_long_texts_do_not_share_a_call() -> None:
    one, other = GatedModel(), GatedModel()
    with running(ServiceSettings(models=("gated",)), [one.served]) as service:
        service.engine.models["other"] = type(one.served)("other", weft.Model(other, "other"))
        other.gate.set()
        long = {"text": {"id": "long", "sentences": ["A cat sat."] * 65}}
        with ThreadPoolExecutor(5) as pool:
            sent = [pool.submit(service.http.post, "/v1/score", json=body(0))]
            wait_for(lambda: one.calls)
            for number, request in enumerate([body(1), {**body(2), "model": "other"}, body(3), long]):
                sent.append(pool.submit(service.http.post, "/v1/score", json=request))
                wait_for(lambda number=number: len(service.engine.queue.waiting) == number + 1)
            one.gate.set()
            assert {each.result().status_code for each in sent} == {200}
    assert one.calls == [["cat-0"], ["cat-1"], ["cat-3"], ["long"]] and other.calls == [["cat-2"]]


def test_scores_do_not_wait_for_an_order_and_a_cancelled_order_stops() -> None:
    model = SteppedModel()
    model.gate.set()
    with running(ServiceSettings(models=("gated",)), [model.served]) as service, ThreadPoolExecutor(1) as pool:
        hasty = httpx.Client(base_url=service.address, timeout=2.0, trust_env=False)
        order = pool.submit(hasty.post, "/v1/order", json=body(0))
        wait_for(lambda: model.steps > 3)
        before = model.steps
        assert service.http.post("/v1/score", json=body(1)).status_code == 200
        assert before < model.steps < 10_000  # the order is still being computed
        hasty.close()
        assert isinstance(order.exception(), httpx.HTTPError)
        wait_for(lambda: service.engine.calls == 0)
        assert model.steps < 10_000


def test_short_texts_do_not_wait_for_a_long_one_and_a_cancelled_long_one_stops() -> None:
    model = SteppedModel()
    model.gate.set()
    long = {"text": {"id": "long", "sentences": [f"A cat sat on {number} mats." for number in range(65)]}}
    with running(ServiceSettings(models=("gated",)), [model.served]) as service, ThreadPoolExecutor(1) as pool:
        hasty = httpx.Client(base_url=service.address, timeout=2.0, trust_env=False)
        sent = pool.submit(hasty.post, "/v1/score", json=long)
        wait_for(lambda: model.steps > 3)
        assert service.http.post("/v1/score", json=body(1)).status_code == 200
        hasty.close()
        assert isinstance(sent.exception(), httpx.HTTPError)
        wait_for(lambda: stands_still(model))
        assert model.steps < 10_000
    assert model.calls == [["cat-1"]]


def test_the_default_model_answers_others_while_it_orders_a_long_text_and_stops_when_nobody_waits() -> None:
    long = {"text": {"id": "long", "sentences": [f"The {number} cats sat on the mat." for number in range(500)]}}
    with running(ServiceSettings()) as service, ThreadPoolExecutor(1) as pool:
        hasty = httpx.Client(base_url=service.address, timeout=60, trust_env=False)
        sent = pool.submit(hasty.post, "/v1/order", json=long)
        wait_for(lambda: service.engine.calls == 1)
        for path in ("score", "order", "compare"):
            given = {"first": text(1), "second": text(2)} if path == "compare" else body(1)
            assert service.http.post(f"/v1/{path}", json=given).status_code == 200
        assert not sent.done()
        hasty.close()
        assert isinstance(sent.exception(), httpx.HTTPError)
        wait_for(lambda: service.engine.calls == 0)


def stands_still(model: SteppedModel) -> bool:
    before = model.steps
    time.sleep(0.1)
    return model.steps == before


def test_an_edited_text_computes_only_its_new_pairs() -> None:
    with running(ServiceSettings(models=(str(WEFT_SMALL),))) as service:
        check_edited_text(service)


def check_edited_text(service: Running) -> None:
    scorer = service.engine.served(None).model.inner.scorer  # type: ignore[attr-defined]
    sentences = ["Bees visit flowers.", "They drink nectar.", "It becomes honey.", "Honey feeds the hive."]

    def score(*texts: str) -> float:
        answer = service.http.post("/v1/score", json={"text": {"sentences": list(texts)}})
        value: float = answer.json()["scores"][0]["value"]
        return value

    score(*sentences)
    known = len(scorer.known._pairs)
    edited = [*sentences[:3], "Honey feeds the bees."]
    assert score(*edited) == pytest.approx(weft.score(weft.Document("d", tuple(edited)), model=WEFT_SMALL).value)
    assert len(scorer.known._pairs) == known + 1
