"""Options that several commands share."""

from __future__ import annotations

import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.corpora.data_folder import DATA_VARIABLE
from weft.settings import HIGHEST_COUNT

DEFAULT_MODEL = "weft-reader"  # a literal, so that --help imports no models; tests compare both with the registry
DEFAULT_WRITER = "weft-small"


class OutputFormat(StrEnum):
    """Formats of the data written to stdout."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
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


class EngineName(StrEnum):
    """Where the workers run."""

    processes = "processes"
    ray = "ray"


FORMATS = "|".join(OutputFormat)
READING = "Reading texts"  # a section of --help
INPUT_HELP = (
    "Format of the files: auto, text (one document per file), blocks (blank lines separate documents), "
    "lines (one sentence per line), jsonl, csv, tsv, parquet, wikipedia-dump, wikiextractor, barzilay-lapata, "
    "folder, markdown, html, srt, vtt, docx, pdf. "
    "Installed packages add more through the entry point weft.readers."
)
OBJECTIVE_HELP = (
    "What to search for: coherence (transitions, as in the paper), precedence (which of two sentences comes first, "
    "for all pairs), both, or auto (both if the model has learned precedence)."
)
COMBINE_HELP = "How a generative model combines its parts (equations 1 to 3). [default: the model's own]"
OVERRIDE_HELP = "Replace a value of the configuration (training.PART.KEY=VALUE for one part); repeat for more."
FILES_HELP = (
    "Files to read, folders (all files of known formats in them), patterns in quotes ('essays/*.txt'), or - for stdin. "
    "Files ending in .gz, .bz2 and .xz are opened."
)
COLUMN_HELP = "Column of a CSV, TSV or Parquet file, or key of a JSONL file, with the text."
ID_COLUMN_HELP = "Column or key with the names of the texts. [default: id in JSONL, else file and line]"
CLEAN_HELP = "Parts of transcripts to remove, separated by commas: labels, timestamps, fillers (um), noises ([laughs])."
STRICT_HELP = (
    "Stop with an error at an empty text, or at a file of a folder that cannot be read. By default it keeps its place "
    "in the output, without a score and with the reason."
)
OUT_HELP = "File to write instead of stdout; it appears when all is done."
FORMAT_HELP = "Format of the output; json and jsonl write an object per line. [default: suffix of --out, else table]"


def option(
    help: str,
    metavar: str,
    *names: str,
    section: str | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """Declare an option of a command.

    Args:
        help: What it does.
        metavar: What --help shows for its value.
        names: Its names, such as ``--out`` and ``-o``; by default the name of the parameter.
        section: Its section in --help.
        low: The lowest number allowed.
        high: The highest number allowed; by default, a count has the highest one that all libraries accept.
    """
    if low is not None and high is None:
        high = HIGHEST_COUNT
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=section, min=low, max=high)


def argument(help: str, metavar: str) -> Any:
    """Declare an argument of a command."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


Files = Annotated[list[str], argument(FILES_HELP, "FILE")]
Model = Annotated[str, option("Name of a model (see `weft models`), or its folder.", "NAME", "--model", "-m")]
Combine = Annotated[str | None, option(COMBINE_HELP, "uni|bi|mmi", "--combine")]
Device = Annotated[
    DeviceName, option("Where to compute; auto uses a GPU if there is one.", "auto|cpu|cuda", "--device")
]
Setting = Annotated[list[str], option("A setting of the model; repeat for more.", "KEY=VALUE", "--set")]
AllowDownload = Annotated[
    bool,
    option("Download a model of the Hugging Face hub, for --model hf --set model=OWNER/NAME.", "", "--allow-download"),
]
Override = Annotated[list[str], option(OVERRIDE_HELP, "SECTION.KEY=VALUE", "--set")]
Format = Annotated[OutputFormat, option("Format of the output.", FORMATS, "--format", "-f")]
FileFormat = Annotated[OutputFormat | None, option(FORMAT_HELP, FORMATS, "--format", "-f")]
Out = Annotated[Path | None, option(OUT_HELP, "FILE", "--out", "-o")]
Strict = Annotated[bool, option(STRICT_HELP, "", "--strict", section=READING)]
Input = Annotated[str, option(INPUT_HELP, "FORMAT", "--input", "-i", section=READING)]
Encoding = Annotated[str, option("Encoding of text files, such as latin-1.", "NAME", section=READING)]
Language = Annotated[str, option("Language of the sentence splitter, such as de or hi.", "CODE", section=READING)]
Speaker = Annotated[str, option("Read only the turns of this speaker of a transcript.", "NAME", section=READING)]
Clean = Annotated[str, option(CLEAN_HELP, "PARTS", section=READING)]
Column = Annotated[str, option(COLUMN_HELP, "NAME", section=READING)]
IdColumn = Annotated[str | None, option(ID_COLUMN_HELP, "NAME", section=READING)]
Seed = Annotated[int, option("Seed of all random numbers.", "N", low=0, high=2**32 - 1)]
Limit = Annotated[int | None, option("Number of documents to use. [default: all]", "N", low=1)]
Objective = Annotated[str, option(OBJECTIVE_HELP, "NAME")]
DataRoot = Annotated[str | None, option("Folder of the research data. [default: $WEFT_DATA, else ./data]", "FOLDER")]
Results = Annotated[Path, option("Results folder.", "FOLDER")]
Picture = Annotated[Path, option("Picture to write: .svg, .png or .pdf.", "FILE", "--out", "-o")]


def command_line() -> str:
    """Return the command for the record: as typed, with $WEFT_DATA for the path of the research data.

    A program that embeds weft is recorded as ``weft`` too.
    """
    return " ".join(["weft", *map(_recorded, sys.argv[1:])])


def _recorded(argument: str) -> str:
    root = os.environ.get(DATA_VARIABLE, "").rstrip("/")
    if root and argument.startswith(f"{root}/"):
        return f"${DATA_VARIABLE}/{shlex.quote(argument.removeprefix(f'{root}/'))}"
    return shlex.quote(argument)
