"""Settings and fixtures of the whole test suite."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# `make test` runs one worker per core, so each worker computes with one thread. The libraries read these variables when
# they are imported, and child processes inherit them. A value that is already set wins.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The research data beside the checkout; tests that need it also carry the marker ``shared``."""
    folder = Path(os.environ.get("WEFT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("research data not found: set WEFT_DATA")
    return folder


FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
WAIT = 60_000  # milliseconds; the machine may be busy


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, as the system has it: one for all tests, because Playwright runs once in a process."""
    from playwright.sync_api import expect, sync_playwright

    from weft.report.html.pdf_files import BROWSERS

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("Chromium is missing: apt-get install chromium")
    expect.set_options(timeout=WAIT)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()
