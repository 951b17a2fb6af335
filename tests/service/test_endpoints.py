"""Every path of the service gives what the library gives."""

from __future__ import annotations

import json
import re

import pytest
from tests.helpers.running_service import BEES, Running

import weft
from weft.document import Document
from weft.service.bodies.given_texts import GivenText
from weft.service.bodies.views import score_body


def post(service: Running, path: str, **body: object) -> dict[str, object]:
    response = service.http.post(path, json=body)
    assert response.status_code == 200, response.text
    found: dict[str, object] = response.json()
    return found


def test_a_score_is_that_of_the_library(service: Running) -> None:
    (found,) = service.http.post("/v1/score", json={"text": BEES}).json()["scores"]
    view = found.pop("view")
    assert found == weft.score(BEES, model="foltz-sif").to_dict()
    assert [[sentence["number"] for sentence in passage] for passage in view["passages"]] == [[0, 1], [2, 3, 4, 5]]
    for passage in view["passages"]:
        for sentence in passage:
            assert " ".join(BEES[sentence["start"] : sentence["end"]].split()) == sentence["text"]
    assert [link["value"] for link in view["links"]] == found["transitions"]
    assert [link["gap"] for link in view["links"] if link["marked"]] == found["breaks"]
    assert all(0 <= link["bar"] <= 1 for link in view["links"])
    assert view["mark"] == "weak link" and view["scale"]["kind"] == "range"


def test_the_default_model_has_percentiles_and_a_genre(service: Running) -> None:
    body = {"text": BEES, "model": "weft-reader", "genre": "essay"}
    (found,) = service.http.post("/v1/score", json=body).json()["scores"]
    expected = weft.score(BEES, genre="essay")
    assert found["value"] == pytest.approx(expected.value, abs=1e-5)
    assert found["percentiles"]["written"] == pytest.approx(expected.percentile, abs=0.01)
    assert found["genre"] == "essay" and not found["genre_guessed"]
    assert found["view"]["meaning"] == expected.meaning
    percentiles = [link["percentile"] for link in found["view"]["links"]]
    assert percentiles == pytest.approx(list(expected.link_percentiles), abs=0.01)


def test_texts_in_sentences_have_no_offsets(service: Running) -> None:
    text = {"id": "cats", "sentences": ["A cat sat.", "It slept.", "Rain fell."], "paragraph_starts": [0, 2]}
    (found,) = service.http.post("/v1/score", json={"texts": [text]}).json()["scores"]
    assert found["id"] == "cats" and found["paragraphs"] == [0, 0, 1]
    assert [[one["start"] for one in passage] for passage in found["view"]["passages"]] == [[None, None], [None]]


def test_texts_that_have_no_score_are_answered(service: Running) -> None:
    scores = service.http.post("/v1/score", json={"texts": ["", "One sentence only.", "Il pleut. Il dort. Il rêve."]})
    found = scores.json()["scores"]
    assert [score["value"] is None for score in found] == [True, True, False]
    assert [score["sentences"] for score in found] == [0, 1, 3]
    assert "no-score" in found[0]["warning_codes"] and "not-english" in found[2]["warning_codes"]


def test_a_text_without_links_has_the_marks_of_its_model(service: Running) -> None:
    for model, mark in (("weft-reader", "break"), ("foltz-sif", "weak link")):
        body = {"texts": ["", BEES], "model": model}
        found = service.http.post("/v1/score", json=body).json()["scores"]
        assert [score["view"]["mark"] for score in found] == [mark, mark]


def test_reasons_name_the_sentence_that_does_not_belong(service: Running) -> None:
    (found,) = service.http.post("/v1/score", json={"text": BEES, "reasons": True}).json()["scores"]
    reasons = [link["reason"] for link in found["view"]["links"] if link["reason"]]
    assert {"code": "foreign", "sentence": 4} in [{key: one[key] for key in ("code", "sentence")} for one in reasons]
    assert all(link["marked"] for link in found["view"]["links"] if link["reason"])
    assert not service.http.post("/v1/score", json={"text": BEES}).json()["scores"][0]["view"]["links"][0]["reason"]


@pytest.mark.slow
def test_break_probabilities_are_in_the_links() -> None:
    from tests.helpers.tiny_reader import untrained_reader  # imports PyTorch

    model = untrained_reader()
    document = Document("d", ("A cat sat.", "It slept.", "Rain fell."))
    score = weft.score(document, model=model)
    view = score_body(score, GivenText(document, None)).view
    assert view.mark == "break"
    assert [link.break_probability for link in view.links] == list(score.break_probabilities)


def test_an_order_has_the_moves_that_lead_to_it(service: Running) -> None:
    sentences = ["He died in 1870.", "He was born in 1812.", "He wrote novels about the poor of London.", "He wed."]
    (found,) = service.http.post("/v1/order", json={"text": {"sentences": sentences}}).json()["orders"]
    expected = weft.order(Document("text", tuple(sentences)), model="foltz-sif").to_dict()
    moves = found.pop("moves")
    assert found == expected
    now = list(range(4))
    for move in moves:
        assert now.pop(move["was"]) == move["sentence"]
        now.insert(move["place"], move["sentence"])
    assert now == found["order"]


@pytest.mark.slow
def test_continuations_are_those_of_the_library(service: Running) -> None:
    options = {"method": "beam", "beam": 2, "max_tokens": 12}
    body = {"text": "The cat slept. It purred.", "number": 2, **options}
    (found,) = service.http.post("/v1/generate", json=body).json()["continuations"]
    expected = weft.generate("The cat slept. It purred.", sentences=2, decoding=weft.Decoding(**options))  # type: ignore[arg-type]
    assert found["sentences"] == list(expected.sentences)
    lines = service.http.post("/v1/generate/stream", json=body | {"candidates": 2}).text.splitlines()
    records = [json.loads(line) for line in lines]
    assert [(one["candidate"], one["number"]) for one in records] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [one["sentence"] for one in records[:2]] == found["sentences"]


@pytest.mark.parametrize("method", ["diverse", "beam", "sample"])
def test_candidates_begin_with_different_sentences(service: Running, method: str) -> None:
    body = {"text": "The cat slept. It purred.", "method": method, "beam": 4, "candidates": 3, "max_tokens": 12}
    found = service.http.post("/v1/generate", json=body).json()["continuations"]
    begun = [one["sentences"][0] for one in found]
    assert len(begun) == 3 == len(set(begun))


def test_a_comparison_is_that_of_the_library(service: Running) -> None:
    other = BEES.replace("My uncle bought a motorbike in 1987. ", "")
    found = post(service, "/v1/compare", first=BEES, second=other)
    expected = weft.compare(BEES, other, model="foltz-sif")
    assert {name: found[name] for name in expected.to_dict()} == expected.to_dict()
    first, second = found["first_score"], found["second_score"]
    assert isinstance(first, dict) and isinstance(second, dict)
    assert (first["sentences"], second["sentences"]) == (6, 5)


def test_json_lines_are_scored_in_order_and_bad_ones_named(service: Running) -> None:
    lines = [json.dumps(f"A cat sat. It slept {number} hours.") for number in range(40)]
    lines[3:5] = ["[", json.dumps({"id": "b", "sentences": [""]})]
    response = service.http.post("/v1/score/stream?language=en", content="\n".join(lines).encode())
    found = [json.loads(line) for line in response.text.splitlines()]
    assert response.headers["content-type"].startswith("application/x-ndjson")
    assert [one.get("line") for one in found[3:5]] == [4, 5]
    assert [one["id"] for one in found if "id" in one] == [
        f"text-{number}" for number in range(40) if number not in (3, 4)
    ]
    assert found[0]["value"] == weft.score("A cat sat. It slept 0 hours.", model="foltz-sif").value


def test_models_and_limits_are_listed(service: Running) -> None:
    found = service.http.get("/v1/models").json()
    assert [(one["name"], one["default"], one["writes"]) for one in found["models"]] == [
        ("foltz-sif", True, False),
        ("weft-reader", False, False),
    ]
    assert "essay" in found["models"][1]["genres"]
    assert found["limits"]["sentences"] == 50


def test_health_readiness_and_counters(service: Running) -> None:
    assert service.http.get("/healthz").json() == service.http.get("/readyz").json() == {"status": "ok"}
    before = _counter(service, "weft_scored_texts_total")
    post(service, "/v1/score", texts=["A cat sat. It slept."] * 3)
    assert _counter(service, "weft_scored_texts_total") == before + 3
    text = service.http.get("/metrics").text
    assert re.search(r'weft_requests_total\{method="POST",route="/v1/score",status="200"\} [1-9]', text)


def _counter(service: Running, name: str) -> float:
    found = re.search(rf"^{name} (\S+)", service.http.get("/metrics").text, re.MULTILINE)
    assert found
    return float(found[1])


def test_the_page_loads_nothing_from_outside_and_may_run_no_inline_script(service: Running) -> None:
    response = service.http.get("/")
    policy = response.headers["content-security-policy"]
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|(?:src|href)=[\"']?(?:https?:)?//", response.text)
    for name in ("x-content-type-options", "referrer-policy", "x-frame-options", "cross-origin-opener-policy"):
        assert name in response.headers
    assert not [name for name in response.headers if name.startswith("access-control")]
    assert service.http.options("/v1/score", headers={"origin": "http://a.test"}).status_code == 405


def test_answers_about_texts_are_not_cached(service: Running) -> None:
    assert service.http.post("/v1/score", json={"text": "A. B."}).headers["cache-control"] == "no-store"
