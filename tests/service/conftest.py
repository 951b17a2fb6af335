"""The services that most tests talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.helpers.running_service import GatedModel, Running, running
from tests.helpers.zoo_models import WEFT_SMALL

from weft.service.settings import ServiceSettings


@pytest.fixture(scope="session")
def service() -> Iterator[Running]:
    """A service with a fast model and small limits."""
    settings = ServiceSettings(
        models=("foltz-sif", "weft-reader"), body_bytes=20_000, texts=8, sentences=50, characters=8_000, tokens=1_500,
        order_sentences=12, writer=str(WEFT_SMALL), stream_bytes=40_000, request_seconds=20.0,
    )  # fmt: skip
    with running(settings) as found:
        yield found


@pytest.fixture
def gated() -> Iterator[tuple[GatedModel, Running]]:
    """A service whose model waits until its gate is opened, with a queue of eight texts."""
    model = GatedModel()
    settings = ServiceSettings(models=("gated",), queue_texts=8, batch_texts=8, request_seconds=20.0)
    with running(settings, [model.served]) as found:
        yield model, found
        model.gate.set()
