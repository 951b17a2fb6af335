"""Fixtures of the tests of commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def year_texts(tmp_path: Path) -> str:
    """A file of five texts whose sentences are in the order of their years; its name in the temporary folder."""
    texts = [{"id": f"d{n}", "sentences": [f"In {1900 + i} {n} things." for i in range(6)]} for n in range(5)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, texts)))
    return "mine.jsonl"
