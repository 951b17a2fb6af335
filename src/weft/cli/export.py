"""`weft export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from weft.cli import options
from weft.cli.options import argument, option


class Arithmetic(StrEnum):
    """How the inputs of linear layers are rounded."""

    float32 = "float32"
    int16 = "int16"
    int8 = "int8"


def export(
    folder: Annotated[str, argument("Folder of a trained reader, or its name.", "FOLDER")],
    out: Annotated[Path | None, option("Folder to write. [default: FOLDER-onnx]", "FOLDER")] = None,
    arithmetic: Annotated[
        Arithmetic, option("Rounding of the inputs of linear layers; weights are int8.", "float32|int16|int8")
    ] = Arithmetic.float32,
    notice: Annotated[
        Path | None, option("Text file to keep in the folder, such as a licence notice. [default: none]", "FILE")
    ] = None,
) -> None:
    """Write a trained reader as ONNX graphs, which score without PyTorch.

    Example: weft export zoo/reader --out reader-onnx
    """
    from weft.cli.output import message
    from weft.hub import model_folder
    from weft.models.reader.export import export

    place = export(
        model_folder(folder), out, arithmetic=arithmetic.value, notice=notice, command=options.command_line()
    )
    size = sum(path.stat().st_size for path in place.iterdir())
    message(f"wrote the exported model ({size / 1e6:.1f} MB) to {place}")
