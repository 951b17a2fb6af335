from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from weft.errors import ConfigError
from weft.registry import MODELS, create_model
from weft.training.config import (
    TRAINING_DEFAULTS,
    build_config,
    config_of,
    parse_override,
    parse_settings,
    read_config,
)
from weft.training.config_text import render_config
from weft.training.runs import train

NEURAL = '[model]\nname = "seq2seq"\nprecedence = true\n[training]\nminutes = 5.0\n'
CONFIGS = sorted((Path(__file__).parents[2] / "configs").rglob("*.toml"))


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


def test_one_text_is_a_list_of_one(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, NEURAL), ["data.train=essays.jsonl", "run.parts=prior", "data.valid="])
    assert (config.data.train, config.run.parts, config.data.valid) == (("essays.jsonl",), ("prior",), ())
    with pytest.raises(
        ConfigError, match=r'data.train has the wrong type: saw 3; allowed: a list, such as \["a.jsonl"'
    ):
        read_config(write(tmp_path, NEURAL), ["data.train=3"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[model]\nname = "foltz-lda"\ntopic = 3', "no setting of that name.*'topic'.*did you mean topics"),
        ('[model]\nname = "foltz-lda"\ntopics = "many"', "wrong type.*'many'.*whole number"),
        ('[model]\nname = "foltz-lda"\ntopics = true', "wrong type"),
        ('[model]\nname = "fotlz-lda"', "unknown model.*did you mean foltz-lda"),
        ("[model]\n", "no model name"),
        ("", "no model name"),
        ('[model]\nname = "random"\n[dtaa]\n', "unknown section.*dtaa.*did you mean data"),
        ('[model]\nname = "random"\n[run]\nsede = 1', r"unknown key in \[run\].*did you mean seed"),
        ('[model]\nname = "random"\n[run]\nseed = 1.5', "run.seed has the wrong type"),
        ('[model]\nname = "random"\n[data]\ntrain = [1]', "must list texts"),
        ("model = 3", "must be a section"),
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


def test_overrides_reach_the_table_of_a_part(tmp_path: Path) -> None:
    path = write(tmp_path, NEURAL + "[training.precedence]\nwarmup = 9\n")
    overrides = ["training.precedence.steps=2", "training.prior.minutes=1", "training.steps=3"]
    training = read_config(path, overrides).training
    assert training["precedence"] == {"warmup": 9, "steps": 2}
    assert training["prior"] == {"minutes": 1}
    assert (training["steps"], training["minutes"]) == (3, 5.0)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.precedense.steps=2", r"unknown table in \[training\]: saw 'precedense'.*did you mean precedence"),
        ("training.prior.stesp=2", r"unknown key in \[training.prior\]: saw 'stesp'.*did you mean steps.*next: "),
        ("training.prior.steps=many", "training.prior.steps has the wrong type: saw 'many'.*whole number.*next: "),
        ("training.prior.steps.x=2", "training.prior.steps has the wrong type"),
        ("training.minutes.x=2", "training.minutes is not a table.*saw 5.0; allowed: .*; next: "),
        ("trianing.prior.steps=2", "unknown section: saw 'trianing'.*did you mean training"),
        ("model.name.x=2", "model.name is not a table"),
        ("run.seed.x=2", "run.seed has the wrong type"),
    ],
)
def test_mistakes_in_a_nested_override_are_named(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_config(write(tmp_path, NEURAL), [override])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.learning_rate=inf", "training.learning_rate is not a finite number: saw inf; allowed: .*next: "),
        ("training.minutes=nan", "training.minutes is not a finite number: saw nan"),
        (f"training.minutes={2**1024}", "training.minutes is not a finite number"),
        ("training.learning_rate=0", "training.learning_rate is out of range: saw 0; allowed: above 0.*next: "),
        ("training.clip=-1.0", "training.clip is out of range"),
        ("training.batch_tokens=0", "training.batch_tokens is out of range: saw 0; allowed: at least 1, .*next: "),
        ("training.steps=99999999999", "training.steps is out of range"),
        ("training.optimizer=adam", r"unknown optimizer for training: saw 'adam'; allowed: adamw.*next: "),
        ("training.precedence.learning_rate=-0.1", "training.precedence.learning_rate is out of range: saw -0.1"),
        ("training.precedence.learning_rate=inf", "training.precedence.learning_rate is not a finite number"),
        ("training.precedence.accumulate=0", "training.precedence.accumulate is out of range"),
        ("training.prior.decay=fast", r"unknown decay for training.prior: saw 'fast'; allowed: cosine"),
        ("model.precedence_weight=-inf", "precedence_weight is not a finite number: saw -inf"),
        ("model.dropout=nan", "dropout is not a finite number"),
        (f"training.steps={'9' * 5000}", "training.steps has the wrong type"),
        (f"training.steps={'[' * 5000}", "training.steps has the wrong type"),
    ],
)
def test_values_that_would_be_refused_later_are_refused_now(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_config(write(tmp_path, NEURAL), [override])


def test_a_number_that_is_too_long_is_no_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not valid TOML.*allowed: TOML.*next: "):
        read_config(write(tmp_path, NEURAL + f"steps = {'9' * 5000}\n"))


def test_what_decides_the_length_of_a_run_may_come_later() -> None:
    assert config_of("seq2seq").training["minutes"] == 0.0  # `weft train` takes --minutes


@pytest.mark.parametrize("name", MODELS)
def test_no_setting_of_any_model_takes_what_is_not_finite(name: str) -> None:
    for key, default in create_model(name).settings.defaults().items():
        if isinstance(default, float):
            for bad in ("nan", "inf", "-inf"):
                with pytest.raises(ConfigError, match=f"{key} is not a finite number"):
                    config_of(name, [f"model.{key}={bad}"])


def test_only_models_with_parts_have_tables_below_training() -> None:
    with pytest.raises(ConfigError, match="unknown table in.*'prior'.*none with this model"):
        config_of("random", ["training.prior.steps=2"])


def test_training_defaults_are_those_of_the_loop() -> None:
    from weft.training.settings import TrainingSettings

    defaults = {field.name: field.default for field in fields(TrainingSettings) if field.name != "seed"}
    assert defaults == TRAINING_DEFAULTS


def test_every_training_setting_is_written_out_for_models_trained_by_steps() -> None:
    """So that what is printed can be saved, edited and given to `weft train`."""
    shown = tomllib.loads(render_config(config_of("seq2seq", ["training.minutes=5", "training.prior.steps=7"])))
    assert shown["training"] == {**TRAINING_DEFAULTS, "minutes": 5, "prior": {"steps": 7}}
    assert "training" not in tomllib.loads(render_config(config_of("foltz-lsa")))


@pytest.mark.parametrize("name", ["seq2seq", "foltz-lsa"])
def test_every_line_of_a_printed_configuration_says_what_it_means(name: str) -> None:
    lines = [line for line in render_config(config_of(name)).splitlines() if " = " in line]
    assert [line for line in lines if "  # " not in line] == [f'name = "{name}"']


@pytest.mark.parametrize("text", ["seed=3", "run.seed", ".seed=3", "run.=3", "=", "training..steps=2", "a. .b=1"])
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
    with pytest.raises(ConfigError, match="no output folder.*--out"):
        train(build_config({"model": {"name": "random"}}))


def test_only_layers_of_a_reader_are_compiled() -> None:
    from torch import nn

    from weft.training.part_training import _compile

    with pytest.raises(ConfigError, match="compiled is for readers only"):
        _compile(nn.Linear(2, 2))


def test_layers_may_be_compiled_for_training_and_for_evaluation() -> None:
    """Eight layers in two modes are more than PyTorch compiles from one piece of code by default."""
    import torch._dynamo
    from torch import nn

    from weft.training.part_training import _compile

    class Layers(nn.Module):
        def repeated_modules(self) -> list[nn.Module]:
            return []

    before = torch._dynamo.config.recompile_limit
    try:
        _compile(Layers())
        assert torch._dynamo.config.recompile_limit >= 2 * 8 * 2  # local or not
    finally:
        torch._dynamo.config.recompile_limit = before
