"""The configuration of a run: frozen dataclasses, a strict TOML reader, and ``--set a.b=c``.

A file has four sections: model, data, run and, for neural models, training. The last can hold a table for each part of
the model. An unknown section, table or key is an error that suggests the nearest name.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from weft.errors import ConfigError, did_you_mean
from weft.registry import is_registered, model_class
from weft.settings import CORRECT_VALUE, Settings, check_type
from weft.training.settings import TrainingSettings

LARGEST_CONFIG = 2**20  # bytes


@dataclass(frozen=True, slots=True)
class ModelSection:
    """The name of the model and all its settings."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def key(default: Any, help: str) -> Any:
    """Declare a key of a section, with what `weft config` says about it."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True)
class DataSection:
    """The training data."""

    train: tuple[str, ...] = key((), "Files of documents; a relative path is also looked up in the data folder.")
    limit: int = key(0, "Number of documents to read; 0 for all.")
    valid: tuple[str, ...] = key((), "Validation files, for neural models.")
    valid_share: float = key(0.0, "Share of the documents of `train` to validate on, if `valid` names no files.")
    store: str = key("", "A store made by `weft prepare`, instead of `train`.")
    valid_store: str = key("", "A store made with the tokenizer of the training store, instead of `valid`.")
    tokenizer: str = key("bpe", "The kind of tokenizer to learn if no store is given: `bpe` or `words`.")
    vocabulary: int = key(16384, "Size of the vocabulary to learn.")


@dataclass(frozen=True, slots=True)
class RunSection:
    """The output, the seed and the device of a run."""

    seed: int = key(1, "Seed of all random numbers.")
    out: str = key("", "The model folder to write.")
    folder: str = key("", "Folder of checkpoints and logs; `OUT.run` if empty.")
    checkpoint_seconds: int = key(60, "Seconds between checkpoints; 0 for one after every step.")
    base: str = key("", "A trained model folder whose parts are copied instead of trained.")
    start: str = key("", "A trained model folder whose weights training starts from.")
    parts: tuple[str, ...] = key((), "The parts of a neural model to train; if empty, all that `base` does not have.")
    device: str = key("auto", "`auto`, `cpu` or `cuda`.")
    precision: str = key(
        "auto", "Of matrix products: `float32`, `bfloat16`, or `auto` (bfloat16 on a GPU, float32 on a CPU)."
    )
    deterministic: bool = key(False, "Whether operations whose result depends on timing are errors.")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The configuration of `weft train`."""

    model: ModelSection
    data: DataSection = DataSection()
    run: RunSection = RunSection()
    # Settings of the training loop, for neural models, with a table for each part that differs.
    training: Mapping[str, Any] = field(default_factory=dict)


# The seed is that of [run].
TRAINING_DEFAULTS: Mapping[str, Any] = {
    name: default for name, default in TrainingSettings.defaults().items() if name != "seed"
}

Section = TypeVar("Section", DataSection, RunSection)


def read_config(path: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a TOML file and apply ``section.key=value`` and ``training.PART.key=value`` overrides.

    Raises:
        ConfigError: The file is missing or not TOML, a name or value is wrong, or the settings allow no run.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.toml"
        >>> _ = file.write_text('model.name = "random"')
        >>> read_config(file, ["model.seed=7"]).model.settings["seed"]
        7
    """
    return build_config(with_overrides(_read_toml(Path(path)), overrides), to_run=True)


def with_overrides(content: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Put ``section.key=value`` overrides into the content of a configuration file, and return it."""
    for override in overrides:
        path, key, value = parse_override(override)
        table = content
        for name in path.split("."):
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ConfigError(
                    f"{path} is not a table: {name} has a value",
                    seen=table,
                    allowed="section.key=value, or training.PART.key=value",
                    next_step="correct the names before the last dot",
                )
        table[key] = value
    return content


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:  # a pipe has no size, and a device no end
            content = file.read(LARGEST_CONFIG + 1)
        if len(content) > LARGEST_CONFIG:
            raise ValueError(f"more than {LARGEST_CONFIG} bytes")
        return tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read the configuration: {error.strerror or error}",
            seen=str(path),
            allowed="a TOML file, such as those in configs/",
            next_step="check the path",
        ) from error
    except (ValueError, RecursionError) as error:  # ValueError: no TOML, no UTF-8, or a number of 5,000 digits
        raise ConfigError(
            f"{path} is not valid TOML",
            seen=str(error),
            allowed="TOML in UTF-8",
            next_step="see configs/ for examples",
        ) from error


def parse_override(text: str) -> tuple[str, str, Any]:
    """Split ``table.key=value``; the value is read as TOML, or as plain text if it is not TOML.

    Example:
        >>> parse_override("run.seed=3"), parse_override("run.out=my folder")
        (('run', 'seed', 3), ('run', 'out', 'my folder'))
        >>> parse_override("training.prior.steps=200")
        ('training.prior', 'steps', 200)
    """
    name, equals, value = text.partition("=")
    *tables, key = (part.strip() for part in name.split("."))
    if not (equals and tables and all(tables) and key):
        raise ConfigError(
            "cannot read the override",
            seen=text,
            allowed="section.key=value, such as run.seed=3, or training.PART.key=value",
            next_step="use this form, in quotes if the value has spaces",
        )
    return ".".join(tables), key, parse_value(value)


def parse_value(text: str) -> Any:
    """Return a value read as TOML (numbers, true, lists, quoted strings), else as plain text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, KeyError, RecursionError):
        return text


def parse_settings(pairs: Sequence[str], *, allow_download: bool = False) -> dict[str, Any]:
    """Return the settings of a model from ``key=value`` pairs; ``allow_download`` is the setting of that name of `hf`.

    Example:
        >>> parse_settings(["seed=3", "weighting=sif"])
        {'seed': 3, 'weighting': 'sif'}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                "cannot read the setting", seen=pair, allowed="key=value", next_step="see `weft config MODEL`"
            )
        settings[key.strip()] = parse_value(value)
    return settings | ({"download": True} if allow_download else {})


def build_config(content: Mapping[str, Any], *, to_run: bool = False) -> RunConfig:
    """Return the checked configuration of a parsed file; with ``to_run``, also check what only a run needs."""
    _check_names("section", content, ("model", "data", "run", "training"))
    for section, value in content.items():
        if not isinstance(value, dict):
            raise _not_a_section(section, value)
    model = dict(content.get("model", {}))
    name = model.pop("name", None)
    if not isinstance(name, str):
        raise ConfigError(
            "the configuration has no model name",
            seen="nothing" if name is None else name,
            allowed='[model] with name = "…"',
            next_step="run `weft models` for the names",
        )
    settings, parts = _model_settings(name, model, to_run=to_run)
    return RunConfig(
        ModelSection(name, settings),
        _section(DataSection, "data", content.get("data", {})),
        _section(RunSection, "run", content.get("run", {})),
        _training(content.get("training", {}), parts),
    )


def _model_settings(name: str, values: Mapping[str, Any], *, to_run: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Check the settings of a model without building it; return all of them, and the parts of a neural model."""
    kind: Any = model_class(name)
    chosen: Settings = kind.Settings.from_mapping(values)
    if to_run:
        chosen.check_run()
    return chosen.to_dict(), chosen.parts()


def _section(kind: type[Section], name: str, values: Mapping[str, Any]) -> Section:
    defaults = asdict(kind())
    _check_names(f"key in [{name}]", values, tuple(defaults))
    chosen = {key: _as_tuple(value) if isinstance(defaults[key], tuple) else value for key, value in values.items()}
    for key, value in chosen.items():
        check_type(f"{name}.{key}", value, defaults[key])
        if type(value) is int and not 0 <= value < 2**32:
            raise ConfigError(
                f"{name}.{key} is out of range", seen=value, allowed="0 to 4294967295", next_step=CORRECT_VALUE
            )
        if type(defaults[key]) is float and not 0 <= value < 1:
            raise ConfigError(
                f"{name}.{key} is out of range", seen=value, allowed="0 to below 1", next_step=CORRECT_VALUE
            )
        if isinstance(value, tuple) and not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{name}.{key} must list texts", seen=value, allowed="strings", next_step="quote them")
    return kind(**chosen)


def _as_tuple(value: Any) -> Any:
    """Return a list of TOML as a tuple, and one text as a tuple of one, as in ``--set data.train=essays.jsonl``."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value) if isinstance(value, list) else value


def _training(values: Mapping[str, Any], parts: Sequence[str]) -> dict[str, Any]:
    """Return the checked settings of the training loop; the length of the run is checked later, with the command line.

    A table such as [training.precedence] holds the settings in which one part differs.
    """
    common, tables = split_tables(values)
    _check_names("table in [training]", tables, parts)
    for name, table in {"training": common, **{f"training.{part}": own for part, own in tables.items()}}.items():
        _check_names(f"key in [{name}]", table, tuple(TRAINING_DEFAULTS))
        TrainingSettings.check_values(table, name)
    return {**(TRAINING_DEFAULTS if parts else {}), **common, **tables}


def split_tables(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Mapping[str, Any]]]:
    """Return the plain values of a section, and its tables.

    Example:
        >>> split_tables({"steps": 200, "prior": {"steps": 100}})
        ({'steps': 200}, {'prior': {'steps': 100}})
    """
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    return {key: value for key, value in values.items() if key not in tables}, tables


def part_settings(config: RunConfig, part: str) -> TrainingSettings:
    """Return the training settings of a part: those of [training], replaced by those of [training.PART]."""
    common, tables = split_tables(config.training)
    return TrainingSettings(**{**common, **tables.get(part, {}), "seed": config.run.seed})


def check_neural_run(config: RunConfig, parts: Sequence[str], known: Sequence[str]) -> None:
    """Check what a run of a neural model needs, before any data are read.

    Raises:
        ConfigError: A part is unknown, frozen weights have no source, `data.limit` is set, or neither
            `training.steps` nor `training.minutes` is.
    """
    for part in [*parts, *config.run.parts, *split_tables(config.training)[1]]:
        if part not in known:
            raise ConfigError("no such part", seen=part, allowed=", ".join(known), next_step="choose one of them")
    frozen = config.model.settings.get("frozen", "")
    if frozen and not config.run.start:
        raise ConfigError(
            "frozen weights must come from a trained model",
            seen=f"model.frozen = {frozen!r}, and no run.start",
            allowed="run.start = the name or folder of a trained seq2seq",
            next_step="set run.start, or omit model.frozen",
        )
    if config.data.limit:
        raise ConfigError(
            "data.limit is for models that learn from documents, not from a store",
            seen=config.data.limit,
            allowed="0",
            next_step="prepare a store of fewer documents",
        )
    for part in known:
        part_settings(config, part)  # checks that the run has a length


def _check_names(what: str, values: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in values:
        if key not in allowed:
            raise ConfigError(
                f"unknown {what}",
                seen=key,
                allowed=did_you_mean(key, allowed) or "none with this model",
                next_step="correct or remove it",
            )


def _not_a_section(name: str, value: object) -> ConfigError:
    return ConfigError(
        f"`{name}` must be a section, not a value",
        seen=value,
        allowed=f"[{name}]",
        next_step="see configs/ for examples",
    )


def config_of(name: str, overrides: Sequence[str] = ()) -> RunConfig:
    """Return the configuration in a file, or the defaults of the model of that name."""
    if is_registered(name) and not os.path.isfile(name):
        return build_config(with_overrides({"model": {"name": name}}, overrides))
    if not os.path.exists(name) and not name.endswith(".toml"):
        model_class(name)  # raises with the nearest name
    return read_config(name, overrides)
