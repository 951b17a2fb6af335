"""What the commands share: reading options, progress on stderr, and data on stdout as table, JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from weft.cli.remarks import Remarks
from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.document import Document, Score
from weft.loaded_model import Model
from weft.ordering.order import Ordering
from weft.progress import Progress
from weft.registry import MODELS, model_class
from weft.report.terminal import counted, explain_lines, order_lines, printable, score_lines

if TYPE_CHECKING:
    pass  # imports torch, which most commands do without

DOCUMENTS_AT_ONCE = 64


def message(text: str) -> None:
    """Tell the person something that is not data."""
    Console(stderr=True, highlight=False).print(text, soft_wrap=True, markup=False)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on stderr for long work; nothing where stderr is not a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        shown: dict[str, Any] = {}

        def report(label: str, done: int, total: int | None = None, note: str = "") -> None:
            if label not in shown:
                shown[label] = bars.add_task(label, total=total)
            bars.update(shown[label], completed=done, total=total, description=f"{label}  {note}".rstrip())

        yield report


def read_options(form: str, encoding: str, language: str, column: str) -> ReadOptions:
    """The reading options of a command."""
    return ReadOptions(format=form, encoding=encoding, language=language, column=column)


def _documents(files: Sequence[str], reading: ReadOptions) -> Iterator[Document]:
    return chain.from_iterable(read_documents(file, reading) for file in files)


class _PipeConsole(Console):
    """Lets a closed pipe reach `weft.cli.main`, where it is no error; rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _stdout() -> Console:
    # A pipe gets plain lines of any length; a terminal gets colours and folds by itself.
    return _PipeConsole(highlight=False, soft_wrap=True)


def write_json(record: Mapping[str, Any]) -> None:
    """A record as one line of JSON to stdout."""
    sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def csv_table(form: str, names: Sequence[str]) -> Any:
    """A writer of rows to stdout; the names of the columns are the first, where CSV was asked for."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    if form == "csv":
        table.writerow(names)
    return table


def write_lines(lines: Iterable[Text]) -> None:
    """Lines to stdout, in colour on a terminal."""
    console = _stdout()
    for line in lines:
        console.print(line)


PERCENTILES = ("percentile_written", "percentile_shuffled")

# -- score ---------------------------------------------------------------------------------------------------------


def write_scores(model: Model, files: Sequence[str], reading: ReadOptions, *, form: str, explain: bool) -> None:
    """Score documents as they are read, and write each score as soon as it is known."""
    names = ["id", "left", "right", "value"] if explain else ["id", "sentences", "value", *PERCENTILES]
    table = csv_table(form, names)
    remarks = Remarks(message)
    for score in model.score_stream(_documents(files, reading)):
        document = score.document
        assert document is not None
        if form == "json":
            text = {"text": list(document.sentences)} if explain else {}
            write_json({**score.to_dict(), **text})
        elif form == "csv":
            table.writerows(_score_rows(document, score, explain))
        else:
            write_lines(explain_lines(document, score) if explain else score_lines(document, score))
        remarks.on(document.id, score.warnings)
    remarks.close()


def _score_rows(document: Document, score: Score, explain: bool) -> list[list[Any]]:
    if not explain:
        cells = (score.value, score.percentile, score.percentile_shuffled)
        return [[document.id, len(document), *("" if cell is None else cell for cell in cells)]]
    pairs = zip(document.sentences, document.sentences[1:], score.transitions, strict=False)
    rows: list[list[Any]] = [[document.id, left, right, value] for left, right, value in pairs]
    return rows or [[document.id, " ".join(document.sentences), "", ""]]


# -- order ---------------------------------------------------------------------------------------------------------


def write_orders(
    model: Model, files: Sequence[str], reading: ReadOptions, options: Mapping[str, Any], *, form: str
) -> None:
    """Order every document and write its sentences."""
    table = csv_table(form, ["id", "place", "was", "sentence"])
    remarks = Remarks(message)
    for document in _documents(files, reading):
        ordering: Ordering = model.order(document, **options)
        _write_order(document, ordering, form, table)
        remarks.on(document.id, ordering.warnings)
    remarks.close()


def _write_order(document: Document, ordering: Ordering, form: str, table: Any) -> None:
    if form == "json":
        write_json(ordering.to_dict())
    elif form == "csv":
        table.writerows([document.id, place, was, document.sentences[was]] for place, was in enumerate(ordering.order))
    else:
        write_lines(order_lines(document, ordering))
        message(
            f"{document.id}: {counted(len(document), 'sentence')}, {ordering.search} search by {ordering.objective}, "
            f"score {shown(ordering.input_value)} as given, {shown(ordering.value)} in this order"
        )


def shown(value: float | None) -> str:
    """A score in four digits, or null."""
    return "null" if value is None else f"{value:.4f}"


# -- generate ------------------------------------------------------------------------------------------------------


def write_continuations(
    model: Model, files: Sequence[str], reading: ReadOptions, options: Mapping[str, Any], *, form: str
) -> None:
    """Continue every document; a terminal shows each sentence as soon as it is written."""
    model.check_writing(draws=options["draws"], combine=options["combine"])  # before a file is read
    table = csv_table(form, ["id", "number", "sentence"])
    for document in _documents(files, reading):
        if form == "json":
            write_json(model.generate(document, **options).to_dict())
            continue
        for number, sentence in enumerate(model.generate_stream(document, **options)):
            if form == "csv":
                table.writerow([document.id, number, sentence])
            else:
                write_lines([Text(printable(sentence))])
            sys.stdout.flush()


# -- models --------------------------------------------------------------------------------------------------------


def write_models(form: str) -> None:
    """Every built-in model with what its score means."""
    cards = [{"name": name, **asdict(model_class(name).card)} for name in MODELS]
    if form == "json":
        for card in cards:
            write_json(card)
    elif form == "csv":
        csv_table(form, list(cards[0])).writerows(card.values() for card in cards)
    else:
        for card in cards:
            write_lines(_card_lines(card))


def _card_lines(card: Mapping[str, str]) -> list[Text]:
    facts = (
        ("range", f"{card['score_range']}; higher is more coherent"),
        ("a high score", card["meaning"]),
        ("comparable", card["comparable"]),
        ("needs", card["needs"]),
        ("reference", card["reference"]),
    )
    head = Text.assemble((card["name"], "bold cyan"), f"  {card['summary']}")
    return [head, *(Text.assemble("    ", (f"{name:<14}", "dim"), value) for name, value in facts)]
