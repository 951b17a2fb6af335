"""The client gives what the library gives, and its errors."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from http.server import HTTPServer, SimpleHTTPRequestHandler
from typing import Any

import pytest
from tests.helpers.running_service import BEES, GatedModel, Running, running
from tests.helpers.zoo_models import WEFT_SMALL

import weft
from weft.service.settings import ServiceSettings

OTHER = BEES.replace("My uncle bought a motorbike in 1987. ", "")
DOCUMENT = weft.Document("cats", ("A cat sat.", "It slept.", "Rain fell."), "Cats", (0, 2), columns={"author": "me"})


@pytest.fixture(scope="module")
def client(service: Running) -> Iterator[weft.Client]:
    with weft.Client(service.address) as found:
        yield found


def same(found: weft.Score, expected: weft.Score) -> None:
    for field in dataclasses.fields(weft.Score):
        one, other = (getattr(score, field.name) for score in (found, expected))
        assert one == other or one == pytest.approx(other, abs=1e-4), field.name


def test_scores(client: weft.Client) -> None:
    same(client.score(BEES), weft.score(BEES, model="foltz-sif"))
    same(client.score(BEES, model="weft-reader", genre="essay"), weft.score(BEES, genre="essay"))
    for genre in ("essay", "wikipedia", "cookbook", "all"):
        labelled = dataclasses.replace(DOCUMENT, genre=genre)
        same(client.score(labelled, model="weft-reader"), weft.score(labelled))
        assert client.score([labelled, BEES], model="foltz-sif")[0].value is not None
    same(client.score(BEES, own_shuffles=True), weft.score(BEES, model="foltz-sif", own_shuffles=True))
    assert client.score(BEES, own_shuffles=True).shuffles_beaten is not None
    found = client.score(DOCUMENT)
    same(found, weft.score(DOCUMENT, model="foltz-sif"))
    assert found.document is DOCUMENT


@pytest.mark.parametrize("texts", [[BEES, DOCUMENT, ""], (BEES, OTHER), ["One.", "Two."], []])
def test_scores_of_many(client: weft.Client, texts: Any) -> None:
    found, expected = client.score(texts, model="foltz-sif"), weft.score(texts, model="foltz-sif")
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        same(one, other)


def test_the_index_of_a_series_is_kept(client: weft.Client) -> None:
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series([BEES, OTHER], index=["anna", "ben"])
    assert list(weft.to_frame(client.score(texts)).index) == ["anna", "ben"]
    assert list(weft.to_frame(client.order(texts)).index) == ["anna", "ben"]


def test_more_texts_than_a_request_may_have(client: weft.Client) -> None:
    with running(ServiceSettings(models=("foltz-sif",))) as service, weft.Client(service.address) as other:
        found = other.score([f"A cat sat. It slept {number} hours." for number in range(150)])
    assert [score.document.id for score in found if score.document] == [f"text-{number}" for number in range(150)]


def test_orders_comparisons_and_models(client: weft.Client) -> None:
    assert client.order(BEES) == weft.order(BEES, model="foltz-sif")
    assert client.order([BEES, DOCUMENT], first_given=True) == weft.order(
        [BEES, DOCUMENT], first_given=True, model="foltz-sif"
    )
    assert client.compare(BEES, OTHER) == weft.compare(BEES, OTHER, model="foltz-sif")
    assert [model["name"] for model in client.models()] == ["foltz-sif", "weft-reader"]


@pytest.mark.slow
def test_continuations(client: weft.Client) -> None:
    decoding = weft.Decoding(method="beam", beam=2, max_tokens=12)
    assert client.generate(DOCUMENT, decoding=decoding) == weft.generate(DOCUMENT, model=WEFT_SMALL, decoding=decoding)
    options: dict[str, Any] = {"method": "sample", "temperature": 0.7, "beam": 3, "seed": 5, "max_tokens": 12}
    found = client.generate(BEES, rerank="weft-reader", **options)
    assert found == weft.generate(BEES, model=WEFT_SMALL, rerank="weft-reader", **options)
    assert found.sentences != client.generate(BEES, **{**options, "seed": 6}).sentences
    with pytest.raises(weft.WeftError, match="does not serve this model"):
        client.generate(BEES, rerank="nope")
    with pytest.raises(weft.ConfigError, match="did you mean temperature"):
        client.generate(BEES, temprature=0.5)
    with pytest.raises(weft.ConfigError, match="draws"):
        client.generate(DOCUMENT, decoding=weft.Decoding(draws=7))


def test_errors_are_those_of_the_service(client: weft.Client) -> None:
    with pytest.raises(weft.WeftError, match="does not serve this model.*saw 'nope'.*allowed: foltz-sif, weft-reader"):
        client.score(BEES, model="nope")
    with pytest.raises(weft.CorpusError, match="not a text"):
        client.score(3)  # type: ignore[call-overload]
    with running(ServiceSettings(models=("foltz-sif",), api_key="schlüssel")) as service:
        with weft.Client(service.address) as stranger, pytest.raises(weft.WeftError, match="no valid key.*api_key="):
            stranger.score(BEES)
        with weft.Client(service.address, "schlüssel") as known:
            assert known.score(BEES).value is not None


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "localhost", "ftp://127.0.0.1", "http://", "", 3])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(weft.ConfigError, match="not the address of a service"):
        weft.Client(url)


def test_the_path_of_the_interface_is_no_part_of_the_address(service: Running) -> None:
    for ending in ("", "/", "/v1", "/v1/"):
        with weft.Client(service.address + ending) as client:
            assert client.models()


def test_another_server_is_not_a_service() -> None:
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.handle_request).start()
        client = weft.Client(f"http://127.0.0.1:{server.server_port}")
        with client, pytest.raises(weft.WeftError, match="not as a service of weft"):
            client.models()


def test_a_busy_service_is_asked_again() -> None:
    model = GatedModel()
    with running(ServiceSettings(models=("gated",), request_seconds=0.5), [model.served]) as service:
        with weft.Client(service.address, retries=0) as hasty, pytest.raises(weft.WeftError, match="took too long"):
            hasty.score(BEES)
        threading.Timer(1.0, model.gate.set).start()
        with weft.Client(service.address, retries=2) as patient:
            assert patient.score(BEES).value is not None
