"""What the commands share: reading options, progress on stderr, and data on stdout as table, JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.text import Text

from weft.cli.remarks import Remarks
from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.document import Document, Score
from weft.errors import ConfigError
from weft.hub import load_model
from weft.ordering.order import Objective, Ordering, Search, order_document
from weft.progress import Progress
from weft.protocols import CoherenceModel
from weft.registry import MODELS, model_class
from weft.report.terminal import explain_lines, order_lines, percentile_text, printable, score_lines, sentence_count
from weft.scoring.calibration import Percentiles, Reference

if TYPE_CHECKING:
    from weft.generation.decoding import Decoding  # imports torch, which most commands do without

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


def write_scores(
    model: CoherenceModel, files: Sequence[str], reading: ReadOptions, *, form: str, explain: bool
) -> None:
    """Score documents as they are read, and write each score as soon as it is known."""
    reference: Reference | None = getattr(model, "reference", None)
    names = ["id", "left", "right", "value"] if explain else ["id", "sentences", "value", *PERCENTILES]
    table = csv_table(form, names)
    remarks = Remarks(model, message)
    for batch in _batches(_documents(files, reading)):
        for document, score in zip(batch, model.score(batch), strict=True):
            place = None
            if reference is not None and score.value is not None:
                place = reference.percentiles(score.value, len(document))
            if form == "json":
                write_json(_score_record(document, score, place, explain))
            elif form == "csv":
                table.writerows(_score_rows(document, score, place, explain))
            else:
                meaning = "" if reference is None or place is None else percentile_text(reference, place)
                lines = explain_lines if explain else score_lines
                write_lines(lines(document, score, meaning))
            remarks.on(document, score.value)
    remarks.close()


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The first document alone, so that one text on a pipe is answered at once; then many at a time."""
    stream = iter(documents)
    first = next(stream, None)
    if first is not None:
        yield [first]
    while batch := list(islice(stream, DOCUMENTS_AT_ONCE)):
        yield batch


def _score_record(document: Document, score: Score, place: Percentiles | None, explain: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": document.id,
        "sentences": len(document),
        "value": score.value,
        "transitions": list(score.transitions),
        "estimator": score.estimator,
        "percentiles": None if place is None else asdict(place),
    }
    return {**record, "text": list(document.sentences)} if explain else record


def _score_rows(document: Document, score: Score, place: Percentiles | None, explain: bool) -> list[list[Any]]:
    if not explain:
        percentiles = ["", ""] if place is None else [place.written, place.shuffled]
        return [[document.id, len(document), "" if score.value is None else score.value, *percentiles]]
    pairs = zip(document.sentences, document.sentences[1:], score.transitions, strict=False)
    rows: list[list[Any]] = [[document.id, left, right, value] for left, right, value in pairs]
    return rows or [[document.id, " ".join(document.sentences), "", ""]]


# -- order ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """How `weft order` searches."""

    first_given: bool
    search: str
    objective: str
    beam: int
    seed: int


def write_orders(
    model: CoherenceModel, files: Sequence[str], reading: ReadOptions, options: OrderOptions, *, form: str
) -> None:
    """Order every document and write its sentences."""
    table = csv_table(form, ["id", "place", "was", "sentence"])
    remarks = Remarks(model, message)
    for document in _documents(files, reading):
        ordering = order_document(
            model,
            document,
            first=0 if options.first_given and len(document) else None,
            search=cast(Search, options.search),
            objective=cast(Objective, options.objective),
            beam=options.beam,
            seed=options.seed,
        )
        _write_order(document, ordering, form, table)
        remarks.on(document, ordering.value)
    remarks.close()


def _write_order(document: Document, ordering: Ordering, form: str, table: Any) -> None:
    if form == "json":
        sentences = [document.sentences[i] for i in ordering.order]
        write_json({"id": document.id, **asdict(ordering), "sentences": sentences})
    elif form == "csv":
        table.writerows([document.id, place, was, document.sentences[was]] for place, was in enumerate(ordering.order))
    else:
        write_lines(order_lines(document, ordering))
        message(
            f"{document.id}: {sentence_count(len(document))}, {ordering.search} search by {ordering.objective}, "
            f"score {shown(ordering.input_value)} as given, {shown(ordering.value)} in this order"
        )


def shown(value: float | None) -> str:
    """A score in four digits, or null."""
    return "null" if value is None else f"{value:.4f}"


# -- generate ------------------------------------------------------------------------------------------------------


def write_continuations(
    name: str,
    files: Sequence[str],
    reading: ReadOptions,
    decoding: Decoding,
    *,
    sentences: int,
    combine: str,
    form: str,
    draws: int | None = None,
) -> None:
    """Continue every document; a terminal sees each sentence as it is written. ``draws``, where they were asked for."""
    from weft.generation.continuation import continue_document
    from weft.models.common.setting_checks import untrained

    model = load_model(name)
    if not hasattr(model, "predictors") or not hasattr(model, "combined"):
        raise ConfigError(
            "this model cannot write",
            seen=name,
            allowed="a generative model, such as weft-small",
            next_step="change --model",
        )
    if "forward" not in model.predictors:
        raise untrained(name)
    kind = getattr(model, "name", name)
    if draws is not None and kind != "vlv-gm":
        raise ConfigError(
            f"{kind} has no latent variables to draw",
            seen=f"--draws {draws}",
            allowed="--draws with vlv-gm",
            next_step="leave --draws away, or write with --model zoo/vlv-gm",
        )
    way = model.combined(combine).combine  # refuses an unknown way before anything is written
    table = csv_table(form, ["id", "number", "sentence"])
    for document in _documents(files, reading):
        written = continue_document(
            model.predictors["forward"],
            document,
            sentences=sentences,
            decoding=decoding,
            scorer=lambda chosen: model.combined(chosen).scorer,
            combine=way,
        )
        _write_continuation(document, written, form, table)


def _write_continuation(document: Document, written: Iterator[str], form: str, table: Any) -> None:
    if form == "json":
        write_json({"id": document.id, "sentences": list(written)})
        return
    for number, sentence in enumerate(written):
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
