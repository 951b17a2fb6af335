"""`weft evaluate`: tasks, data, results and mistakes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.helpers.command_line import ESSAY, ok, refused, weft
from tests.helpers.scorers import synthetic

from weft.cli.evaluate import write_result
from weft.cli.score import write_scores
from weft.corpora.readers.formats import read_documents
from weft.evaluation.evaluate import evaluate
from weft.evaluation.result import Result
from weft.evaluation.task_contract import Subject
from weft.loaded_model import Model
from weft.registry import create_model
from weft.report.table_formats import Cell, Column, RenderedTable, Row, render


@pytest.fixture
def result(tmp_path: Path) -> Result:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps({"id": d.id, "sentences": d.sentences}) for d in synthetic(3, 4)))
    return evaluate("wikipedia-pairs", Subject(create_model("random"), "random"), str(path))


def test_evaluate_then_table(year_texts: str, tmp_path: Path) -> None:
    shown = ok("evaluate", "-t", "wikipedia-pairs", "-m", "year-sort", "--data", year_texts, cwd=tmp_path)
    assert "accuracy" in shown
    path = tmp_path / "results" / "pairs" / "year-sort.json"  # on a file, the folder has the name of the task
    result = json.loads(path.read_text())
    assert result["metrics"]["accuracy"] == 1.0
    assert result["command"].startswith("weft evaluate -t wikipedia-pairs")
    assert result["n_pairs"] == 100
    # A user's own corpus is not the paper's test set: it does not enter the paper's table, but has one of its own.
    assert "year-sort" not in ok("table", "2", cwd=tmp_path)
    assert "year-sort" in ok("table", cwd=tmp_path)
    for form in ("markdown", "csv", "latex"):
        assert "Seq2Seq" in ok("table", "2", "-f", form, cwd=tmp_path)


def test_evaluate_as_json_and_csv(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(json.dumps({"sentences": ["In 1900.", "In 1910.", "In 1920."]}))
    arguments = ("evaluate", "-t", "wikipedia-order", "-m", "year-sort", "--data", "m.jsonl")
    assert json.loads(ok(*arguments, "-f", "json", cwd=tmp_path))["metrics"]["tau"] == 1.0
    rows = list(csv.DictReader(io.StringIO(ok(*arguments, "-f", "csv", cwd=tmp_path))))
    assert {row["metric"] for row in rows} >= {"tau", "tau_with_given", "free_tau", "perfect_match"}


def test_settings_without_a_variant_get_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(json.dumps({"sentences": ["A cat.", "A dog.", "A bird."]}))
    arguments = ("evaluate", "-t", "accidents", "-m", "foltz-glove", "--data", "m.jsonl")
    ok(*arguments, cwd=tmp_path)
    ok(*arguments, "--set", "weighting=sif", cwd=tmp_path)
    names = sorted(path.name for path in (tmp_path / "results" / "pairs").glob("*.json"))
    assert names == ["foltz-glove.json", "foltz-glove.weighting=sif.json"]
    refused = weft(*arguments, "--variant", "../../evil", cwd=tmp_path)
    assert refused.returncode == 2
    assert weft(*arguments, "--variant", "x" * 300, cwd=tmp_path).returncode == 2


def test_evaluate_several_tasks_at_once(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(json.dumps({"sentences": ["In 1900.", "In 1910.", "In 1920."]}))
    ok("evaluate", "-t", "accidents", "-t", "wikipedia-order", "-m", "year-sort", "--data", "m.jsonl", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["order", "pairs"]
    assert weft("evaluate", "-t", "accidents", "-m", "random", "--combine", "uni", cwd=tmp_path).returncode == 2


def test_null_is_an_empty_field_in_every_csv(
    result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_result(replace(result, metrics={"accuracy": None}, interval={"accuracy": None}), form="csv")
    (tmp_path / "one.txt").write_text("Only one sentence.")
    model = Model(create_model("random"), "random")
    write_scores(model.score_stream(read_documents(tmp_path / "one.txt")), form="csv", explain=False)
    table = RenderedTable(
        1, "T", (Column("x, paper", False), Column("x, weft", True)), (Row("m", "", (Cell(), Cell())),)
    )
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out + render(table, "csv"))))
    assert rows[1] == ["pairs", "random", "", "accuracy", "", "", ""]
    assert rows[3] == ["one", "1", *[""] * 6, "no-score"]
    assert rows[5] == ["m", *[""] * 7]


def test_json_output_leaves_the_lists_of_documents_to_the_result_file(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    assert result.documents
    assert result.per_document
    write_result(result, form="json")
    shown = json.loads(capsys.readouterr().out)
    assert shown["metrics"] == result.metrics
    assert not {"documents", "per_document"} & set(shown)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"sentences": ["a"]}\n{"body": "x"}', ("line 2", "body", "text", "sentences", "paragraphs")),
        ('{"sentences": ["a"]}\n\n{"sentences": [1]}', ("line 3",)),
        ('{"text": "a"', ("line 1",)),
        ("[1]", ("line 1",)),
    ],
)
def test_bad_json_names_file_and_line(tmp_path: Path, content: str, expected: tuple[str, ...]) -> None:
    (tmp_path / "bad.jsonl").write_text(content)
    # evaluate reads everything before it writes anything
    line = refused("evaluate", "--task", "wikipedia-pairs", "--data", "bad.jsonl", "-m", "random", cwd=tmp_path)
    assert "bad.jsonl" in line
    for part in expected:
        assert part in line


def test_unknown_task_and_format(tmp_path: Path) -> None:
    assert "did you mean wikipedia-pairs?" in refused("evaluate", "--task", "wikipedia-pair", cwd=tmp_path)
    assert "jsonl" in refused("score", ESSAY, "--input", "jsnl", cwd=tmp_path)


def test_every_task_is_checked_before_the_first_runs(tmp_path: Path) -> None:
    assert "nosuch" in refused("evaluate", "-t", "probes", "-t", "nosuch", "-m", "random", cwd=tmp_path)
    both = ("-t", "adversarial", "-t", "probes", "-m", "control-repeat-last")
    assert "unknown model" in refused("evaluate", *both, cwd=tmp_path), "a control is a model of one task alone"


@pytest.mark.parametrize(("option", "value"), [("--limit", "0"), ("--seed", "-1"), ("--beam", "x")])
def test_a_refused_value_is_shown(tmp_path: Path, option: str, value: str) -> None:
    done = weft("evaluate", "-t", "probes", "-m", "random", option, value, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert option in line and value in line.replace(option, "") and "next: weft evaluate --help" in line
    assert line.count(repr(value)) <= 1


def test_a_task_and_its_data_are_named_apart(year_texts: str, tmp_path: Path) -> None:
    shown = ok("evaluate", "pairs", "--data", year_texts, "-m", "foltz-sif", cwd=tmp_path)
    assert shown.startswith("pairs  foltz-sif")
    record = json.loads((tmp_path / "results" / "pairs" / "foltz-sif.json").read_text())
    assert (record["task"], record["n_documents"]) == ("pairs", 5)


@pytest.mark.parametrize("words", [("wikipedia-pairs",), ("--task", "wikipedia-pairs"), ("-t", "pairs"), ("pairs",)])
def test_old_names_and_the_old_option_of_a_task(words: tuple[str, ...], year_texts: str, tmp_path: Path) -> None:
    shown = ok("evaluate", *words, "--data", year_texts, "-m", "year-sort", "-f", "json", cwd=tmp_path)
    assert json.loads(shown)["metrics"]["accuracy"] == 1.0


def test_several_tasks_by_position(year_texts: str, tmp_path: Path) -> None:
    ok("evaluate", "pairs", "order", "--data", year_texts, "-m", "year-sort", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["order", "pairs"]


def test_standard_data_that_are_not_there(tmp_path: Path) -> None:
    assert "WEFT_DATA" in refused("evaluate", "pairs", "--data", "wikipedia", "-m", "random", cwd=tmp_path)
    assert "wikipedia" in refused("evaluate", "pairs", "--data", "wikipedi", "-m", "random", cwd=tmp_path)


def test_no_task(tmp_path: Path) -> None:
    assert "adversarial" in refused("evaluate", cwd=tmp_path)


def test_mistakes_in_adversarial_are_explained(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(json.dumps({"sentences": ["A cat.", "A dog.", "A bird."]}))
    arguments = ("evaluate", "adversarial", "--data", "m.jsonl", "-m")
    line = refused(*arguments, "foltz-glove", cwd=tmp_path)
    assert "cannot write" in line
    assert "weft-small" in line
    control = (*arguments, "control-human")
    assert "evaluator.reader?" in refused(*control, "--set", "evaluator.readr=x", cwd=tmp_path)
    assert "a whole number" in refused(*control, "--set", "evaluator.seeds=x", cwd=tmp_path)


def test_each_task_is_listed_once(tmp_path: Path) -> None:
    assert refused("evaluate", "parirs", cwd=tmp_path).count("miniatures") == 1
