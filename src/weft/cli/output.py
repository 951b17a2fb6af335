"""What commands share: reading, progress and messages on stderr, and data on stdout as table, JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from rich.console import Console
from rich.text import Text

from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.document import Document
from weft.progress import Progress

NAMED = 3  # texts that are named for each warning; the others are counted


def message(text: str) -> None:
    """Show the user something that is not data."""
    Console(stderr=True, highlight=False).print(text, soft_wrap=True, markup=False)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a bar on stderr while work goes on, if stderr is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        known: dict[str, Any] = {}

        def report(label: str, done: int, total: int | None = None, note: str = "") -> None:
            if label not in known:
                known[label] = bars.add_task(label, total=total)
            bars.update(known[label], completed=done, total=total, description=f"{label}  {note}".rstrip())

        yield report


def read_options(form: str, encoding: str, language: str, column: str) -> ReadOptions:
    """Return the reading options of a command."""
    return ReadOptions(format=form, encoding=encoding, language=language, column=column)


def documents_in(files: Sequence[str], reading: ReadOptions) -> Iterator[Document]:
    """Yield the documents of all files."""
    return chain.from_iterable(read_documents(file, reading) for file in files)


class _PipeConsole(Console):
    """Passes a closed pipe on to `weft.cli.main`, where it is no error; rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def write_json(record: Mapping[str, Any]) -> None:
    """Write a record to stdout as one line of JSON."""
    sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def csv_table(form: str, names: Sequence[str]) -> Any:
    """Return a writer of CSV rows to stdout; it writes the names of the columns first if the format is CSV."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    if form == "csv":
        table.writerow(names)
    return table


def write_lines(lines: Iterable[Text]) -> None:
    """Write lines to stdout, in colour on a terminal; a pipe gets plain lines of any length."""
    console = _PipeConsole(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(line)


def shown(value: float | None) -> str:
    """Return a score with four digits, or – if there is none."""
    return "–" if value is None else f"{value:.4f}"


class WarningLines:
    """Shows the warnings about many texts: one line per text for the first texts of each warning, then their number.

    Args:
        show: Shows a line to the user.

    Example:
        >>> lines = []
        >>> warnings = WarningLines(lines.append)
        >>> for number in range(5):
        ...     warnings.add(str(number), ["no score", "a list"] if number == 0 else ["no score"])
        >>> warnings.close()
        >>> lines[0], lines[-1]
        ('0: no score; a list', '2 more texts: no score')
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self.show = show
        self.counts: Counter[str] = Counter()

    def add(self, name: str, warnings: Sequence[str]) -> None:
        """Show the warnings about a text that few texts before it had."""
        self.counts.update(warnings)
        named = [warning for warning in warnings if self.counts[warning] <= NAMED]
        if named:
            self.show(f"{name}: {'; '.join(named)}")

    def close(self) -> None:
        """Show how many texts were not named."""
        for warning, count in self.counts.items():
            if count > NAMED:
                self.show(f"{count - NAMED} more text{'s' if count > NAMED + 1 else ''}: {warning}")
