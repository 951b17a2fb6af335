"""`weft train`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options
from weft.cli.options import argument, option
from weft.errors import Stopped
from weft.io.torchrun_processes import process_numbers

PART_HELP = "Part of a neural model to train: forward, backward, prior, precedence; repeat for more. [default: all]"


def train(
    config: Annotated[Path, argument("TOML file, such as configs/foltz-lda.toml.", "FILE")],
    setting: options.Override = [],  # noqa: B006
    out: Annotated[
        str | None, option("Model folder to write. [default: run.out of the file]", "FOLDER", "--out", "-o")
    ] = None,
    part: Annotated[list[str], option(PART_HELP, "NAME")] = [],  # noqa: B006
    minutes: Annotated[
        float | None, option("Minutes of training per part. [default: training.minutes of the file]", "X")
    ] = None,
    device: Annotated[
        options.DeviceName | None, option("Where to compute. [default: run.device of the file]", "auto|cpu|cuda")
    ] = None,
    data_root: options.DataRoot = None,
) -> None:
    """Train a model from a configuration file and write its folder.

    A run that was stopped continues when the same command is given again. Several processes share a run under torchrun.

    Example: weft train configs/foltz-lda.toml --set model.topics=100 --out my-topics
    """
    from weft.api import train
    from weft.cli.output import message, progress_bar
    from weft.training.config import read_config
    from weft.training.runs import untrained_parts

    named = {"run.out": out, "training.minutes": minutes, "run.device": device}
    chosen = read_config(config, [*setting, *(f"{key}={value}" for key, value in named.items() if value is not None)])
    is_main = process_numbers().is_main  # under torchrun, one process speaks for all
    with stoppable(), progress_bar(shown=is_main) as progress:
        trained = train(
            chosen, parts=part, data_root=data_root, command=options.command_line(), progress=progress
        ).inner
    if not is_main:
        return
    if missing := untrained_parts(trained):
        message(
            f"trained {', '.join(part)}; train {', '.join(missing)} too, "
            f"then give the command without --part to write {chosen.run.out}"
        )
    else:
        message(f"wrote {chosen.run.out}")


@contextmanager
def stoppable() -> Iterator[None]:
    """Say how to go on if Ctrl-C or SIGTERM stops the block; training itself stops after a checkpoint."""

    def stop(number: int, frame: object) -> None:  # noqa: ARG001
        raise Stopped(number, "the same command continues the run if it has a checkpoint, else starts it again")

    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except Stopped as stopped:  # click would report a KeyboardInterrupt in its own way
        if process_numbers().is_main:
            print(f"weft: {stopped}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(128 + stopped.number) from stopped
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
