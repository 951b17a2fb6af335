"""A real service on a free port of this machine, and a real browser; tests are skipped where there is no Chromium."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.known_breaks import KnownBreaks
from tests.browser.running_service import running_service

from weft.loaded_model import Model

WAIT = 60_000  # milliseconds; the machine may be busy
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.fixture(scope="session")
def site(browser: Browser) -> Iterator[str]:
    """Address of the page with the model `weft-reader`, which has weak links and percentiles."""
    with running_service("weft-reader") as address:
        yield address


@pytest.fixture(scope="session")
def site_with_breaks(browser: Browser) -> Iterator[str]:
    """Address of the page with a model that has break probabilities and own shuffles, of known values."""
    with running_service("known-breaks", Model(KnownBreaks(), "known-breaks")) as address:
        yield address


@pytest.fixture
def site_with_key(browser: Browser) -> Iterator[tuple[str, str]]:
    """Address of a page that needs a key, and the key."""
    key = "moth-orbit-7"
    with running_service("known-breaks", Model(KnownBreaks(), "known-breaks"), api_key=key) as address:
        yield address, key


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A tab in a context of its own; errors on its console fail the test."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        context.set_default_timeout(WAIT)
        opened = context.new_page()
        errors: list[str] = []
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        yield opened
        assert [error for error in errors if not error.startswith("Failed to load resource")] == []


@pytest.fixture
def picture() -> Path:
    """Folder of the pictures in the documentation; pictures are taken only if WEFT_PICTURES is set."""
    if not os.environ.get("WEFT_PICTURES"):
        pytest.skip("pictures are taken only on request: WEFT_PICTURES=1")
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES
