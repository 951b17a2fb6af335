"""What commands share: reading, progress and messages on stderr, and data on stdout as table, JSON lines or CSV."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from weft.cli.options import OutputFormat
from weft.corpora.readers.read_options import ReadOptions
from weft.document import Document, Score
from weft.errors import with_options
from weft.io.atomic_files import write_atomically
from weft.progress import Progress
from weft.report.terminal import printable
from weft.scoring.score_records import passed_columns

NAMED = 3  # texts that are named beside a warning; the others are counted


def message(text: str) -> None:
    """Show the user something that is not data."""
    Console(stderr=True, highlight=False).print(text, soft_wrap=True, markup=False)


@contextmanager
def progress_bar(*, shown: bool = True) -> Iterator[Progress]:
    """Show a bar on stderr while work goes on, if stderr is a terminal and ``shown`` is set."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as bars:
        known: dict[str, Any] = {}

        def report(label: str, done: int, total: int | None = None, note: str = "") -> None:
            if label not in known:
                known[label] = bars.add_task(label, total=total)
            bars.update(known[label], completed=done, total=total, description=f"{label}  {note}".rstrip())

        yield report


def read_options(
    form: str,
    encoding: str,
    language: str,
    column: str,
    id_column: str | None,
    speaker: str,
    clean: str,
    *,
    strict: bool | None = None,
) -> ReadOptions:
    """Return the reading options of a command.

    Args:
        form: The format of the files.
        encoding: Their encoding.
        language: Their language.
        column: The column of the text.
        id_column: The column of the ids, if there is one.
        speaker: The speaker of a transcript whose turns are read.
        clean: Parts of transcripts to remove, separated by commas.
        strict: Whether an empty text is an error, or keeps its place; None if it is skipped.
    """
    empty: Literal["skip", "keep", "refuse"] = "skip" if strict is None else "refuse" if strict else "keep"
    parts = tuple(part.strip() for part in clean.split(",") if part.strip())
    return ReadOptions(
        format=form, encoding=encoding, language=language, column=column, id_column=id_column, empty=empty,
        speaker=speaker, clean=parts,
    )  # fmt: skip


def chosen_format(form: OutputFormat | None, out: Path | None = None) -> str:
    """Return the format of the output: table, json or csv.

    Args:
        form: The format that was chosen, if one was.
        out: The file to write, whose suffix tells the format if none was chosen.
    """
    suffix = out.suffix.lower().removeprefix(".") if out is not None else ""
    name = form.value if form is not None else suffix if suffix in ("json", "jsonl", "csv") else "table"
    return "json" if name == "jsonl" else name


@contextmanager
def output_to(out: Path | None) -> Iterator[None]:
    """Write the data of the block to a file, which appears when the block ends without an error, or to stdout."""
    if out is None:
        yield
        return
    with write_atomically(out) as handle:
        text = io.TextIOWrapper(handle, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            with redirect_stdout(text):
                yield
            text.flush()
        finally:
            text.detach()
    message(f"wrote {out}")


def with_names(documents: Iterator[Document], form: str) -> Iterator[Document]:
    """Yield documents; for the terminal, each of several after a line with its name, and a blank line between them."""
    first = list(islice(documents, 2))
    for number, document in enumerate(chain(first, documents)):
        if form == "table" and len(first) > 1:
            write_lines([Text(printable(document.id), "bold cyan")], blank_before=number > 0)
        yield document


class _PipeConsole(Console):
    """Passes a closed pipe on to `weft.cli.main`, which exits with code 141; rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def write_json(record: Mapping[str, Any]) -> None:
    """Write a record to stdout as one line of JSON."""
    sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_record(document: Document, record: Mapping[str, Any]) -> None:
    """Write the result of a document to stdout as one line of JSON, followed by the other columns of its row."""
    write_json({**record, **passed_columns(document, record)})


class DocumentTable:
    """Writes rows of CSV to stdout, followed by the other columns of the document's own row.

    The first document decides which columns there are; a column that only later documents have is named on stderr.

    Args:
        names: Names of the columns that the command itself writes.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.others = [*names], list[str]()
        self.omitted: set[str] = set()
        self.writer: Any = None

    def write(self, document: Document, rows: Iterable[Sequence[Any]]) -> None:
        """Write the rows of a document."""
        columns = passed_columns(document, self.names)
        if self.writer is None:
            self.others = [*columns]
            self.writer = csv_table("csv", [*self.names, *self.others])
        if further := columns.keys() - {*self.others} - self.omitted:
            self.omitted |= further
            message(f"{document.id}: not in the columns of the first text, and omitted: {', '.join(sorted(further))}")
        cells = [_cell(columns.get(name)) for name in self.others]
        self.writer.writerows([*row, *cells] for row in rows)


def _cell(value: Any) -> Any:
    return "" if value is None else value if isinstance(value, str | int | float) else json.dumps(value)


def csv_table(form: str, names: Sequence[str]) -> Any:
    """Return a writer of CSV rows to stdout; it writes the names of the columns first if the format is CSV."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    if form == "csv":
        table.writerow(names)
    return table


def write_lines(lines: Iterable[Text], *, blank_before: bool = False) -> None:
    """Write lines to stdout, in colour on a terminal; a pipe gets plain lines of any length."""
    console = _PipeConsole(highlight=False, soft_wrap=True)
    if blank_before:
        console.print()
    for line in lines:
        console.print(line)


def shown(value: float | None) -> str:
    """Return a score with four digits, or – if there is none."""
    return "–" if value is None else f"{value:.4f}"


class WarningLines:
    """Collects the warnings about texts and shows each of them once, with the texts that it is about.

    Args:
        show: Shows a line to the user.

    Example:
        >>> warnings = WarningLines(print)
        >>> for number in range(5):
        ...     warnings.add(f"text-{number}", ["no score", "a list"] if number == 0 else ["no score"])
        >>> warnings.close()
        5 texts (text-0, text-1, text-2 and 2 more): no score
        text-0: a list
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self.show = show
        self.counts: Counter[str] = Counter()
        self.names: dict[str, list[str]] = {}  # of each warning, the first texts

    def add(self, name: str, warnings: Sequence[str]) -> None:
        """Note the warnings about a text."""
        for warning in dict.fromkeys(warnings):
            self.counts[warning] += 1
            if self.counts[warning] <= NAMED:
                self.names.setdefault(warning, []).append(name)

    def noted(self, scores: Iterable[Score]) -> Iterator[Score]:
        """Yield scores, and note the warnings of each."""
        for score in scores:
            self.add(score.document.id if score.document is not None else "", score.warnings)
            yield score

    def close(self) -> None:
        """Show all warnings; those about the same one text on one line."""
        alone: dict[str, list[str]] = {}
        for warning, count in self.counts.items():
            names = ", ".join(self.names[warning])
            if count == 1:
                alone.setdefault(names, []).append(warning)
            else:
                more = f" and {count - NAMED} more" if count > NAMED else ""
                self.show(with_options(f"{count} texts ({names}{more}): {warning}"))
        for name, warnings in alone.items():
            self.show(with_options(f"{name}: {'; '.join(warnings)}"))
