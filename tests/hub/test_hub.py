"""Where a model's name is looked up, and what is said when it is not found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from weft.errors import ConfigError, ModelError
from weft.hub import (
    SPEEDS,
    describe_model,
    find_model,
    is_model,
    known_models,
    load_model,
    model_folder,
    writable_folder,
)
from weft.io.model_folder import Artifact, Shared, save_artifact
from weft.io.package_files import PRETRAINED_MODELS
from weft.models.trivial import RandomModel, RandomSettings
from weft.registry import DEFAULT_MODEL, MODELS, model_class

ROOT = Path(__file__).parents[2]
NEED_NO_TRAINING = (
    "entity-graph", "foltz-embedding", "foltz-glove", "foltz-sif", "hf", "random", "year-sort",
)  # fmt: skip


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test works in an empty folder, without models from elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEFT_MODELS", raising=False)
    monkeypatch.setattr("weft.hub.entry_points", lambda group: [])
    return tmp_path


def random_model(seed: int, folder: str) -> None:
    RandomModel(RandomSettings(seed=seed)).save(folder, training={"seed": seed})


def seed_of(name: str) -> int:
    model: Any = load_model(name)
    return int(model.settings.seed)


def test_models_that_need_no_training() -> None:
    assert {name for name in MODELS if not model_class(name).card.needs_training} == set(NEED_NO_TRAINING)


@pytest.mark.parametrize("name", NEED_NO_TRAINING)
def test_a_model_that_needs_no_training_has_no_folder(name: str) -> None:
    found = find_model(name)
    assert (found.model, found.folder, found.source) == (name, None, "weft")


@pytest.mark.parametrize("name", sorted(set(MODELS) - set(NEED_NO_TRAINING)))
def test_an_untrained_model_is_never_loaded(name: str) -> None:
    zoo = "" if name in {"opening", "reader"} else r"\./zoo.*"
    with pytest.raises(ModelError, match=rf"no trained {name}.*{zoo}weft train configs/{name}.toml.*WEFT_MODELS"):
        load_model(name)
    assert is_model(name)


def test_a_path_comes_first_then_zoo_then_the_folders_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_MODELS", os.pathsep.join(["first", "second"]))
    random_model(5, "second/mine")
    assert seed_of("mine") == 5
    random_model(4, "first/mine")
    assert seed_of("mine") == 4
    random_model(3, "zoo/mine")
    assert seed_of("mine") == 3
    random_model(2, "mine")
    assert seed_of("mine") == 2
    assert seed_of("zoo/mine") == 3
    assert find_model("zoo/mine").folder == model_folder("zoo/mine") == Path("zoo/mine")


def test_a_folder_of_the_zoo_does_not_replace_a_model_that_needs_no_training() -> None:
    random_model(7, "zoo/random")
    assert seed_of("random") == 1
    assert seed_of("zoo/random") == 7


def test_a_folder_that_is_no_model_does_not_hide_a_name() -> None:
    Path("weft-reader").mkdir()
    assert find_model("weft-reader").folder == PRETRAINED_MODELS / "weft-reader"
    Path("notes").mkdir()
    with pytest.raises(ModelError, match="no model folder.*model.json"):
        find_model("notes")


def test_a_path_that_is_not_there_says_which_name_would_be_found() -> None:
    random_model(1, "zoo/mine")
    with pytest.raises(ModelError, match="no model folder there.*next: use --model mine"):
        load_model("elsewhere/mine")
    with pytest.raises(ModelError, match="no model folder there.*next: check the path"):
        load_model("elsewhere/other")


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/../b", "a\0b"])
def test_names_that_are_no_names(name: str) -> None:
    with pytest.raises(ModelError, match="no model folder"):
        find_model(name)


def test_an_unknown_name_gets_the_nearest_one() -> None:
    random_model(1, "zoo/stories")
    with pytest.raises(ConfigError, match=r"unknown model.*did you mean stories\?.*weft models"):
        load_model("storys")
    assert not is_model("storys")
    assert is_model("stories")


def test_a_model_without_a_folder_cannot_be_built_on() -> None:
    with pytest.raises(ConfigError, match="comes ready to use and has no folder of its own: saw .*allowed: .*next: "):
        model_folder("foltz-sif")


def test_a_model_that_no_package_has_is_to_be_trained() -> None:
    with pytest.raises(ModelError, match=r"no trained opening.*next: train it \(weft train configs/opening.toml\)"):
        load_model("opening")


def test_an_installed_zoo_is_not_to_be_installed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.hub._package_places", lambda: iter([("weft-zoo", Path("installed"))]))
    with pytest.raises(ModelError, match=r"no trained seq2seq.*next: train it"):
        load_model("seq2seq")


def test_only_a_close_name_is_suggested() -> None:
    with pytest.raises(ConfigError) as caught:
        load_model("nope")
    assert "did you mean" not in str(caught.value)


def test_models_for_one_domain_are_named_where_there_is_no_general_one() -> None:
    save_artifact(Artifact("foltz-lsa", {}), "zoo/foltz-lsa-cats")
    with pytest.raises(ModelError, match="no trained foltz-lsa .*next: use foltz-lsa-cats"):
        load_model("foltz-lsa")
    rows = {row.name: row for row in known_models()}
    assert "foltz-lsa-cats" in rows["foltz-lsa"].missing
    assert rows["foltz-lsa-cats"].source == "zoo/"


def test_the_list_has_every_model_with_where_it_is_or_how_to_get_it() -> None:
    random_model(1, "zoo/mine")
    rows = {row.name: row for row in known_models()}
    assert list(rows) == [DEFAULT_MODEL, *MODELS, "mine"]
    assert [row.name for row in rows.values() if row.default] == [DEFAULT_MODEL]
    assert all(bool(row.source) != bool(row.missing) for row in rows.values())
    assert (rows[DEFAULT_MODEL].size or 0) > 10**7
    assert "pip install ./zoo" in rows["seq2seq"].missing
    assert rows["mine"].size == Path("zoo/mine/model.json").stat().st_size


def test_the_list_names_a_missing_extra_and_shared_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    save_artifact(Artifact("random", {}, shared=[Shared("other", {}, "")]), "zoo/mine")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "spacy" else object())
    rows = {row.name: row for row in known_models()}
    assert (rows["entity-graph"].extra, rows["hf"].extra, rows["random"].extra) == ("parse", "", "")
    assert rows["mine"].shared == ("other",)


def test_the_next_step_for_a_model_of_one_domain_is_to_install_the_zoo() -> None:
    with pytest.raises(ConfigError, match=r"next: pip install ./zoo"):
        load_model("recursive-accidents")
    with pytest.raises(ConfigError, match=r"next: run `weft models`"):
        load_model("nonsense")


def test_a_model_of_an_installed_package_is_not_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    random_model(1, "zoo/mine")
    assert writable_folder("mine") == Path("zoo/mine")
    random_model(1, "package/theirs")
    monkeypatch.setattr("weft.hub._package_places", lambda: [("package", tmp_path / "package")])
    with pytest.raises(ConfigError, match="installed package.*next: give --out"):
        writable_folder("theirs")
    assert writable_folder("package/theirs") == Path("package/theirs")


def test_a_damaged_folder_is_a_line_of_the_list_and_an_error_when_it_is_used() -> None:
    random_model(1, "zoo/mine")
    Path("zoo/mine/model.json").write_text("{}")
    row = next(row for row in known_models() if row.name == "mine")
    assert row.summary.startswith("cannot be used")
    with pytest.raises(ModelError, match="damaged"):
        load_model("mine")


def test_the_card_of_a_model() -> None:
    random_model(9, "zoo/mine")
    about = describe_model("mine")
    assert (about.config, about.training) == ({"seed": 9}, {"seed": 9})
    assert about.card == RandomModel.card
    missing = describe_model("seq2seq")
    assert (missing.known.source, missing.config) == ("", {})
    with pytest.raises(ConfigError, match="unknown model"):
        describe_model("nothing-like-it")


def test_speeds_are_those_of_the_benchmark() -> None:
    medians = json.loads((ROOT / "results/benchmarks/scoring.json").read_text())["medians"]
    names = {
        "weft-reader": "weft-reader", "foltz-embedding": "minilm-adjacent-cosine", "hf": "smollm2-135m-log-likelihood",
    }  # fmt: skip
    measured = {name: medians[f"{there} documents per CPU second"] for name, there in names.items()}
    assert pytest.approx(measured, abs=0.05) == SPEEDS


def test_entry_points_are_not_read_for_a_model_of_the_package() -> None:
    code = "import sys, weft.hub; weft.hub.load_model('foltz-sif'); print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
