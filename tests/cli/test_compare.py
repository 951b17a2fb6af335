"""`weft compare`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.helpers.command_line import ESSAY, REVISED, ROOT, ok, weft
from tests.helpers.zoo_models import WEFT_SMALL

ORDERS = ROOT / "results" / "wikipedia-order"


def test_two_texts_in_every_format() -> None:
    light = ("-m", "foltz-sif")
    shown = ok("compare", ESSAY, REVISED, *light)
    assert "8 same, 1 changed, 1 added, 1 removed" in shown
    assert "gone from the first text" in shown
    record = json.loads(ok("compare", ESSAY, REVISED, *light, "-f", "json"))
    assert record["difference"] == pytest.approx(record["second"]["value"] - record["first"]["value"])
    assert {step["kind"] for step in record["transitions"]} == {"kept", "changed", "new", "gone"}
    removed = next(sentence for sentence in record["sentences"] if sentence["kind"] == "removed")
    assert "motorbike" in removed["text_before"]
    rows = list(csv.DictReader(io.StringIO(ok("compare", ESSAY, REVISED, *light, "-f", "csv"))))
    assert len(rows) == len(record["transitions"])
    assert float(rows[0]["value_after"]) == pytest.approx(record["transitions"][0]["value_after"])


def test_a_moved_sentence_is_shown(tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("The bell rang. Anna opened the door. A dog sat there. It was wet.", encoding="utf-8")
    second.write_text("Anna opened the door. A dog sat there. It was wet. The bell rang.", encoding="utf-8")
    shown = ok("compare", str(first), str(second), "-m", "foltz-sif")
    assert "3 same, 1 moved" in shown and "↕ moved" in shown


def test_only_changes_are_shown_in_every_format() -> None:
    command = ("compare", ESSAY, REVISED, "-m", "foltz-sif")
    whole, changes = ok(*command), ok(*command, "--changes-only")
    assert "Farmers therefore" in whole and "Farmers therefore" not in changes  # the last sentence is the same
    assert whole.splitlines()[:2] == changes.splitlines()[:2]
    record = json.loads(ok(*command, "--changes-only", "-f", "json"))
    assert {step["kind"] for step in record["transitions"]} == {"changed", "new", "gone"}
    rows = list(csv.DictReader(io.StringIO(ok(*command, "--changes-only", "-f", "csv"))))
    assert len(rows) == len(record["transitions"])


def test_a_difference_comes_with_percentiles() -> None:
    record = json.loads(ok("compare", ESSAY, REVISED, "-f", "json"))
    before, after = record["first"]["percentile"], record["second"]["percentile"]
    assert record["percentile_points"] == pytest.approx(after - before)
    assert "in 100 of these texts score between the two" in ok("compare", ESSAY, REVISED)
    light = json.loads(ok("compare", ESSAY, REVISED, "-m", "foltz-sif", "-f", "json"))
    assert light["percentile_points"] is None


def test_a_text_with_itself_has_no_difference() -> None:
    record = json.loads(ok("compare", ESSAY, ESSAY, "-m", "foltz-sif", "-f", "json"))
    assert record["difference"] == 0
    assert {sentence["kind"] for sentence in record["sentences"]} == {"same"}


def test_a_difference_of_the_last_bits_is_shown_as_zero() -> None:
    # The default model scores one of two equal texts by look-ups and the other in a batch.
    first = ok("compare", ESSAY, ESSAY).splitlines()[0]
    assert first.endswith("difference +0.0000")


def test_two_models_by_their_results_and_by_files() -> None:
    named = ("year-sort", "random", "-t", "wikipedia-order", "--results", ROOT / "results", "--documents", "2")
    record = json.loads(ok("compare", *named, "-f", "json"))
    tau = record["metrics"]["tau"]
    assert tau["difference"] == pytest.approx(tau["first"] - tau["second"])
    assert tau["interval"][0] > 0  # years order better than chance
    assert len(record["documents"]) == 2
    assert record["first_better"] + record["second_better"] + record["equal"] == 984
    assert (
        json.loads(ok("compare", ORDERS / "year-sort.json", ORDERS / "random.json", "--documents", "2", "-f", "json"))
        == record
    )
    rows = list(csv.DictReader(io.StringIO(ok("compare", *named, "-f", "csv"))))
    assert [row["metric"] for row in rows] == list(record["metrics"])
    assert "not significant" in ok("compare", *named)  # neither restores a whole paragraph


def test_two_models_evaluated_on_the_spot(year_texts: str, tmp_path: Path) -> None:
    shown = ok("compare", "year-sort", "random", "-t", "wikipedia-pairs", "--data", year_texts, cwd=tmp_path)
    assert "year-sort is better on" in shown
    assert "unreliable" in shown
    assert not (tmp_path / "results").exists()
    record = json.loads(
        ok(
            "compare",
            "year-sort",
            "random",
            "-t",
            "wikipedia-swaps",
            "--data",
            year_texts,
            "-f",
            "json",
            cwd=tmp_path,
        )
    )
    assert record["metrics"]["swaps_2"]["first"] == 1.0


def test_a_fresh_comparison_names_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_MODELS", str(WEFT_SMALL.parent))
    texts = [{"id": f"d{n}", "sentences": [f"In {1900 + i} {n} things." for i in range(3)]} for n in range(3)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, texts)))
    fresh = ("-t", "wikipedia-pairs", "--data", "mine.jsonl", "--limit", "2")
    assert "weft-small (mmi) against weft-small (bi)" in ok(
        "compare", "weft-small", "weft-small.bi", *fresh, cwd=tmp_path
    )


def test_texts_too_short_to_compare_models_on_are_told(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Only one sentence here.")
    for task in ("wikipedia-pairs", "wikipedia-order"):
        done = weft("compare", "foltz-glove", "foltz-sif", "-t", task, "--data", "one.txt", cwd=tmp_path)
        assert done.returncode == 2
        last = done.stderr.strip().splitlines()[-1]
        assert "no document was long enough" in last and "1 sentence" in last and "next: give longer texts" in last


def test_a_limit_is_not_met_by_results_of_the_whole() -> None:
    named = ("year-sort", "random", "-t", "probes", "--results", ROOT / "results", "-f", "json")
    assert json.loads(ok("compare", *named, "--limit", "7"))["n_documents"] == 7
    assert json.loads(ok("compare", *named))["n_documents"] == 322


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("foltz-sif", "random"), ("models are compared on a task", "foltz-sif", "--task pairs")),
        (("foltz-sif", "random", "-t", "wikipedia-pair"), ("unknown task", "did you mean wikipedia-pairs")),
        (("foltz-sif", "nope", "-t", "wikipedia-pairs", "--data", str(ESSAY)), ("unknown model", "nope")),
        (("foltz-sif.bi", "random", "-t", "wikipedia-pairs", "--data", str(ESSAY)), ("no parts to combine",)),
        ((str(ORDERS / "random.json"), "foltz-sif"), ("only on a task", "give --task")),
        (
            (str(ORDERS / "random.json"), str(ROOT / "results" / "probes" / "random.json")),
            ("cannot be compared", "different task"),
        ),
        (
            (str(ORDERS / "random.json"), str(ORDERS / "year-sort.json"), "--metric", "accuracy"),
            ("no such metric", "accuracy", "tau_with_given"),
        ),
        (("nothing.txt", str(ESSAY)), ("does not exist", "nothing.txt")),
        (("seq2seq.bi", "vlv-gm.bi"), ("models are compared on a task", "seq2seq.bi", "--task pairs")),
        (("random", "foltz-sif", "-t", "pairs", "--combine", "bi"), ("--combine bi", "seq2seq.bi")),
        (("random", "foltz-sif", "-t", "probes", "--set", "seed=3"), ("--set seed=3", "weft evaluate")),
        ((str(ORDERS / "random.json"), str(ORDERS / "year-sort.json"), "--set", "seed=3"), ("--set seed=3",)),
        (("random", "foltz-sif", "-t", "probes", "--changes-only"), ("--changes-only", "two texts")),
        (("random", "foltz-sif", "-t", "probes", "-m", "weft-reader"), ("--model weft-reader", "two models")),
        ((str(ESSAY), str(ESSAY), "--metric", "accuracy"), ("--metric accuracy", "add --task")),
        ((str(ESSAY), str(ESSAY), "--data", "wikipedia"), ("--data wikipedia", "add --task")),
        ((str(ESSAY), str(ESSAY), "--limit", "3"), ("--limit 3", "add --task")),
        (("models/mine", "vlv-gm"), ("does not exist", "models/mine", "add --task pairs")),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    done = weft("compare", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("weft: error:")
    assert "Traceback" not in done.stderr
    for word in (*words, "allowed:", "next:"):
        assert word in last


def test_a_file_of_several_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text('{"text": "One. Two."}\n{"text": "Three. Four."}\n')
    (tmp_path / "none.txt").write_text("")
    for name, seen in (("many.jsonl", "several texts"), ("none.txt", "no text")):
        done = weft("compare", name, ESSAY, cwd=tmp_path)
        assert (done.returncode, seen in done.stderr) == (2, True), done.stderr


def test_percentiles_of_two_versions_are_among_the_same_texts() -> None:
    found = json.loads(ok("compare", ESSAY, REVISED, "-m", "weft-reader", "-f", "json"))
    places = []
    for path in (ESSAY, REVISED):
        scored = [
            json.loads(ok("score", path, "-m", "weft-reader", "-f", "json", *genre))
            for genre in ((), ("--genre", "all"))
        ]
        places.append([one["percentiles"]["written"] for one in scored])
    assert places[0][0] != places[0][1]  # otherwise the genres of the two are the same, and this tests nothing
    assert found["percentile_points"] == pytest.approx(places[1][1] - places[0][1], abs=1e-3)
