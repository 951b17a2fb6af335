"""The options that commands share."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from typing import Annotated

import typer

DEFAULT_MODEL = "weft-small"  # a literal, so that --help need not import the models; a test keeps it right


class OutputFormat(StrEnum):
    """How data are written to stdout."""

    table = "table"
    json = "json"
    csv = "csv"


class TableFormat(StrEnum):
    """How the paper's tables are written."""

    markdown = "markdown"
    csv = "csv"
    latex = "latex"


INPUT_HELP = (
    "auto, text (one document a file), blocks (blank line between documents), lines (one sentence a line), "
    "jsonl, csv, tsv, parquet, wikipedia-dump, wikiextractor, barzilay-lapata"
)
Files = Annotated[
    list[str], typer.Argument(help="Files to read; - for stdin. .gz, .bz2 and .xz are opened as they are.")
]
Model = Annotated[str, typer.Option("--model", "-m", help="A built-in name (see `weft models`) or a model folder.")]
Setting = Annotated[list[str], typer.Option("--set", help="A setting, key=value; repeat for more.")]
Override = Annotated[
    list[str],
    typer.Option("--set", help="An override, section.key=value or training.PART.key=value; repeat for more."),
]
Format = Annotated[OutputFormat, typer.Option("--format", "-f", help="How to write the output.")]
Input = Annotated[str, typer.Option("--input", "-i", help=INPUT_HELP)]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
Language = Annotated[str, typer.Option(help="Language of the sentence splitter, such as en, de, hi.")]
Column = Annotated[str, typer.Option(help="The column (CSV, TSV, Parquet) that holds the text.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]
OBJECTIVE_HELP = (
    "coherence (transitions, as in the paper), precedence (which of two comes first, for all pairs), both; "
    "auto takes both where the model has learned precedence."
)
Objective = Annotated[str, typer.Option(help=OBJECTIVE_HELP)]
DataRoot = Annotated[str | None, typer.Option(help="Folder of the research data; else $WEFT_DATA, else ./data.")]


def command_line() -> str:
    """The command as typed, for the record; a program that embeds weft shows as ``weft`` too."""
    return shlex.join(["weft", *sys.argv[1:]])
