"""The command that puts two models or two texts side by side."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import (
    DEFAULT_MODEL,
    Column,
    DataRoot,
    Encoding,
    Format,
    Input,
    Language,
    Model,
    OutputFormat,
    Seed,
    Setting,
    command_line,
)

if TYPE_CHECKING:
    from weft.corpora.readers.formats import ReadOptions
    from weft.document import Document
    from weft.evaluation.model_comparison import Versus
    from weft.evaluation.result import Result
    from weft.evaluation.task import EvaluateOptions
    from weft.evaluation.text_comparison import Revision


def compare(
    first: Annotated[str, typer.Argument(help="A text; or a model: its name, its folder or a result file.")],
    second: Annotated[str, typer.Argument(help="Another of the same kind.")],
    task: Annotated[
        str, typer.Option("--task", "-t", help="The task to compare models on (see weft evaluate); none for texts.")
    ] = "",
    model: Model = DEFAULT_MODEL,
    setting: Setting = [],  # noqa: B006
    metric: Annotated[str, typer.Option(help="By which documents are compared; the task's first by default.")] = "",
    documents: Annotated[int, typer.Option(min=0, help="Show so many documents that differ most.")] = 10,
    results: Annotated[Path, typer.Option(help="Where results are looked for before a model is evaluated.")] = Path(
        "results"
    ),
    data: Annotated[str | None, typer.Option(help="A file of documents instead of the task's standard data.")] = None,
    data_root: DataRoot = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate on the first so many documents.")] = None,
    seed: Seed = 1,
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Put two texts, or two models on a task, side by side: what changed, how far apart, how sure.

    Example: weft compare draft.txt final.txt

    Example: weft compare seq2seq.mmi vlv-gm.mmi --task wikipedia-pairs
    """
    from weft.cli.output import read_options

    reading = read_options(input, encoding, language, column)
    if task or _is_result(first) or _is_result(second):
        place = _Place(task, results, data, data_root, limit, seed, reading)
        _write_versus(_versus(first, second, place, metric), documents, format.value)
        return
    texts = [_text(name, reading) for name in (first, second)]
    _write_texts(texts[0], texts[1], model, setting, format.value)


# -- models --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where models are compared: the options of the command."""

    task: str
    results: Path
    data: str | None
    data_root: str | None
    limit: int | None
    seed: int
    reading: ReadOptions

    @property
    def options(self) -> EvaluateOptions:
        from weft.evaluation.task import EvaluateOptions

        return EvaluateOptions(self.data_root, self.reading, self.seed, limit=self.limit)


def _is_result(name: str) -> bool:
    """Whether an argument is a result file, not a text: a JSON object with a task and a model."""
    if not name.endswith(".json") or not Path(name).is_file():
        return False
    try:
        content = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and {"task", "model", "metrics"} <= content.keys()


def _versus(first: str, second: str, place: _Place, metric: str) -> Versus:
    from weft.evaluation.model_comparison import compare_models
    from weft.evaluation.tasks import find_experiment

    if place.task:
        find_experiment(place.task, place.data)
    found = [_result(name, place) for name in (first, second)]
    return compare_models(found[0], found[1], metric=metric, seed=place.seed)


def _result(name: str, place: _Place) -> Result:
    """A result file, a result that is already there by its name, or a fresh evaluation."""
    from weft.errors import ConfigError
    from weft.evaluation.result import Result
    from weft.evaluation.tasks import find_experiment

    if _is_result(name):
        return Result.load(name)
    if not place.task:
        raise ConfigError(
            "a result file can be compared with a model only on a task",
            seen=name,
            allowed="two result files, or --task with two models",
            next_step="give --task",
        )
    path = place.results / find_experiment(place.task, place.data).name / f"{name}.json"
    if not (place.data or place.limit) and "/" not in name and path.is_file():
        return Result.load(path)
    return _evaluate(name, place)


def _evaluate(name: str, place: _Place) -> Result:
    """Evaluate a model, NAME or NAME.WAY; nothing is written, so that its name is that of the model and its way."""
    from weft.cli.output import message, progress_bar
    from weft.evaluation.evaluate import evaluate
    from weft.evaluation.subjects import load_subjects
    from weft.protocols import CombinableModel

    stem, way = _model_and_way(name)
    (subject,) = load_subjects(place.task, stem, {}, combine=[way] if way else [])
    title = way or (subject.model.combine if isinstance(subject.model, CombinableModel) else "")
    message(f"evaluating {name} on {place.task}")
    with progress_bar() as progress:
        found = evaluate(place.task, subject, place.data, place.options, command=command_line(), progress=progress)
    return replace(found, variant=title)


def _model_and_way(name: str) -> tuple[str, str]:
    """A model and the way after its name, where there is one."""
    stem, _, way = name.rpartition(".")
    from weft.scoring.pairs import WAYS

    return (stem, way) if way in WAYS and not Path(name).exists() else (name, "")


def _write_versus(found: Versus, shown: int, form: str) -> None:
    from weft.cli.output import write_json, write_lines
    from weft.report.comparisons import versus_lines, versus_record

    record = versus_record(found, shown)
    if form == "json":
        write_json(record)
    elif form == "csv":
        names = ("first", "second", "difference", "low", "high", "p_value", "n_documents")
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(["metric", *names])
        for name, cells in record["metrics"].items():
            low, high = cells["interval"]
            table.writerow([name, *({**cells, "low": low, "high": high}[key] for key in names)])
    else:
        write_lines(versus_lines(found, shown))


# -- texts ---------------------------------------------------------------------------------------------------------


def _text(name: str, reading: ReadOptions) -> Document:
    """The one text of a file."""
    from weft.corpora.readers.formats import read_documents
    from weft.errors import ConfigError
    from weft.hub import is_model

    stem, _ = _model_and_way(name)
    if is_model(stem) and not Path(name).is_file():
        raise ConfigError(
            "models are compared on a task",
            seen=name,
            allowed="two texts; or two models with --task",
            next_step="add --task wikipedia-pairs, or name two files of text",
        )
    if name != "-" and not Path(name).exists():
        raise ConfigError(
            "cannot open the file: it does not exist",
            seen=name,
            allowed="two files of text; or two models with --task",
            next_step="check the path; if it is a model, add --task wikipedia-pairs",
        )
    found = list(islice(read_documents(name, reading), 2))
    if len(found) != 1:
        raise ConfigError(
            "two texts are compared, one a file",
            seen=f"{name} with {'several texts' if found else 'no text'}",
            allowed="a file with one text",
            next_step="put each text into a file of its own",
        )
    return found[0]


def _write_texts(first: Document, second: Document, model: str, setting: list[str], form: str) -> None:
    from weft.cli.output import write_json, write_lines
    from weft.evaluation.text_comparison import compare_texts
    from weft.hub import load_model
    from weft.report.comparisons import revision_lines
    from weft.training.config import parse_settings

    found = compare_texts(load_model(model, parse_settings(setting)), first, second)
    if form == "json":
        write_json(found.to_dict())
    elif form == "csv":
        _write_steps(found, first, second)
    else:
        write_lines(revision_lines(found, first, second))


def _write_steps(found: Revision, first: Document, second: Document) -> None:
    """A row for each transition."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["kind", "before", "after", "left", "right", "value_before", "value_after", "difference"])
    for step in found.transitions:
        text, place = (first, step.before or 0) if step.after is None else (second, step.after)
        numbers = (step.value_before, step.value_after, step.difference)
        table.writerow([step.kind, step.before, step.after, *text.sentences[place : place + 2], *numbers])
