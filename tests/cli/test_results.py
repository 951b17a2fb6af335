"""Commands that read results or write data for them: `weft table`, `weft plots` and `weft corrupt`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.helpers.command_line import ESSAY, ROOT, ok, refused, weft


def test_a_table_of_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "results" / "probes").mkdir(parents=True)
    assert "no results in the folder" in refused("table", cwd=tmp_path)


def test_a_table_shows_ones_own_results(year_texts: str, tmp_path: Path) -> None:
    """Also those that no table of the paper has: other tasks, other data, fewer documents."""
    ok("evaluate", "probes", "-m", "foltz-glove", "--out", "mine", cwd=tmp_path)
    ok("evaluate", "miniatures", "-m", "random", "--limit", "3", "--out", "mine", cwd=tmp_path)
    ok("evaluate", "pairs", "--data", year_texts, "-m", "year-sort", "--out", "mine", cwd=tmp_path)
    shown = ok("table", "--results", "mine", cwd=tmp_path)
    assert "Table 1" not in shown  # the folder has no number for it
    for title, row in (
        ("probes on probes.jsonl", "| foltz-glove | .550 [.497, .602] |"),
        ("miniatures on miniatures.jsonl", "| random (limit-3) |"),
        ("pairs on mine.jsonl", "| year-sort | 1.000 [1.000, 1.000] |"),
    ):
        assert row in shown.split(f"**{title}**")[1].split("**")[0]
    rows = list(csv.reader(io.StringIO(ok("table", "--results", "mine", "-f", "csv", cwd=tmp_path))))
    assert ["year-sort", "pairs on mine.jsonl", "1.0"] in [row[:3] for row in rows]
    only = ok("table", "2", "--results", "mine", cwd=tmp_path)
    assert "Table 2" in only and "probes" not in only


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "nothere.txt" in refused("score", "nothere.txt", cwd=tmp_path)
    assert "nowhere" in refused("table", "--results", "nowhere", cwd=tmp_path)


def test_plots_says_what_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = weft("plots", "--results", ROOT / "results", "--out", "drawn", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "drawn" / "accuracy-by-swaps.svg").is_file()
    (tmp_path / "none").mkdir()
    done = weft("plots", "--results", "none", "--out", "drawn", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("left out") == 5
    assert weft("plots", "--results", "nowhere", cwd=tmp_path).returncode == 2


def test_a_built_in_model_is_calibrated_as_a_copy(tmp_path: Path) -> None:
    texts = [
        {"sentences": [f"The {n} cats saw {i} dogs." for i in range(size)]} for size in (3, 5, 10) for n in range(20)
    ]
    (tmp_path / "cats.jsonl").write_text("\n".join(map(json.dumps, texts)))
    command = ("calibrate", "weft-reader", "--data", "cats.jsonl", "--texts", "stories of cats")
    assert "next: give --out FOLDER" in refused(*command, cwd=tmp_path)
    ok(*command, "--out", "mine", cwd=tmp_path)
    assert "of stories of cats" in ok("score", ESSAY, "--model", "mine", "--explain", cwd=tmp_path)


def test_corrupt_writes_pairs_that_evaluate_reads(tmp_path: Path) -> None:
    ok("corrupt", ESSAY, "--out", "pairs.jsonl", "--permutations", "7", cwd=tmp_path)
    record = json.loads((tmp_path / "pairs.jsonl").read_text())
    assert len(record["perms"]) == 7
    shown = ok("evaluate", "-t", "accidents", "--data", "pairs.jsonl", "-f", "json", cwd=tmp_path)
    assert json.loads(shown)["n_pairs"] == 7
