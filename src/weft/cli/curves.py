"""`weft curves`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from weft.cli import options
from weft.cli.options import argument, option


def curves(
    run: Annotated[Path, argument("Folder of a run (run.folder), or its log.jsonl.", "FOLDER")],
    out: options.Picture,
    title: Annotated[str, option("Title of the picture.", "TEXT")] = "",
) -> None:
    """Draw the training and validation loss of a run over its steps.

    Example: weft curves runs/seq2seq --out seq2seq.svg
    """
    from weft.cli.output import message
    from weft.report.training_curves import draw_curves

    message(f"wrote {draw_curves(run, out, title=title)}")
