"""Settings and fixtures of the whole test suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
