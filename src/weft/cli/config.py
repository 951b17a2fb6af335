"""`weft config`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options
from weft.cli.options import argument, option

if TYPE_CHECKING:
    from weft.training.config import RunConfig


FOR_HELP = "Model to train on the texts of --data: reader, or a trained model to start from."
DATA_HELP = "File of documents to train on, with --for."


def config(
    name: Annotated[str | None, argument("Name of a model, or a TOML file.", "NAME|FILE")] = None,
    setting: options.Override = [],  # noqa: B006
    model: Annotated[str | None, option(FOR_HELP, "MODEL", "--for")] = None,
    data: Annotated[str | None, option(DATA_HELP, "FILE")] = None,
) -> None:
    """Show the settings of a model with their defaults, or check a configuration file.

    The output is a configuration file for `weft train`, with a comment on every setting. Add the data (data.train, or
    data.store), the folder to write (run.out, or --out of `weft train`) and, for a neural model, the length of the run
    (training.steps or training.minutes).

    With --for and --data, the configuration is complete: it trains the model on a file of your own texts, on a CPU, in
    minutes.

    Example: weft config foltz-lda > my-run.toml

    Example: weft config --for reader --data essays.jsonl > my-run.toml
    """
    from weft.training.config import config_of
    from weft.training.config_text import render_config

    _check_arguments(name, model, data)
    if model is not None and data is not None:
        typer.echo(render_config(_own_texts(model, data, setting)), nl=False)
    elif name is not None:
        typer.echo(render_config(config_of(name, setting)), nl=False)


def _own_texts(model: str, data: str, setting: list[str]) -> RunConfig:
    from weft.cli.output import message
    from weft.training.own_texts import plan_for_texts

    plan = plan_for_texts(model, data, setting)
    start = f"starts from {plan.start}" if plan.start else f"no trained {model} was found: starts from scratch"
    message(f"{start}; {plan.config.training['steps']} steps; writes {plan.config.run.out}")
    return plan.config


def _check_arguments(name: str | None, model: str | None, data: str | None) -> None:
    """Raise ConfigError unless there is a name, or a model with data."""
    from weft.errors import ConfigError

    if (name is None) is (model is None) or (model is None) is not (data is None):
        given = {"NAME": name, "--for": model, "--data": data}
        raise ConfigError(
            "give either a model or file, or a model to train on your texts",
            seen=" ".join(f"{key} {value}" for key, value in given.items() if value is not None) or "nothing",
            allowed="weft config NAME|FILE, or weft config --for MODEL --data FILE",
            next_step="run `weft config --help` for examples",
        )
