"""`weft report`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from weft.cli import options
from weft.cli.options import option
from weft.cli.score import GENRE_HELP

OUT_HELP = "HTML file to write; it appears when all is done."
BRIEF_HELP = "Omit matrices, reasons, topics and latent paths, which take most of the time."
PDF_HELP = "Also print a PDF of the same name; needs Chromium."


def report(
    files: options.Files,
    model: options.Model = options.DEFAULT_MODEL,
    combine: options.Combine = None,
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006  typer copies it
    genre: Annotated[str | None, option(GENRE_HELP, "NAME")] = None,
    allow_download: options.AllowDownload = False,
    out: Annotated[Path, option(OUT_HELP, "FILE", "--out", "-o")] = Path("report.html"),
    title: Annotated[str, option("Title of the report.", "TEXT")] = "",
    brief: Annotated[bool, option(BRIEF_HELP, "", "--brief")] = False,
    pdf: Annotated[bool, option(PDF_HELP, "", "--pdf")] = False,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
    strict: options.Strict = False,
) -> None:
    """Write an HTML report on texts: links, weak links with reasons, ranking, and what the score means.

    Example: weft report examples/essay.txt --out essay.html
    """
    from weft.cli.output import WarningLines, message, progress_bar, read_options
    from weft.corpora.readers.formats import read_files
    from weft.loaded_model import load
    from weft.report_writer import check_report_file, write_scores
    from weft.training.config import parse_settings

    check_report_file(out, pdf=pdf)
    _check_not_an_input(files, out)
    loaded = load(
        model, combine=combine, device=device.value, settings=parse_settings(setting, allow_download=allow_download)
    )
    reading = read_options(input, encoding, language, column, id_column, speaker, clean, strict=strict)
    warnings = WarningLines(message)
    with progress_bar() as progress:
        scores = list(warnings.noted(loaded.score_stream(read_files(files, reading), genre=genre)))
        write_scores(loaded, scores, out, title=title, details=not brief, pdf=pdf, progress=progress)
    warnings.close()
    printed = f" and {out.with_suffix('.pdf')}" if pdf else ""
    message(f"wrote {out}{printed}")


def _check_not_an_input(files: list[str], out: Path) -> None:
    """Raise ConfigError if the report would overwrite a text that it is about."""
    from weft.corpora.readers.found_files import found_files, is_pattern
    from weft.errors import ConfigError

    if not out.exists():
        return
    for file in files:
        many = is_pattern(file) or os.path.isdir(file)
        paths = [found.path for found in found_files(file)] if many else [Path(file)]
        if any(path.exists() and path.samefile(out) for path in paths):
            raise ConfigError(
                "the report would overwrite a file that it reads",
                seen=str(out),
                allowed="a file that is not among the inputs",
                next_step="choose another file with --out, or remove an older report from the folder",
            )
