"""`weft config`, `weft prepare` and `weft train`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers.command_line import ESSAY, ok, refused, weft


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
    result = json.loads((tmp_path / "results" / "pairs" / "foltz-lsa.json").read_text())
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


def test_the_folder_of_another_model_is_not_replaced(tmp_path: Path) -> None:
    ok("train", _config(tmp_path, "random"), "--out", "m", cwd=tmp_path)
    ok("train", "random.toml", "--out", "m", cwd=tmp_path)
    before = (tmp_path / "m" / "model.json").read_text()
    line = refused("train", _config(tmp_path, "year-sort"), "--out", "m", cwd=tmp_path)
    assert "another model" in line and "'random'" in line and "another --out" in line
    assert (tmp_path / "m" / "model.json").read_text() == before


def _config(folder: Path, name: str) -> str:
    (folder / f"{name}.toml").write_text(f'model.name = "{name}"')
    return f"{name}.toml"


def test_a_list_is_named_as_a_list(tmp_path: Path) -> None:
    assert 'a list, such as ["a.jsonl"]' in refused("config", "random", "--set", "data.train=3", cwd=tmp_path)
    assert 'train = ["mine.jsonl"]' in ok("config", "random", "--set", "data.train=mine.jsonl", cwd=tmp_path)


def test_a_text_too_short_for_topics(tmp_path: Path) -> None:
    """It ended the process (a segmentation fault in the sampler)."""
    pytest.importorskip("tomotopy", reason="the extra `topics` is not installed")
    (tmp_path / "t.txt").write_text("A cat sat. A cat ran. A cat slept.")
    (tmp_path / "run.toml").write_text('[model]\nname="foltz-lda"\n[data]\ntrain=["t.txt"]\n[run]\nout="m"\n')
    assert "drop_top" in refused("train", "run.toml", cwd=tmp_path)
    assert "iterations" in refused("train", "run.toml", "--set", "model.iterations=0", cwd=tmp_path)
    assert "seed" in refused("train", "run.toml", "--set", "run.seed=99999999999999999999", cwd=tmp_path)
