"""`weft order`."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

from tests.helpers.command_line import SHUFFLED, ok, weft
from tests.helpers.zoo_models import WEFT_SMALL


def test_order_restores_the_years() -> None:
    text = ok("order", SHUFFLED, "--input", "lines", "--model", "year-sort")
    assert "born" in text.splitlines()[0]
    assert "died" in text.splitlines()[-1]


def test_order_as_json_and_csv() -> None:
    record = json.loads(ok("order", SHUFFLED, "-i", "lines", "-f", "json"))
    assert sorted(record["order"]) == list(range(6))
    assert record["search"] == "exact"
    assert record["value"] >= record["input_value"]
    rows = list(csv.DictReader(io.StringIO(ok("order", SHUFFLED, "-i", "lines", "-f", "csv"))))
    assert [int(row["was"]) for row in rows] == record["order"]
    first = json.loads(ok("order", SHUFFLED, "-i", "lines", "-f", "json", "--first-given"))
    assert first["order"][0] == 0


def test_one_move_is_suggested() -> None:
    arguments = ("order", SHUFFLED, "-i", "lines", "--move-one")
    record = json.loads(ok(*arguments, "-f", "json"))
    assert record["gain"] > 0 and record["was"] != record["place"]
    assert f"move sentence {record['was'] + 1} to place {record['place'] + 1}: {record['sentence']}" in ok(*arguments)
    (row,) = csv.DictReader(io.StringIO(ok(*arguments, "-f", "csv")))
    assert (int(row["was"]), int(row["place"]), row["sentence"]) == (record["was"], record["place"], record["sentence"])


def test_the_given_order_is_kept_and_stderr_says_so(tmp_path: Path) -> None:
    """The best order of a wide beam is given to the greedy search, which finds less."""
    text, kept = tmp_path / "text.txt", 0
    for seed in range(8):
        text.write_text("".join(f"Line {number} of {seed}.\n" for number in range(14)), encoding="utf-8")
        best = json.loads(ok("order", str(text), "-i", "lines", "-m", "random", "--beam", "300", "-f", "json"))
        text.write_text("".join(f"{sentence}\n" for sentence in best["sentences"]), encoding="utf-8")
        run = weft("order", str(text), "-i", "lines", "-m", "random", "--search", "greedy")
        if "kept the given order" in run.stderr:
            kept += 1
            break
    assert kept


def test_the_best_order_is_said_to_be_the_best(tmp_path: Path) -> None:
    """Given the best order of an exact search, the command finds it again and says that none is better."""
    best = json.loads(ok("order", SHUFFLED, "-i", "lines", "-m", "foltz-sif", "-f", "json"))
    assert not best["kept"]
    (tmp_path / "best.txt").write_text("\n".join(best["sentences"]), encoding="utf-8")
    again = weft("order", "best.txt", "-i", "lines", "-m", "foltz-sif", cwd=tmp_path)
    assert "kept the given order: no order is better" in again.stderr
    assert [line.split()[0] for line in again.stdout.splitlines()] == ["1", "2", "3", "4", "5", "6"]


def test_a_lower_score_is_explained(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("It rained all day. The river rose in the night. The bridge was closed.")

    def said(*words: str | Path) -> tuple[float, float, bool]:
        stderr = weft("order", *words, "--model", WEFT_SMALL, cwd=tmp_path).stderr
        found = re.search(r"score (\S+) as given, (\S+) in this order(.*)", stderr)
        assert found is not None, stderr
        return float(found[1]), float(found[2]), "precedence" in found[3]

    given, found, explained = said("text.txt")
    assert found < given and explained
    given, found, explained = said(SHUFFLED, "--input", "lines")
    assert found > given and not explained
