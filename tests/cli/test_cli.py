"""The commands, run as a user runs them."""

from __future__ import annotations

import bz2
import csv
import io
import json
import os
from pathlib import Path

import pytest
from tests.helpers.command_line import weft

from weft.cli.options import DEFAULT_MODEL
from weft.registry import DEFAULT_MODEL as REGISTERED
from weft.registry import MODELS
from weft.version import VERSION

ROOT = Path(__file__).parents[2]
ESSAY = ROOT / "examples" / "essay.txt"
SHUFFLED = ROOT / "examples" / "shuffled.txt"
COMMANDS = (
    "prepare", "train", "score", "order", "generate", "picture", "compare", "corrupt", "evaluate", "calibrate", "table",
    "plots", "samples", "models", "config", "curves",
)  # fmt: skip


def ok(*arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None) -> str:
    result = weft(*arguments, cwd=cwd, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_version_and_help() -> None:
    assert ok("--version") == f"weft {VERSION}\n"
    text = ok("--help")
    for command in COMMANDS:
        assert command in text
    assert "--install-completion" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    text = ok(command, "--help")
    assert command == "models" or f"weft {command}" in " ".join(text.split())


def test_help_comes_at_once() -> None:
    best = min(_processor_seconds("--help") for _ in range(3))
    assert best < 1.0


def _processor_seconds(*arguments: str) -> float:
    """Processor time of a command, which does not depend on what else the machine does."""
    before = os.times()
    ok(*arguments)
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)


def test_the_default_model_is_the_registered_one() -> None:
    assert DEFAULT_MODEL == REGISTERED


def test_explain_shows_every_sentence_and_the_break() -> None:
    text = ok("score", ESSAY, "--explain")
    lines = text.splitlines()
    assert sum(" █" in line for line in lines) == 9
    uncle = next(number for number, line in enumerate(lines) if "My uncle" in line)
    assert "weak link" in lines[uncle - 1]
    assert "weak link" in lines[uncle + 1]


def test_score_formats_agree() -> None:
    record = json.loads(ok("score", ESSAY, "-f", "json"))
    rows = list(csv.DictReader(io.StringIO(ok("score", ESSAY, "-f", "csv"))))
    assert float(rows[0]["value"]) == record["value"]
    assert int(rows[0]["sentences"]) == record["sentences"] == 10
    transitions = list(csv.DictReader(io.StringIO(ok("score", ESSAY, "-f", "csv", "--explain"))))
    assert [float(row["value"]) for row in transitions] == record["transitions"]
    assert f"{record['value']:.4f}" in ok("score", ESSAY)


def test_score_reads_stdin_and_compressed_files(tmp_path: Path) -> None:
    expected = json.loads(ok("score", ESSAY, "-f", "json"))["value"]
    assert json.loads(ok("score", "-", "-f", "json", stdin=ESSAY.read_bytes()))["value"] == expected
    (tmp_path / "essay.txt.bz2").write_bytes(bz2.compress(ESSAY.read_bytes()))
    assert json.loads(ok("score", tmp_path / "essay.txt.bz2", "-f", "json"))["value"] == expected


def test_score_many_documents(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"d{n}", "text": "A cat sat. A dog ran. Rain fell."}) for n in range(150)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    records = [json.loads(line) for line in ok("score", tmp_path / "many.jsonl", ESSAY, "-f", "json").splitlines()]
    assert [record["id"] for record in records] == [*(f"d{n}" for n in range(150)), "essay"]
    assert len({record["value"] for record in records[:150]}) == 1


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    import subprocess
    import sys

    lines = [json.dumps({"id": f"d{n}", "text": "A cat sat. A dog ran."}) for n in range(20_000)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    command = f"{sys.executable} -m weft score many.jsonl -f json | head -1"
    done = subprocess.run(
        ["bash", "-c", command + "; exit ${PIPESTATUS[0]}"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.stderr == b""
    assert done.returncode == 0
    assert json.loads(done.stdout)["id"] == "d0"


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


def test_evaluate_then_table(tmp_path: Path) -> None:
    texts = [{"id": f"d{n}", "sentences": [f"In {1900 + i} {n} things." for i in range(6)]} for n in range(5)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, texts)))
    shown = ok("evaluate", "-t", "wikipedia-pairs", "-m", "year-sort", "--data", "mine.jsonl", cwd=tmp_path)
    assert "accuracy" in shown
    path = tmp_path / "results" / "wikipedia-pairs" / "year-sort.json"
    result = json.loads(path.read_text())
    assert result["metrics"]["accuracy"] == 1.0
    assert result["command"].startswith("weft evaluate -t wikipedia-pairs")
    assert result["n_pairs"] == 100
    # A user's own corpus is not the paper's test set: it does not enter the paper's table.
    assert "year-sort" not in ok("table", cwd=tmp_path)
    for form in ("markdown", "csv", "latex"):
        assert "Seq2Seq" in ok("table", "2", "-f", form, cwd=tmp_path)


def test_evaluate_as_json_and_csv(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(json.dumps({"sentences": ["In 1900.", "In 1910.", "In 1920."]}))
    arguments = ("evaluate", "-t", "wikipedia-order", "-m", "year-sort", "--data", "m.jsonl")
    assert json.loads(ok(*arguments, "-f", "json", cwd=tmp_path))["metrics"]["tau"] == 1.0
    rows = list(csv.DictReader(io.StringIO(ok(*arguments, "-f", "csv", cwd=tmp_path))))
    assert {row["metric"] for row in rows} >= {"tau", "tau_with_given", "free_tau", "perfect_match"}


def test_corrupt_writes_pairs_that_evaluate_reads(tmp_path: Path) -> None:
    ok("corrupt", ESSAY, "--out", "pairs.jsonl", "--permutations", "7", cwd=tmp_path)
    record = json.loads((tmp_path / "pairs.jsonl").read_text())
    assert len(record["perms"]) == 7
    shown = ok("evaluate", "-t", "accidents", "--data", "pairs.jsonl", "-f", "json", cwd=tmp_path)
    assert json.loads(shown)["n_pairs"] == 7


def test_models_are_one_line_each() -> None:
    lines = ok("models").splitlines()
    assert [line[2:].split()[0] for line in lines][: len(MODELS)] == list(MODELS)
    assert [line[2:].split()[0] for line in lines if line.startswith("*")] == [DEFAULT_MODEL]
    records = [json.loads(line) for line in ok("models", "-f", "json").splitlines()]
    assert [record["name"] for record in records][: len(MODELS)] == list(MODELS)
    assert len(list(csv.DictReader(io.StringIO(ok("models", "-f", "csv"))))) == len(lines) == len(records)


@pytest.mark.parametrize("name", ["weft-small", "foltz-lsa", "year-sort", "syntax-hmm"])
def test_a_model_is_described(name: str) -> None:
    text = ok("models", name)
    assert text.startswith(name)
    assert "higher is more coherent" in text
    assert json.loads(ok("models", name, "-f", "json"))["name"] == name
    assert "did you mean" in weft("models", f"{name}x").stderr


def test_weft_alone_shows_its_help() -> None:
    assert "score" in ok()


def test_config_shows_defaults_and_checks_files(tmp_path: Path) -> None:
    text = ok("config", "foltz-lda", "--set", "model.topics=7")
    assert "topics = 7" in text
    (tmp_path / "run.toml").write_text(text)
    assert ok("config", tmp_path / "run.toml") == text


def test_a_printed_configuration_can_be_trained(tmp_path: Path) -> None:
    lines = [json.dumps({"sentences": [f"Cat {n} sat.", f"Dog {n} ran.", f"Owl {n} flew."]}) for n in range(20)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    sizes = [f"model.{name}=8" for name in ("dimensions", "hidden")]
    settings = [*sizes, "model.layers=1", "data.train=['t.jsonl']", "data.vocabulary=300", "training.steps=2"]
    text = ok("config", "seq2seq", *(word for setting in settings for word in ("--set", setting)))
    (tmp_path / "run.toml").write_text(text)
    ok("train", "run.toml", "--out", "m", "--device", "cpu", "--set", "training.prior.steps=3", cwd=tmp_path)
    steps = {part: _last_step(tmp_path / "m.run" / part) for part in ("forward", "prior")}
    assert steps == {"forward": 2, "prior": 3}


def _last_step(run: Path) -> int:
    from safetensors import safe_open

    with safe_open(run / "checkpoint.safetensors", framework="pt") as opened:
        step: int = json.loads(opened.metadata()["numbers"])["step"]
    return step


def test_train_then_score(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("\n\n".join(f"Cats purr {n}. Cats sleep. Stocks fell {n}." for n in range(9)))
    (tmp_path / "run.toml").write_text('[model]\nname = "foltz-lsa"\ndimensions = 2\n[data]\ntrain = ["texts.txt"]\n')
    ok("train", "run.toml", "--out", "my-lsa", cwd=tmp_path)
    assert json.loads(ok("score", ESSAY, "--model", "my-lsa", "-f", "json", cwd=tmp_path))["value"] is not None
    ok("evaluate", "-t", "accidents", "--model", "my-lsa", "--data", ESSAY, cwd=tmp_path)
    result = json.loads((tmp_path / "results" / "accidents" / "foltz-lsa.json").read_text())
    assert result["training"]["command"] == "weft train run.toml --out my-lsa"


def test_prepare_twice_is_done_once(tmp_path: Path) -> None:
    lines = [json.dumps({"sentences": [f"Cat {n} sat.", f"Dog {n} ran."]}) for n in range(200)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    arguments = ("prepare", "t.jsonl", "--out", "store", "--vocabulary", "300")
    ok(*arguments, cwd=tmp_path)
    first = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store").iterdir()}
    result = weft(*arguments, cwd=tmp_path)
    assert result.returncode == 0
    assert "400 sentences" in result.stderr
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store").iterdir()} == first


def test_mistakes_in_the_command_are_one_line() -> None:
    for arguments in (("scor",), ("score",), ("score", "--foo", "x"), ("evaluate", "-t", "accidents", "--seed", "-1")):
        result = weft(*arguments)
        assert result.returncode == 2
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1, result.stderr
        assert result.stderr.startswith("weft: error: ")
        assert "--help" in result.stderr


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
def test_a_full_or_closed_output(redirect: str) -> None:
    import subprocess
    import sys

    if redirect == ">/dev/full" and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    command = f"{sys.executable} -m weft score {ESSAY} {redirect}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if "full" in redirect else 0)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_show_everything(encoding: str) -> None:
    import os
    import subprocess
    import sys

    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "weft", "score", str(ESSAY), "--explain"],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text("A cat \x1b[31msat. It \x07slept.")
    shown = ok("score", tmp_path / "evil.txt", "--explain")
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_settings_without_a_variant_get_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(json.dumps({"sentences": ["A cat.", "A dog.", "A bird."]}))
    arguments = ("evaluate", "-t", "accidents", "-m", "foltz-glove", "--data", "m.jsonl")
    ok(*arguments, cwd=tmp_path)
    ok(*arguments, "--set", "weighting=sif", cwd=tmp_path)
    names = sorted(path.name for path in (tmp_path / "results" / "accidents").glob("*.json"))
    assert names == ["foltz-glove.json", "foltz-glove.weighting=sif.json"]
    refused = weft(*arguments, "--variant", "../../evil", cwd=tmp_path)
    assert refused.returncode == 2
    assert weft(*arguments, "--variant", "x" * 300, cwd=tmp_path).returncode == 2


def test_evaluate_several_tasks_at_once(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text(json.dumps({"sentences": ["In 1900.", "In 1910.", "In 1920."]}))
    ok("evaluate", "-t", "accidents", "-t", "wikipedia-order", "-m", "year-sort", "--data", "m.jsonl", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["accidents", "wikipedia-order"]
    assert weft("evaluate", "-t", "accidents", "-m", "random", "--combine", "uni", cwd=tmp_path).returncode == 2


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
