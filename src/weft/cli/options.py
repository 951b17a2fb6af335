"""Options that several commands share."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_MODEL = "weft-small"  # a literal, so that --help imports no models; a test compares it with the registry


class OutputFormat(StrEnum):
    """Formats of the data written to stdout."""

    table = "table"
    json = "json"
    csv = "csv"


class TableFormat(StrEnum):
    """Formats of the paper's tables."""

    markdown = "markdown"
    csv = "csv"
    latex = "latex"


class DeviceName(StrEnum):
    """Where to compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


READING = "Reading texts"
INPUT_HELP = (
    "Format of the files: auto, text (one document per file), blocks (blank lines separate documents), "
    "lines (one sentence per line), jsonl, csv, tsv, parquet, wikipedia-dump, wikiextractor, barzilay-lapata. "
    "Installed packages add more through the entry point weft.readers."
)
OBJECTIVE_HELP = (
    "What to search for: coherence (transitions, as in the paper), precedence (which of two sentences comes first, "
    "for all pairs), both, or auto (both if the model has learned precedence)."
)
Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Files to read; - for stdin. Files ending in .gz, .bz2 and .xz are opened."),
]
Model = Annotated[
    str, typer.Option("--model", "-m", metavar="NAME", help="Name of a model (see `weft models`), or its folder.")
]
Combine = Annotated[
    str | None,
    typer.Option(
        "--combine",
        metavar="uni|bi|mmi",
        help="How a generative model combines its parts (equations 1 to 3). [default: the model's own]",
    ),
]
Device = Annotated[
    DeviceName,
    typer.Option("--device", metavar="auto|cpu|cuda", help="Where to compute; auto uses a GPU if there is one."),
]
Setting = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="A setting of the model; repeat for more.")
]
Override = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        help="Replace a value of the configuration (training.PART.KEY=VALUE for one part); repeat for more.",
    ),
]
Format = Annotated[OutputFormat, typer.Option("--format", "-f", metavar="table|json|csv", help="Format of the output.")]
Input = Annotated[str, typer.Option("--input", "-i", metavar="FORMAT", help=INPUT_HELP, rich_help_panel=READING)]
Encoding = Annotated[
    str, typer.Option(metavar="NAME", help="Encoding of text files, such as latin-1.", rich_help_panel=READING)
]
Language = Annotated[
    str,
    typer.Option(metavar="CODE", help="Language of the sentence splitter, such as de or hi.", rich_help_panel=READING),
]
Column = Annotated[
    str,
    typer.Option(metavar="NAME", help="Column of a CSV, TSV or Parquet file with the text.", rich_help_panel=READING),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Seed of everything random.")]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of documents to use. [default: all]")]
Objective = Annotated[str, typer.Option(metavar="NAME", help=OBJECTIVE_HELP)]
DataRoot = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="Folder of the research data. [default: $WEFT_DATA, else ./data]"),
]
Results = Annotated[Path, typer.Option(metavar="FOLDER", help="Results folder.")]
Picture = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Picture to write: .svg, .png or .pdf.")]


def command_line() -> str:
    """Return the command as typed, for the record; a program that embeds weft is recorded as ``weft`` too."""
    return shlex.join(["weft", *sys.argv[1:]])
