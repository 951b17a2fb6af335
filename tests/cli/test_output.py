"""What commands write: results as CSV and JSON; and the threads they use."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.helpers.scorers import synthetic

from weft.cli.evaluate import write_result
from weft.cli.score import write_scores
from weft.corpora.readers.formats import read_documents
from weft.evaluation.evaluate import Subject, evaluate
from weft.evaluation.result import Result
from weft.loaded_model import Model
from weft.registry import create_model
from weft.report.tables import Cell, Column, RenderedTable, render


@pytest.fixture
def result(tmp_path: Path) -> Result:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps({"id": d.id, "sentences": d.sentences}) for d in synthetic(3, 4)))
    return evaluate("wikipedia-pairs", Subject(create_model("random"), "random"), str(path))


def test_null_is_an_empty_field_in_every_csv(
    result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_result(replace(result, metrics={"accuracy": None}, interval={"accuracy": None}), form="csv")
    (tmp_path / "one.txt").write_text("Only one sentence.")
    write_scores(
        Model(create_model("random"), "random"), read_documents(tmp_path / "one.txt"), form="csv", explain=False
    )
    table = RenderedTable(1, "T", (Column("x, paper", False), Column("x, weft", True)), (("m", (Cell(), Cell())),))
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out + render(table, "csv"))))
    assert rows[1] == ["wikipedia-pairs", "random", "", "accuracy", "", "", ""]
    assert rows[3] == ["one", "1", "", "", ""]
    assert rows[5] == ["m", "", "", "", ""]


def test_json_output_leaves_the_lists_of_documents_to_the_result_file(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    assert result.documents
    assert result.per_document
    write_result(result, form="json")
    shown = json.loads(capsys.readouterr().out)
    assert shown["metrics"] == result.metrics
    assert not {"documents", "per_document"} & set(shown)


WATCH = """
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_NUM_THREADS"), os.environ.get("OMP_WAIT_POLICY"), file=sys.stderr)
sys.meta_path.insert(0, Watch())
from weft.cli import main
sys.argv = ["weft", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    ("command", "given", "seen"),
    [
        ("score", {}, "1 PASSIVE"),
        ("order", {}, "1 PASSIVE"),
        ("order", {"OPENBLAS_NUM_THREADS": "3", "OMP_WAIT_POLICY": "ACTIVE"}, "3 ACTIVE"),
        ("config", {}, "None PASSIVE"),
    ],
)
def test_threads_of_matrix_products_are_settled_before_numpy_comes(
    command: str, given: dict[str, str], seen: str, tmp_path: Path
) -> None:
    """Too late it would change nothing: the library of matrix products reads the environment once."""
    text = tmp_path / "text.txt"
    text.write_text("A cat sat. A cat slept.")
    words = ["foltz-sif"] if command == "config" else [str(text), "--model", "foltz-sif"]
    inherited = {k: v for k, v in os.environ.items() if k not in {"OPENBLAS_NUM_THREADS", "OMP_WAIT_POLICY"}}
    done = subprocess.run(
        [sys.executable, "-c", WATCH, command, *words],
        capture_output=True, text=True, check=True, env={**inherited, **given},
    )  # fmt: skip
    assert done.stderr.splitlines()[0] == seen  # numpy is looked for once; messages of the command follow
