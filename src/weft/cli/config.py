"""`weft config`."""

from __future__ import annotations

from typing import Annotated

import typer

from weft.cli import options
from weft.cli.options import argument


def config(
    name: Annotated[str, argument("Name of a model, or a TOML file.", "NAME|FILE")],
    setting: options.Override = [],  # noqa: B006
) -> None:
    """Show the settings of a model with their defaults, or check a configuration file.

    The output is a configuration file for `weft train`, with a comment on every setting. Add the data (data.train, or
    data.store), the folder to write (run.out, or --out of `weft train`) and, for a neural model, the length of the run
    (training.steps or training.minutes).

    Example: weft config foltz-lda > my-run.toml
    """
    from weft.training.config import config_of
    from weft.training.config_text import render_config

    typer.echo(render_config(config_of(name, setting)), nl=False)
