"""The card of a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers.command_line import ROOT, ok, refused

import weft
from weft.corpora.data_licences import DATA_LICENCES, licence_of
from weft.io.model_folder import read_manifest
from weft.io.package_files import PRETRAINED_MODELS
from weft.report.model_card import model_card


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model trained on a file of its own, and a result of it."""
    place = tmp_path_factory.mktemp("card")
    lines = [json.dumps({"sentences": [f"Cats purr {n}.", "Cats sleep.", f"Stocks fell {n}."]}) for n in range(9)]
    (place / "mine.jsonl").write_text("\n".join(lines))
    config = {"model": {"name": "opening"}, "data": {"train": [str(place / "mine.jsonl")]}, "run": {"seed": 7}}
    weft.train(config, out=place / "opening", command="weft train run.toml")
    ok("evaluate", "probes", "--model", place / "opening", "--out", place / "results")
    return place


def test_a_trained_folder_says_how_it_was_made(trained: Path) -> None:
    text = model_card(str(trained / "opening"), trained / "results")
    manifest = read_manifest(trained / "opening")
    for fact in ("weft train run.toml", manifest["training"]["data_fingerprint"], manifest["sha256"]):
        assert f"`{fact}`" in text
    assert "- **Seed**: 7" in text
    (row,) = (line for line in text.splitlines() if "mine.jsonl |" in line)
    assert row.count("not known to weft") == 2
    results = text.split("## Results")[1]
    assert "| probes |" in results


def test_results_of_other_weights_are_left_out(trained: Path) -> None:
    path = next((trained / "results" / "probes").glob("*.json"))
    content = json.loads(path.read_text())
    other = trained / "others" / "probes"
    other.mkdir(parents=True)
    (other / path.name).write_text(json.dumps({**content, "model_sha256": "0" * 64}))
    second = next((trained / "results" / "probes").glob("*.documents.json.gz"))
    (other / second.name).write_bytes(second.read_bytes())
    assert "No result of this model" in model_card(str(trained / "opening"), trained / "others")


def test_the_default_model_names_sources_licences_and_genres() -> None:
    text = model_card("weft-reader", ROOT / "results")
    training = read_manifest(PRETRAINED_MODELS / "weft-reader")["training"]
    for one in training["data"]:
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {one['name']} |"))
        assert one["sha256"][:12] in row and "not known to weft" not in row
    assert "English Wikipedia | CC BY-SA 3.0" in text and "all-MiniLM-L6-v2" in text
    assert "Apache License, Version 2.0" in text.split("## Licence of the weights")[1]
    assert "Texts of each genre: abstract" in text
    assert "| wikipedia-pairs | – | accuracy | 0." in text


def test_a_model_that_was_built_on_others_names_them() -> None:
    text = model_card(str(ROOT / "zoo" / "vlv-gm"), ROOT / "results")
    nearest = "- **Started from**: runs/zoo/seq2seq"
    assert nearest in text and "- **Started from**: runs/seq2seq-first/model" in text.split(nearest, 1)[1]


def test_results_are_those_of_the_weights() -> None:
    """Early results have no hash; the weights of some of them are no longer in the zoo."""
    tasks = [line.split(" | ")[:2] for line in model_card(str(ROOT / "zoo" / "vlv-gm"), ROOT / "results").splitlines()]
    assert ["| wikipedia-pairs", "mmi-zoo"] in tasks and ["| wikipedia-pairs", "mmi"] not in tasks
    domain = model_card(str(ROOT / "zoo" / "vlv-gm-accidents"), ROOT / "results")
    assert "| accidents | mmi | accuracy" in domain and "| earthquakes |" not in domain


def test_every_research_file_has_one_licence() -> None:
    names = [f"genres/train.{genre}.jsonl.xz" for genre in ("news", "story5", "paper", "llm")]
    assert all(licence_of(name).licence != "not known to weft" for name in names)
    assert len({one.file for one in DATA_LICENCES}) == len(DATA_LICENCES)
    assert not licence_of("train.news.jsonl.xz").open and licence_of("train.paper.jsonl.xz").open
    assert licence_of("train.news.open.jsonl.xz").open and licence_of("train.paper.open.jsonl.xz").open


def test_the_command(tmp_path: Path) -> None:
    assert ok("models", "weft-reader", "--card", cwd=tmp_path).startswith("# weft-reader")
    assert "# foltz-glove" in ok("models", "foltz-glove", "--card", cwd=tmp_path)
    assert "a card is of one model" in refused("models", "--card", cwd=tmp_path)
    assert "no trained reader" in refused("models", "reader", "--card", cwd=tmp_path)
