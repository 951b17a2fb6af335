"""`weft curves`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Picture


def curves(
    run: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a run (run.folder), or its log.jsonl.")],
    out: Picture,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title of the picture.")] = "",
) -> None:
    """Draw the training and validation loss of a run over its steps.

    Example: weft curves runs/seq2seq --out seq2seq.svg
    """
    from weft.cli.output import message
    from weft.report.training_curves import draw_curves

    message(f"wrote {draw_curves(run, out, title=title)}")
