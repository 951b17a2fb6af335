"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The research data beside the checkout; tests that need it also carry the marker ``shared``."""
    folder = Path(os.environ.get("WEFT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("research data not found: set WEFT_DATA")
    return folder
