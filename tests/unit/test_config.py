from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from weft.config import build_config, config_of, parse_override, parse_settings, read_config, render_config
from weft.errors import ConfigError
from weft.models import MODELS
from weft.runs import train

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_configuration_is_valid(path: Path) -> None:
    config = read_config(path)
    assert config.model.name in MODELS
    assert config.run.out


@pytest.mark.parametrize("name", MODELS)
def test_defaults_round_trip_through_toml(name: str) -> None:
    config = config_of(name)
    assert build_config(tomllib.loads(render_config(config))) == config


def test_overrides_win_and_are_typed(tmp_path: Path) -> None:
    path = write(tmp_path, '[model]\nname = "foltz-lda"\ntopics = 10\n')
    config = read_config(path, ["model.topics=20", "run.seed=3", "run.out=some folder", 'data.train=["a", "b"]'])
    assert config.model.settings["topics"] == 20
    assert (config.run.seed, config.run.out, config.data.train) == (3, "some folder", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[model]\nname = "foltz-lda"\ntopic = 3', "no setting of that name.*'topic'.*did you mean topics"),
        ('[model]\nname = "foltz-lda"\ntopics = "many"', "wrong type.*'many'.*int"),
        ('[model]\nname = "foltz-lda"\ntopics = true', "wrong type"),
        ('[model]\nname = "fotlz-lda"', "unknown model.*did you mean foltz-lda"),
        ("[model]\n", "names no model"),
        ("", "names no model"),
        ('[model]\nname = "random"\n[dtaa]\n', "unknown section.*dtaa.*did you mean data"),
        ('[model]\nname = "random"\n[run]\nsede = 1', r"unknown key in \[run\].*did you mean seed"),
        ('[model]\nname = "random"\n[run]\nseed = 1.5', "run.seed has the wrong type"),
        ('[model]\nname = "random"\n[data]\ntrain = [1]', "must list texts"),
        ("model = 3", "model is a section"),
        ("[model", "not valid TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_config(write(tmp_path, text))


def test_a_missing_file_and_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="unknown model.*did you mean foltz-lsa"):
        config_of("foltz-las")


@pytest.mark.parametrize("text", ["seed=3", "run.seed", ".seed=3", "run.=3", "="])
def test_an_override_must_name_section_and_key(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot read the override"):
        parse_override(text)


def test_settings_are_read_as_toml_or_text() -> None:
    assert parse_settings(["a=1", "b=0.5", "c=true", "d=x y", 'e="7"', "f=a=b"]) == {
        "a": 1, "b": 0.5, "c": True, "d": "x y", "e": "7", "f": "a=b",
    }  # fmt: skip
    with pytest.raises(ConfigError, match="cannot read the setting"):
        parse_settings(["novalue"])


def test_training_records_how_it_was_made(tmp_path: Path) -> None:
    import json

    text = tmp_path / "texts.txt"
    text.write_text("Cats purr. Cats sleep.\n\nStocks fell. Markets fell.\n", encoding="utf-8")
    config = build_config(
        {
            "model": {"name": "foltz-lsa", "dimensions": 1},
            "data": {"train": [str(text)]},
            "run": {"seed": 4, "out": str(tmp_path / "m")},
        }
    )
    train(config, command="weft train x.toml")
    training = json.loads((tmp_path / "m" / "model.json").read_text())["training"]
    assert training["seed"] == 4
    assert training["command"] == "weft train x.toml"
    assert len(training["data_fingerprint"]) == 64


def test_a_run_without_a_place_is_refused() -> None:
    with pytest.raises(ConfigError, match="no place to go.*--out"):
        train(build_config({"model": {"name": "random"}}))
