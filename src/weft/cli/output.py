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
from weft.document import Document, Score
from weft.progress import Progress

NAMED = 3  # texts that are named beside a warning; the others are counted


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
                self.show(f"{count} texts ({names}{more}): {warning}")
        for name, warnings in alone.items():
            self.show(f"{name}: {'; '.join(warnings)}")
