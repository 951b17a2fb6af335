"""What `weft evaluate` and `weft compare` evaluate, and how results are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from weft.cli.output import csv_table, message, progress_bar, shown, write_json, write_lines
from weft.protocols import MovableModel
from weft.report.terminal import counted

if TYPE_CHECKING:
    from weft.evaluation.result import Result
    from weft.evaluation.task import EvaluateOptions, Subject


def write_results(task: str, subjects: Sequence[Subject], options: EvaluateOptions, out: Path, *, given: Given) -> None:
    """Evaluate a model once for each way of combining; each result is saved and shown before the next begins."""
    from weft.evaluation.evaluate import evaluate
    from weft.evaluation.tasks import find_task

    chosen = replace(options, settings=find_task(task).split_settings(options.settings)[1])
    for subject in subjects:
        if isinstance(subject.model, MovableModel):
            subject.model.to(best_device())
        with progress_bar() as progress:
            result = evaluate(task, subject, given.data, chosen, command=given.command, progress=progress)
        message(f"wrote {result.save(out)}")
        write_result(result, form=given.form)


@dataclass(frozen=True, slots=True)
class Given:
    """What else the command was given: the data, the command line and the form of the output."""

    data: str | None
    command: str
    form: str


def write_result(result: Result, *, form: str) -> None:
    """A result's metrics with their intervals."""
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
    pairs = f", {result.n_pairs} pairs, {result.ties} ties" if result.n_pairs else ""
    write_lines(
        [
            Text(f"{result.task}  {result.model}  {result.variant}".rstrip(), "bold"),
            Text(f"{counted(result.n_documents, 'document')}{pairs}, {result.n_excluded} excluded, seed {result.seed}"),
            *(_measure_line(*row) for row in rows),
        ]
    )


def _measure_line(name: str, value: float | None, low: float | None, high: float | None) -> Text:
    interval = "" if low is None else f"   95% {shown(low)} to {shown(high)}"
    return Text(f"  {name:<24}{shown(value):>8}{interval}")


def best_device() -> str:
    """A GPU where there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
