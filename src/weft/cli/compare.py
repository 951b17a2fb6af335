"""`weft compare`."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from weft.cli import options
from weft.cli.options import argument, option

if TYPE_CHECKING:
    from weft.corpora.readers.formats import ReadOptions
    from weft.document import Document
    from weft.evaluation.model_comparison import Versus
    from weft.evaluation.text_comparison import Revision

MODEL_HELP = (
    f"Name of the model that scores two texts (see `weft models`), or its folder. [default: {options.DEFAULT_MODEL}]"
)
CHANGES_HELP = "Show only what differs between two texts."
TWO_MODELS = "Comparing models"  # a section of --help
TASK_HELP = "Task to compare two models on (see `weft evaluate --help`)."
DATA_HELP = "Standard data set or a file of documents. [default: standard data of the task]"
METRIC_HELP = "Metric to compare documents by. [default: the first one of the task]"
DOCUMENTS_HELP = "Number of documents to show, those that differ most."
RESULTS_HELP = "Results folder; a model that has no result there is evaluated."


def compare(
    first: Annotated[str, argument("File with a text; or a model's name, its folder or a result file.", "FIRST")],
    second: Annotated[str, argument("A second one of the same kind, to compare with FIRST.", "SECOND")],
    model: Annotated[str | None, option(MODEL_HELP, "NAME", "--model", "-m")] = None,
    combine: options.Combine = None,
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006
    changes_only: Annotated[bool, option(CHANGES_HELP, "", "--changes-only")] = False,
    allow_download: options.AllowDownload = False,
    task: Annotated[str, option(TASK_HELP, "TASK", "--task", "-t", section=TWO_MODELS)] = "",
    data: Annotated[str | None, option(DATA_HELP, "NAME|FILE", section=TWO_MODELS)] = None,
    metric: Annotated[str, option(METRIC_HELP, "NAME", section=TWO_MODELS)] = "",
    documents: Annotated[int, option(DOCUMENTS_HELP, "N", section=TWO_MODELS, low=0)] = 10,
    results: Annotated[Path, option(RESULTS_HELP, "FOLDER", section=TWO_MODELS)] = Path("results"),
    data_root: options.DataRoot = None,
    limit: options.Limit = None,
    seed: options.Seed = 1,
    out: options.Out = None,
    format: options.FileFormat = None,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
) -> None:
    """Compare two versions of a text, or two models on a task.

    Example: weft compare draft.txt final.txt --changes-only

    Example: weft compare seq2seq.mmi vlv-gm.mmi --task pairs --data wikipedia
    """
    from weft.api import compare_models
    from weft.cli.output import chosen_format, output_to, progress_bar, read_options
    from weft.evaluation.result_lookup import is_result_file
    from weft.evaluation.task_contract import EvaluateOptions
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    form = chosen_format(format, out)
    reading = read_options(input, encoding, language, column, id_column, speaker, clean)
    if task or is_result_file(first) or is_result_file(second):
        _check_no_text_options(model, combine, setting, changes_only=changes_only)
        chosen = EvaluateOptions(data_root, reading, seed, limit=limit, device=device.value)
        with progress_bar() as progress:
            found = compare_models(
                first, second, task=task, data=data, metric=metric, results=results, options=chosen,
                command=options.command_line(), progress=progress,
            )  # fmt: skip
        with output_to(out):
            _write_versus(found, documents, form)
        return
    _check_no_task_options(data, metric, limit)
    texts = [_text(name, reading) for name in (first, second)]
    settings = parse_settings(setting, allow_download=allow_download)
    loaded = load(model or options.DEFAULT_MODEL, combine=combine, device=device.value, settings=settings)
    found_texts = loaded.compare(*texts)
    with output_to(out):
        _write_texts(found_texts, texts[0], texts[1], form, changes_only=changes_only)


def _check_no_text_options(model: str | None, combine: str | None, setting: list[str], *, changes_only: bool) -> None:
    """Raise ConfigError if options of the comparison of two texts are given for two models."""
    from weft.errors import ConfigError

    if changes_only:
        raise ConfigError(
            "--changes-only applies to two texts",
            seen="--changes-only with two models",
            allowed="--documents N, for the documents on which two models differ most",
            next_step="omit the option",
        )
    given = {"--model": model, "--combine": combine, "--set": setting[0] if setting else None}
    for name, value in given.items():
        if value is not None:
            raise ConfigError(
                f"{name} applies to the model that scores two texts",
                seen=f"{name} {value} with two models",
                allowed="two models by name, such as seq2seq.bi and vlv-gm.mmi",
                next_step="omit the option; for other settings, run `weft evaluate` and name its result file",
            )


def _check_no_task_options(data: str | None, metric: str, limit: int | None) -> None:
    """Raise ConfigError if options of the comparison of two models are given for two texts."""
    from weft.errors import ConfigError

    for name, value in {"--data": data, "--metric": metric or None, "--limit": limit}.items():
        if value is not None:
            raise ConfigError(
                f"{name} applies to two models",
                seen=f"{name} {value} with two texts",
                allowed="two models with --task, or two texts without this option",
                next_step="add --task NAME, or omit the option",
            )


def _write_versus(found: Versus, shown: int, form: str) -> None:
    from weft.cli.output import csv_table, write_json, write_lines
    from weft.report.comparisons import versus_lines, versus_record

    if form == "json":
        write_json(versus_record(found, shown))
    elif form == "csv":
        names = ("metric", "first", "second", "difference", "low", "high", "p_value", "n_documents")
        csv_table(form, names).writerows([row[name] for name in names] for row in found.rows())
    else:
        write_lines(versus_lines(found, shown))


def _text(name: str, reading: ReadOptions) -> Document:
    """Return the one text of a file."""
    from weft.corpora.readers.formats import read_documents
    from weft.errors import ConfigError
    from weft.evaluation.result_lookup import model_and_combination
    from weft.hub import is_model

    stem, _ = model_and_combination(name)
    if is_model(stem) and not os.path.isfile(name):
        raise ConfigError(
            "models are compared on a task",
            seen=name,
            allowed="two texts; or two models with --task",
            next_step="add --task pairs, or name two files of text",
        )
    if name != "-" and not os.path.exists(name):
        raise ConfigError(
            "cannot open the file: it does not exist",
            seen=name,
            allowed="two files of text; or two models with --task",
            next_step="check the path; for a model, add --task pairs",
        )
    found = list(islice(read_documents(name, reading), 2))
    if len(found) != 1:
        raise ConfigError(
            "each file must hold exactly one text",
            seen=f"{name} with {'several texts' if found else 'no text'}",
            allowed="a file with one text",
            next_step="put each text into a file of its own",
        )
    return found[0]


def _write_texts(found: Revision, first: Document, second: Document, form: str, *, changes_only: bool) -> None:
    from weft.cli.output import csv_table, write_json, write_lines
    from weft.report.comparisons import revision_lines

    chosen = found.changes() if changes_only else found
    if form == "json":
        write_json(chosen.to_dict())
    elif form == "csv":
        names = ("kind", "before", "after", "left", "right", "value_before", "value_after", "difference")
        table = csv_table(form, names)
        for step in chosen.transitions:
            text, place = (first, step.before or 0) if step.after is None else (second, step.after)
            numbers = (step.value_before, step.value_after, step.difference)
            table.writerow([step.kind, step.before, step.after, *text.sentences[place : place + 2], *numbers])
    else:
        write_lines(revision_lines(found, first, second, changes_only=changes_only))
