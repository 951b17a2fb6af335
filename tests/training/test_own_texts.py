"""`weft config --for`: a configuration for a user's own texts, and the run that it describes."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest
from tests.helpers.command_line import ROOT, ok, refused
from tests.helpers.tiny_reader import trained_reader

import weft
from weft.corpora.store.split_files import split_files
from weft.errors import ConfigError, CorpusError, ModelError
from weft.io.model_folder import read_manifest
from weft.registry import DEFAULT_MODEL
from weft.training import own_texts
from weft.training.config import build_config
from weft.training.own_texts import MOST_STEPS, RATES, plan_for_texts

ESSAYS = ROOT / "examples" / "essays.jsonl"


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small trained reader."""
    place = tmp_path_factory.mktemp("start") / "small"
    trained_reader().save(place)
    return place


def test_a_reader_is_trained_further_on_essays(start: Path, tmp_path: Path) -> None:
    text = ok("config", "--for", start, "--data", ESSAYS, "--set", "training.steps=2", cwd=tmp_path)
    (tmp_path / "run.toml").write_text(text)
    ok("train", "run.toml", cwd=tmp_path)
    manifest = read_manifest(tmp_path / "my-reader")
    assert manifest["config"]["hidden"] == read_manifest(start)["config"]["hidden"]
    assert manifest["training"]["start"]["sha256"] == read_manifest(start)["sha256"]
    split = tmp_path / "my-reader.run" / "split"
    counts = {path.stem: len(path.read_text().splitlines()) for path in split.iterdir()}
    assert counts == {"train": 29, "valid": 3}
    ok("calibrate", "my-reader", "--data", ESSAYS, "--unit", "text", "--texts", "essays", cwd=tmp_path)
    found = json.loads(ok("score", ESSAYS, "--model", "./my-reader", "-f", "json", cwd=tmp_path).splitlines()[0])
    assert found["reference"] == "essays" and found["percentiles"] is not None
    assert (start / "tokenizer.json").read_text() == (tmp_path / "my-reader" / "tokenizer.json").read_text()


def test_the_start_is_the_model_in_the_package() -> None:
    plan = plan_for_texts("reader", str(ESSAYS), ["run.out=mine"])
    assert plan.start == DEFAULT_MODEL and plan.config.run.out == "mine"
    assert plan.config.training["learning_rate"] == RATES[True]


def test_without_a_trained_model_training_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_texts, "find_model", no_model)
    plan = plan_for_texts("seq2seq", str(ESSAYS))
    assert plan.start == "" and plan.config.training["learning_rate"] == RATES[False]


def no_model(name: str) -> None:
    raise ModelError("no trained model was found", seen=name)


def test_long_files_do_not_make_long_runs(start: Path, tmp_path: Path) -> None:
    (tmp_path / "long.jsonl").write_text(ESSAYS.read_text() * 40)
    plan = plan_for_texts(str(start), str(tmp_path / "long.jsonl"))
    assert plan.config.training["steps"] == MOST_STEPS
    assert plan.start == str(start) and plan.config.model.settings["surprise_weight"] == 0
    assert plan.config.training["max_tokens"] == plan.config.model.settings["sentence_tokens"]


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    assert "only a neural model" in refused("config", "--for", "foltz-glove", "--data", ESSAYS, cwd=tmp_path)
    assert "unknown model" in refused("config", "--for", "nothing", "--data", ESSAYS, cwd=tmp_path)
    for arguments in ((), ("reader", "--data", ESSAYS), ("--for", "reader"), ("reader", "--for", "reader")):
        assert "weft config --for MODEL --data FILE" in refused("config", *arguments, cwd=tmp_path)


def test_the_share_of_validation_is_checked() -> None:
    for share in (-0.1, 1.0):
        with pytest.raises(ConfigError, match="valid_share is out of range"):
            build_config({"model": {"name": "reader"}, "data": {"valid_share": share}})


def test_a_split_depends_on_the_seed_and_loses_nothing(tmp_path: Path) -> None:
    parts = {}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        files = split_files([ESSAYS], tmp_path / name, share=0.25, seed=seed)
        parts[name] = [[document.id for document in weft.read_documents(part[0])] for part in files]
    assert parts["a"] == parts["b"] != parts["c"]
    assert sorted(chain(*parts["a"])) == sorted(document.id for document in weft.read_documents(ESSAYS))
    assert len(parts["a"][1]) == 8
    kept = next(weft.read_documents(tmp_path / "a" / "train.jsonl"))
    assert kept == next(one for one in weft.read_documents(ESSAYS) if one.id == kept.id)
    (tmp_path / "one.jsonl").write_text('{"text": "It rained."}')
    with pytest.raises(CorpusError, match="too few documents.*data.valid_share"):
        split_files([tmp_path / "one.jsonl"], tmp_path / "d", share=0.5)
