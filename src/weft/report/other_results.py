"""Tables of the results that no table of the paper has: other tasks, other data, other settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.evaluation.result import Key, Result
from weft.evaluation.tasks import find_task
from weft.report.paper_numbers import TABLES
from weft.report.row_groups import name_of
from weft.report.table_formats import Cell, Column, RenderedTable, Row


def others_among(results: Sequence[Result], standard: Mapping[Key, Result]) -> list[Result]:
    """Return the results that no table of the paper shows.

    Args:
        results: All results of a folder.
        standard: Those on standard data with standard settings.
    """
    tasks = {task for table in TABLES for task in (*table.tasks, *(task for _, task, _ in table.beside))}
    shown = {id(result) for key, result in standard.items() if key[0] in tasks}
    return [result for result in results if id(result) not in shown]


def other_tables(results: Sequence[Result]) -> list[RenderedTable]:
    """Return one table for each task and data, with the main metrics of the task and their intervals.

    Example:
        >>> one = Result("pairs", "random", "limit-3", {"accuracy": 0.5}, {"accuracy": [0.2, 0.8]}, 3, 60, 0, 0, 1,
        ...              "exact", "mine.jsonl", "h", "n", "")
        >>> [(table.title, [row.model for row in table.rows]) for table in other_tables([one])]
        [('pairs on mine.jsonl', ['random (limit-3)'])]
    """
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.task, result.data_name, result.data_sha256), []).append(result)
    return [_table(task, data, found) for (task, data, _), found in groups.items()]


def _table(task: str, data: str, results: Sequence[Result]) -> RenderedTable:
    metrics, title = _main_metrics(task, results), f"{task} on {data}"
    # The title is in every row of a CSV, which has no other place for it.
    rows = tuple(Row(_label(result), title, tuple(_cell(result, name) for name in metrics)) for result in results)
    return RenderedTable(0, title, tuple(Column(name, ours=True) for name in metrics), rows)


def _main_metrics(task: str, results: Sequence[Result]) -> list[str]:
    """Return the main metrics of a task that were measured, else the first metric of each result."""
    found = [name for name in find_task(task).headline if any(name in result.metrics for result in results)]
    return found or list(dict.fromkeys(next(iter(result.metrics), "") for result in results))


def _label(result: Result) -> str:
    """Return the model and its variant, and the name it was loaded by if that is another one."""
    named = result.model_name if result.model_name not in ("", result.model) else ""
    return ", ".join(filter(None, (name_of(result.model, result.variant), named)))


def _cell(result: Result, metric: str) -> Cell:
    return Cell(result.metrics.get(metric), result.bounds(metric))
