"""A configuration as TOML text, with all values and a comment on each of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from weft.registry import model_class
from weft.settings import Settings
from weft.training.config import DataSection, RunConfig, RunSection, split_tables
from weft.training.settings import TrainingSettings


def render_config(config: RunConfig) -> str:
    """Return a configuration as TOML, with all defaults and the help text of each setting.

    Example:
        >>> from weft.training.config import config_of
        >>> print(render_config(config_of("random")).split("[data]")[0].strip())
        [model]
        name = "random"
        seed = 1  # Seed of all numbers.
    """
    kind: Any = model_class(config.model.name)
    model = _section("model", {"name": config.model.name, **config.model.settings}, _helps(kind.Settings))
    data = _section("data", asdict(config.data), _key_helps(config.data))
    run = _section("run", asdict(config.run), _key_helps(config.run))
    training = [_section("training", config.training, _helps(TrainingSettings))] if config.training else []
    return "\n".join([model, data, run, *training])


def _helps(settings: type[Settings]) -> dict[str, str]:
    return {name: rule.help for name, rule in settings.rules().items()}


def _key_helps(section: DataSection | RunSection) -> dict[str, str]:
    return {one.name: one.metadata["help"] for one in fields(section)}


def _section(name: str, values: Mapping[str, Any], helps: Mapping[str, str]) -> str:
    # JSON's strings, numbers, booleans and lists are TOML's too.
    plain, tables = split_tables(values)
    text = f"[{name}]\n"
    for key, value in plain.items():
        comment = f"  # {helps[key]}" if helps.get(key) else ""
        text += f"{key} = {json.dumps(value, ensure_ascii=False)}{comment}\n"
    return "\n".join([text, *(_section(f"{name}.{key}", value, {}) for key, value in tables.items())])
