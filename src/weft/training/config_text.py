"""A configuration as TOML text, with all values and a comment on each setting of the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from weft.registry import model_class
from weft.training.config import RunConfig, split_tables


def render_config(config: RunConfig) -> str:
    """Return a configuration as TOML, with all defaults and the help text of each setting of the model.

    Example:
        >>> from weft.training.config import config_of
        >>> print(render_config(config_of("random")).split("[data]")[0].strip())
        [model]
        name = "random"
        seed = 1  # Seed of all numbers.
    """
    model = {"name": config.model.name, **config.model.settings}
    sections = {"model": model, "data": asdict(config.data), "run": asdict(config.run)}
    if config.training:
        sections["training"] = dict(config.training)
    helps = {"model": _helps(config.model.name)}
    return "\n".join(_section(name, values, helps.get(name, {})) for name, values in sections.items())


def _helps(name: str) -> dict[str, str]:
    kind: Any = model_class(name)
    return {setting: rule.help for setting, rule in kind.Settings.rules().items()}


def _section(name: str, values: Mapping[str, Any], helps: Mapping[str, str]) -> str:
    # JSON's strings, numbers, booleans and lists are TOML's too.
    plain, tables = split_tables(values)
    text = f"[{name}]\n"
    for key, value in plain.items():
        comment = f"  # {helps[key]}" if helps.get(key) else ""
        text += f"{key} = {json.dumps(value, ensure_ascii=False)}{comment}\n"
    return "\n".join([text, *(_section(f"{name}.{key}", value, {}) for key, value in tables.items())])
