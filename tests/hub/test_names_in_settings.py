"""Settings that name a trained model take its name: `run.start`, `run.base`, `model.topics`, `evaluator.reader`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from weft.errors import ModelError
from weft.evaluation.adversarial.options import EvaluatorSettings
from weft.hub import load_model
from weft.io.model_folder import read_manifest
from weft.report.samples import tokenizer_file
from weft.training.config import build_config, read_config
from weft.training.runs import train

ROOT = Path(__file__).parents[2]
SIZES = {"dimensions": 64, "hidden": 64, "layers": 1, "precision": "float32"}
STEPS = {"steps": 1, "warmup": 0, "batch_tokens": 200, "validate_every": 0}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder whose zoo/ has a small seq2seq and a small hmm-lda."""
    folder = tmp_path_factory.mktemp("names")
    sentences = [f"the {animal} {verb} the {thing}" for animal in ("cat", "dog") for verb in ("saw", "ate")
                 for thing in ("fish", "bone", "moon")]  # fmt: skip
    lines = [json.dumps({"id": str(number), "sentences": sentences[number : number + 4]}) for number in range(8)]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("seq2seq", SIZES, "zoo/seq2seq")
        topics = {"topics": 3, "drop_top": 0, "rarest": 1, "iterations": 2}
        content = {
            "model": {"name": "hmm-lda", **topics},
            "data": {"train": ["corpus.jsonl"]},
            "run": {"out": "zoo/hmm-lda"},
        }
        train(build_config(content, to_run=True))
    return folder


def run(name: str, settings: dict[str, Any], out: str, **places: Any) -> None:
    content = {
        "model": {"name": name, **settings},
        "data": {"train": ["corpus.jsonl"], "vocabulary": 300},
        "run": {"out": out, "device": "cpu", **places},
        "training": STEPS,
    }
    train(build_config(content, to_run=True), parts=places.get("parts", ()))


@pytest.fixture(autouse=True)
def in_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.delenv("WEFT_MODELS", raising=False)
    monkeypatch.setattr("weft.hub.entry_points", lambda group: [])


def test_a_run_builds_on_a_model_by_name_and_shares_its_weights() -> None:
    run(
        "vlv-gm",
        {**SIZES, "latent": 4, "width": 16, "frozen": "encoder"},
        "zoo/vlv-gm",
        start="seq2seq",
        base="seq2seq",
        parts=["forward", "backward"],
    )
    manifest = read_manifest("zoo/vlv-gm")
    assert [one["folder"] for one in manifest["shared"]] == ["seq2seq"]
    assert manifest["training"]["start"]["folder"] == "seq2seq"
    assert load_model("vlv-gm")


def test_topics_by_name() -> None:
    run("hmm-lda-gm", {**SIZES, "guide": 4, "topics": "hmm-lda"}, "zoo/hmm-lda-gm")
    assert read_manifest("zoo/hmm-lda-gm")["config"]["topics"] == "hmm-lda"
    assert load_model("hmm-lda-gm")


def test_a_name_that_is_not_found_is_an_error_before_training() -> None:
    with pytest.raises(ModelError, match="no trained discriminative"):
        run("seq2seq", SIZES, "never", start="discriminative")
    assert not Path("never").exists()


def test_the_reader_of_evaluators_goes_by_name() -> None:
    assert EvaluatorSettings().reader == "seq2seq"
    assert tokenizer_file("seq2seq") == Path("zoo/seq2seq/tokenizer.json")
    assert tokenizer_file("some/tokenizer.json") == Path("some/tokenizer.json")


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.toml")), ids=lambda path: path.stem)
def test_configurations_build_on_names_that_the_zoo_has(path: Path) -> None:
    config = read_config(path)
    named = {config.run.start, config.run.base, config.model.settings.get("topics", "")}
    for name in {name for name in named if isinstance(name, str) and name} - {config.run.out}:
        assert (ROOT / "zoo" / name / "model.json").is_file() or "/" in name, name
