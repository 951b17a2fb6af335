"""`weft generate`."""

from __future__ import annotations

import json

from tests.helpers.command_line import ESSAY, ok, weft


def test_generate_continues_a_text() -> None:
    arguments = ("generate", ESSAY, "--sentences", "2", "-f", "json")
    record = json.loads(ok(*arguments))
    assert len(record["sentences"]) == 2
    assert all(sentence.strip() for sentence in record["sentences"])
    assert json.loads(ok(*arguments)) == record
    refused = weft("generate", ESSAY, "--model", "foltz-sif")
    assert refused.returncode == 2
    assert "cannot write" in refused.stderr
    assert weft("generate", ESSAY, "--rerank", "best").returncode == 2


def test_any_beam_can_be_written_with() -> None:
    assert ok("generate", ESSAY, "--beam", "3").strip()
