"""Hostile input: exit code 2, one line that says what, where and what to do, and nothing half-written."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from tests.helpers.command_line import weft

ROOT = Path(__file__).parents[2]
ESSAY = ROOT / "examples" / "essay.txt"


def refused(*arguments: str | Path, cwd: Path, stdin: bytes | None = None) -> str:
    """Run a command that must be refused, and return its one line."""
    before = sorted(cwd.rglob("*"))
    result = weft(*arguments, cwd=cwd, stdin=stdin)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("weft: error: ")
    assert "; allowed: " in lines[0] or "allowed: " in lines[0]
    assert "next: " in lines[0]
    assert sorted(cwd.rglob("*")) == before, "something was half-written"
    return lines[0]


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    assert "empty.txt" in refused("score", "empty.txt", cwd=tmp_path)


def test_empty_stdin(tmp_path: Path) -> None:
    assert "no text" in refused("score", "-", cwd=tmp_path, stdin=b" \n\n")


def test_a_text_that_the_entity_graph_cannot_judge_is_told_why(tmp_path: Path) -> None:
    texts = {
        "nouns": "Run! Stop now. Quickly go away.",
        "verbs": "A dog. The cat of the dog.",
        "foreign": "猫看到了狗。狗在叫。",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    files = [f"{name}.txt" for name in texts]
    result = weft(
        "score", *files, "-m", "entity-graph", "--set", "parser=weft-parser", "--format", "json", cwd=tmp_path
    )
    assert result.returncode == 0
    values = {record["id"]: record["value"] for record in map(json.loads, result.stdout.splitlines())}
    assert values["nouns"] is None and values["verbs"] > 0
    assert "nouns: no score: no noun" in result.stderr
    assert "verbs: no subject" in result.stderr
    assert "foreign: it has few common English words" in result.stderr


def test_one_sentence_is_a_clear_null(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Only one sentence here.")
    result = weft("score", "one.txt", "--format", "json", cwd=tmp_path)
    assert result.returncode == 0
    record = json.loads(result.stdout)
    assert record["value"] is None
    assert record["transitions"] == []
    shown = weft("score", "one.txt", "--explain", cwd=tmp_path).stdout
    assert "null: no transition" in shown
    assert "nan" not in shown.lower()
    (tmp_path / "two.txt").write_text("A cat sat here. The cat slept.")
    one, two = weft("score", "one.txt", "two.txt", cwd=tmp_path).stdout.splitlines()
    assert "   1 sentence   one" in one
    assert "   2 sentences  two" in two
    assert "one: 1 sentence, " in weft("order", "one.txt", cwd=tmp_path).stderr


def test_binary_file(tmp_path: Path) -> None:
    (tmp_path / "picture.txt").write_bytes(bytes(range(256)) * 10)
    assert "binary" in refused("score", "picture.txt", cwd=tmp_path)


def test_wrong_encoding_names_the_byte(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Der Fluß ist lang. Er fließt.".encode("latin-1"))
    line = refused("score", "latin.txt", cwd=tmp_path)
    assert "0xdf" in line
    assert "offset 7" in line
    assert "--encoding" in line
    assert weft("score", "latin.txt", "--encoding", "latin-1", cwd=tmp_path).returncode == 0


def test_unknown_encoding(tmp_path: Path) -> None:
    assert "utf-9" in refused("score", ESSAY, "--encoding", "utf-9", cwd=tmp_path)


def test_two_hundred_megabytes_on_one_line(tmp_path: Path) -> None:
    with (tmp_path / "long.txt").open("wb") as handle:
        for _ in range(200):
            handle.write(b"word " * 209_715)
    assert "line 1" in refused("score", "long.txt", cwd=tmp_path)


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


def test_truncated_xz(tmp_path: Path) -> None:
    whole = lzma.compress(json.dumps({"text": "A. B. " * 5000}).encode())
    (tmp_path / "cut.jsonl.xz").write_bytes(whole[: len(whole) // 2])
    line = refused("score", "cut.jsonl.xz", cwd=tmp_path)
    assert "cut.jsonl.xz" in line


def test_unknown_model_did_you_mean(tmp_path: Path) -> None:
    assert "did you mean foltz-glove?" in refused("score", ESSAY, "--model", "foltz-glov", cwd=tmp_path)


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


def test_a_table_of_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "results" / "probes").mkdir(parents=True)
    assert "no results in the folder" in refused("table", cwd=tmp_path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "nothere.txt" in refused("score", "nothere.txt", cwd=tmp_path)
    assert "nowhere" in refused("table", "--results", "nowhere", cwd=tmp_path)


def test_a_model_folder_from_a_newer_format(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "model.json").write_text('{"format": 99, "weft": "7.0"}')
    line = refused("score", ESSAY, "--model", "m", cwd=tmp_path)
    assert "newer weft" in line
    assert "upgrade" in line


def test_a_tampered_model_folder(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[model]\nname = "foltz-glove"\n[run]\nout = "m"\n')
    assert weft("train", "run.toml", cwd=tmp_path).returncode == 0
    assert weft("score", ESSAY, "--model", "m", cwd=tmp_path).returncode == 0
    weights = tmp_path / "m" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[1000] ^= 255
    weights.write_bytes(content)
    assert "altered" in refused("score", ESSAY, "--model", "m", cwd=tmp_path)


def test_settings_that_do_not_exist(tmp_path: Path) -> None:
    assert "did you mean weighting?" in refused("score", ESSAY, "--set", "weigting=sif", cwd=tmp_path)
    assert "key=value" in refused("score", ESSAY, "--set", "weighting", cwd=tmp_path)


def test_a_failed_prepare_leaves_no_store(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"sentences": ["a b", "c d"]}\n{"oops": 1}\n')
    result = weft("prepare", "bad.jsonl", "--out", "store", "--vocabulary", "300", cwd=tmp_path)
    assert result.returncode == 2
    assert "line 2" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "store").exists()


def test_a_failed_training_leaves_no_model(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("word")
    (tmp_path / "run.toml").write_text('[model]\nname="foltz-lsa"\n[data]\ntrain=["t.txt"]\n[run]\nout="m"\n')
    assert "not enough text" in refused("train", "run.toml", cwd=tmp_path)


def test_a_file_of_nulls_and_a_directory(tmp_path: Path) -> None:
    (tmp_path / "zeros.txt").write_bytes(b"\0" * 4096)
    refused("score", "zeros.txt", cwd=tmp_path)
    (tmp_path / "folder").mkdir()
    refused("score", "folder", cwd=tmp_path)


def test_a_text_too_short_for_topics(tmp_path: Path) -> None:
    """It ended the process (a segmentation fault in the sampler)."""
    pytest.importorskip("tomotopy", reason="the extra `topics` is not installed")
    (tmp_path / "t.txt").write_text("A cat sat. A cat ran. A cat slept.")
    (tmp_path / "run.toml").write_text('[model]\nname="foltz-lda"\n[data]\ntrain=["t.txt"]\n[run]\nout="m"\n')
    assert "drop_top" in refused("train", "run.toml", cwd=tmp_path)
    assert "iterations" in refused("train", "run.toml", "--set", "model.iterations=0", cwd=tmp_path)
    assert "seed" in refused("train", "run.toml", "--set", "run.seed=99999999999999999999", cwd=tmp_path)


def test_a_folder_that_is_no_encoder(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra `hf` is not installed")
    line = refused("score", ESSAY, "--model", "foltz-embedding", "--set", f"encoder={tmp_path}", cwd=tmp_path)
    assert "sentence encoder" in line
