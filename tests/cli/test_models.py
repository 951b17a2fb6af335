"""`weft models`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.helpers.command_line import ESSAY, ok, refused, weft

from weft.cli.options import DEFAULT_MODEL
from weft.io.model_folder import Artifact, save_artifact
from weft.registry import MODELS


def test_models_are_one_line_each() -> None:
    lines = ok("models").splitlines()
    expected = [DEFAULT_MODEL, *MODELS]
    assert [line[2:].split()[0] for line in lines][: len(expected)] == expected
    assert [line[2:].split()[0] for line in lines if line.startswith("*")] == [DEFAULT_MODEL]
    assert all("texts/s" in line or " – " in line for line in lines)
    records = [json.loads(line) for line in ok("models", "-f", "json").splitlines()]
    assert [record["name"] for record in records][: len(expected)] == expected
    assert len(list(csv.DictReader(io.StringIO(ok("models", "-f", "csv"))))) == len(lines) == len(records)


@pytest.mark.parametrize("name", ["weft-reader", "foltz-lsa", "year-sort", "syntax-hmm"])
def test_a_model_is_described(name: str) -> None:
    text = ok("models", name)
    assert text.startswith(name)
    assert "higher is more coherent" in text
    assert ("18.2 texts of 15 sentences per second" if name == "weft-reader" else "not measured") in text
    assert json.loads(ok("models", name, "-f", "json"))["name"] == name
    assert "did you mean" in weft("models", f"{name}x").stderr


def test_a_model_that_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    described = ok("models", "seq2seq", cwd=tmp_path)
    line = refused("score", ESSAY, "-m", "seq2seq", cwd=tmp_path)
    for text in (described, line):
        assert "pip install ./zoo" in text and "weft train" in text and "WEFT_MODELS" in text


def test_a_folder_does_not_need_training(tmp_path: Path) -> None:
    save_artifact(Artifact("foltz-lsa", {}), tmp_path / "mine")
    text = ok("models", str(tmp_path / "mine"))
    assert "pip install ./zoo" not in text
    assert "found in" in text
