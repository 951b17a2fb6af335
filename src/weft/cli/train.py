"""`weft train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DataRoot, DeviceName, Override, command_line


def train(
    config: Annotated[Path, typer.Argument(metavar="FILE", help="TOML file, such as configs/foltz-lda.toml.")],
    setting: Override = [],  # noqa: B006
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Model folder to write. [default: run.out of the file]"),
    ] = None,
    part: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="Part of a neural model to train: forward, backward, prior, precedence; repeat for more. "
            "[default: all]",
        ),
    ] = [],  # noqa: B006
    minutes: Annotated[
        float | None,
        typer.Option(metavar="X", help="Minutes of training per part. [default: training.minutes of the file]"),
    ] = None,
    device: Annotated[
        DeviceName | None,
        typer.Option(metavar="auto|cpu|cuda", help="Where to compute. [default: run.device of the file]"),
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Train a model from a configuration file and write its folder.

    A run that was stopped continues when the same command is given again.

    Example: weft train configs/foltz-lda.toml --set model.topics=100 --out my-topics
    """
    from weft.api import train
    from weft.cli.output import message, progress_bar
    from weft.training.config import read_config
    from weft.training.runs import untrained_parts

    named = {"run.out": out, "training.minutes": minutes, "run.device": device}
    chosen = read_config(config, [*setting, *(f"{key}={value}" for key, value in named.items() if value is not None)])
    with progress_bar() as progress:
        trained = train(chosen, parts=part, data_root=data_root, command=command_line(), progress=progress).inner
    if missing := untrained_parts(trained):
        message(f"trained {', '.join(part)}; {chosen.run.out} is written once {', '.join(missing)} are trained too")
    else:
        message(f"wrote {chosen.run.out}")
