"""`weft evaluate`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from weft.cli import options
from weft.cli.options import argument, option

if TYPE_CHECKING:
    from rich.text import Text

    from weft.evaluation.result import Result

TASK_HELP = (
    "pairs (distinguish a text from its permutations), inner (the same, first and last sentence kept), swaps "
    "(distinguish a text from one with a few sentences exchanged), order (restore the order), insertion (put a "
    "sentence back), intruder (find the sentence that does not belong), endings (choose the end of a story), sp, bso, "
    "dc (DiscoEval), ratings (agree with people), miniatures and probes (minimal pairs), adversarial (distinguish "
    "sentences of a model from those of people). Installed packages add more through the entry point weft.tasks."
)
COMBINE_HELP = "How a generative model combines its parts; repeat for more. [default: the model's own]"
DATA_HELP = (
    "Standard data set (wikipedia, genres, nips, sind, rocstories, accidents, earthquakes and others, see "
    "docs/evaluate.md) or a file of the same form. [default: standard data of the task]"
)


def evaluate(
    tasks: Annotated[list[str] | None, argument(TASK_HELP, "TASK")] = None,
    data: Annotated[str | None, option(DATA_HELP, "NAME|FILE")] = None,
    model: options.Model = options.DEFAULT_MODEL,
    combine: Annotated[list[str], option(COMBINE_HELP, "uni|bi|mmi")] = [],  # noqa: B006
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006
    allow_download: options.AllowDownload = False,
    task: Annotated[list[str], typer.Option("--task", "-t", hidden=True, help="Old form of TASK.")] = [],  # noqa: B006
    data_root: options.DataRoot = None,
    variant: Annotated[
        str, option("Name of these settings; it becomes part of the name of the result file.", "NAME")
    ] = "",
    limit: options.Limit = None,
    permutations: Annotated[
        int, option("Permutations per document, for data without published ones.", "N", low=1)
    ] = 20,
    beam: Annotated[int, option("Beam width of the task order.", "N", low=1, high=1000)] = 10,
    objective: options.Objective = "auto",
    seed: options.Seed = 1,
    out: Annotated[Path, option("Results folder.", "FOLDER", "--out", "-o")] = Path("results"),
    work: Annotated[
        Path, option("Folder in which the task adversarial keeps texts and verdicts between runs.", "FOLDER")
    ] = Path("adversarial"),
    format: options.Format = options.OutputFormat.table,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
) -> None:
    """Evaluate a model on a task and write the result to a JSON file.

    The file, results/TASK/MODEL.json, holds the metrics with their intervals, the seed, the hashes of the data and the
    command. A result of another model or of other data is never replaced: the new one is written beside it.

    --set takes settings of the model; for adversarial also decoding.KEY (how models write, such as decoding.beam=5) and
    evaluator.KEY (how evaluators are trained, such as evaluator.seeds=1).

    Example: weft evaluate pairs --data wikipedia --model foltz-glove

    Example: weft evaluate order --data mine.jsonl --model weft-reader
    """
    from weft.api import evaluate
    from weft.cli.output import chosen_format, message, progress_bar, read_options
    from weft.evaluation.evaluated_models import load_subjects
    from weft.evaluation.task_contract import EvaluateOptions
    from weft.evaluation.tasks import find_experiment, joined
    from weft.ordering.order import check_objective
    from weft.training.config import parse_settings

    names = [*(tasks or ()), *task]
    if not names:
        raise _no_task()
    for name in names:  # all names are checked before the first task runs
        find_experiment(name, data)
    check_objective(objective)
    reading = read_options(input, encoding, language, column, id_column, speaker, clean)
    chosen = EvaluateOptions(
        data_root, reading, seed, permutations, beam, limit,
        cast(Any, objective), parse_settings(setting, allow_download=allow_download), work, device.value,
    )  # fmt: skip
    # Another objective is another experiment, so its result has a name of its own.
    named = joined(objective.replace("auto", ""), variant)
    subjects = {
        name: load_subjects(name, model, chosen.settings, variant=named, combine=combine) for name in names
    }  # all models are loaded before the first task runs
    for name in names:
        for subject in subjects[name]:
            with progress_bar() as progress:
                result = evaluate(
                    name, data=data, model=subject, options=chosen, command=options.command_line(), progress=progress
                )
            message(_written(result, result.save(out)))
            write_result(result, form=chosen_format(format))


def _written(result: Result, path: Path) -> str:
    """Return which file was written, and why it has another name if it does."""
    kept = f"{result.file_name}.json"
    reason = "" if path.name == kept else f"; {kept} is the result of another model or of other data and is kept"
    return f"wrote {path}{reason}"


def _no_task() -> Exception:
    from weft.errors import ConfigError
    from weft.evaluation.tasks import TASKS

    return ConfigError(
        "no task given",
        seen="weft evaluate",
        allowed=", ".join(TASKS),
        next_step="name a task, such as weft evaluate pairs --data wikipedia",
    )


def write_result(result: Result, *, form: str) -> None:
    """Write the metrics of a result with their intervals."""
    from weft.cli.output import csv_table, write_json, write_lines

    if form == "json":
        summary = asdict(result)
        del summary["per_document"], summary["documents"]
        write_json(summary)
        return
    rows = [(name, value, *(result.interval.get(name) or (None, None))) for name, value in result.metrics.items()]
    if form == "csv":
        table = csv_table(form, ["task", "model", "variant", "metric", "value", "low", "high"])
        table.writerows([result.task, result.model, result.variant, *row] for row in rows)
        return
    write_lines([*_head(result), *(_metric_line(*row) for row in rows)])


def _head(result: Result) -> list[Text]:
    from rich.text import Text

    from weft.report.terminal import counted

    pairs = f", {result.n_pairs} pairs, {result.ties} ties" if result.n_pairs else ""
    return [
        Text(f"{result.task}  {result.model}  {result.variant}".rstrip(), "bold"),
        Text(f"{counted(result.n_documents, 'document')}{pairs}, {result.n_excluded} excluded, seed {result.seed}"),
    ]


def _metric_line(name: str, value: float | None, low: float | None, high: float | None) -> Text:
    from rich.text import Text

    from weft.cli.output import shown

    interval = "" if low is None else f"   95% {shown(low)} to {shown(high)}"
    return Text(f"  {name:<24}{shown(value):>8}{interval}")
