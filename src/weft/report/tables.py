"""The paper's tables with the measured numbers beside the paper's, built from a results folder."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.errors import ConfigError, CorpusError
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import SEEDED, Key, Result, without_seed
from weft.report.paper_numbers import TABLES, PaperTable
from weft.report.row_groups import Group, Line, groups_of
from weft.report.table_formats import Cell, Column, Format, RenderedTable, Row, render


def load_results(folder: str | Path) -> dict[Key, Result]:
    """Return the results on standard data with standard settings in a folder, by task, model and variant.

    Raises:
        CorpusError: The folder does not exist.
    """
    return standard_results(read_results(folder))


def read_results(folder: str | Path) -> dict[Path, Result]:
    """Return all results in a folder by the paths of their files.

    Raises:
        CorpusError: The folder does not exist.
    """
    root = Path(folder)
    if not root.is_dir():
        raise CorpusError(
            "no such results folder",
            seen=str(root),
            allowed="a folder written by `weft evaluate`",
            next_step="run `weft evaluate` first, or give the folder with --results",
        )
    return {path: Result.load(path) for path in _result_files(root)}


def standard_results(results: Mapping[Path, Result]) -> dict[Key, Result]:
    """Return the results on standard data with standard settings, by task, model and variant."""
    from weft.evaluation.tasks import is_standard

    # A result beside that of another model, MODEL@NAME.json, enters no table.
    kept = [result for path, result in results.items() if path.stem == result.file_name and is_standard(result)]
    return {(result.task, result.model, result.variant): result for result in kept}


def check_results(folder: str | Path, results: Mapping[Path, Result]) -> None:
    """Raise CorpusError if a folder has no result."""
    if not results:
        raise CorpusError(
            "no results in the folder",
            seen=str(folder),
            allowed="a folder with TASK/MODEL.json, as `weft evaluate` writes them",
            next_step="run `weft evaluate` first, or give another folder with --results",
        )


def _result_files(root: Path) -> list[Path]:
    from weft.evaluation.tasks import is_result_folder

    paths = sorted(root.glob("*/*.json"))
    folders = {name for name in {path.parent.name for path in paths} if is_result_folder(name)}
    return [path for path in paths if path.parent.name in folders]


def measured_tables(results: Mapping[Key, Result]) -> list[int]:
    """Return the numbers of the paper's tables that have a measured number."""
    tasks = {task for task, _, _ in results}
    return [table.number for table in TABLES if tasks & _tasks(table)]


def render_tables(
    results: Mapping[Key, Result], numbers: Sequence[int], form: Format, further: Sequence[RenderedTable] = ()
) -> str:
    """Return some of the paper's tables as text, then further tables."""
    known = {table.number: table for table in TABLES}
    for number in numbers:
        if number not in known:
            raise ConfigError("no such table", seen=number, allowed="1 to 4", next_step="give one of these numbers")
    chosen = [build_table(known[number], results) for number in numbers]
    return "\n".join(_titled(table, form) for table in (*chosen, *further))


def _titled(table: RenderedTable, form: Format) -> str:
    title = f"Table {table.number}. {table.title}" if table.number else table.title
    heads = {"markdown": f"**{title}**\n\n", "csv": "", "latex": f"% {title}\n"}
    return heads[form] + render(table, form)


def build_table(table: PaperTable, results: Mapping[Key, Result]) -> RenderedTable:
    """Return a table with the measured numbers: the rows of the paper, then those that the paper does not have.

    The value of a model that was trained several times is the mean over its seeds, and its interval is that of the
    mean of each document over the seeds.
    """
    numbers = Numbers({key: result for key, result in results.items() if key[0] in _tasks(table)})
    rows = []
    for group in groups_of(table, results):
        for place, line in enumerate(group.lines):
            rows.append(Row(group.label, numbers.described(line), _cells(table, group, line, numbers, first=not place)))
    return RenderedTable(table.number, table.title, _columns(table), tuple(rows), table.grouped)


def _tasks(table: PaperTable) -> set[str]:
    return {*table.tasks, *(task for _, task, _ in table.beside)}


def _columns(table: PaperTable) -> tuple[Column, ...]:
    columns: list[Column] = []
    for name, (task, _) in zip(table.columns, table.cells, strict=True):
        if any(row.values for row in table.rows):
            columns.append(Column(f"{name}, paper", ours=False))
            name = f"{name}, weft"
        columns.append(Column(name, ours=True, split=table.grouped and table.split and bool(task)))
    return (*columns, *(Column(name, ours=True) for name, _, _ in table.beside))


def _cells(table: PaperTable, group: Group, line: Line, numbers: Numbers, *, first: bool) -> tuple[Cell, ...]:
    ours = [numbers.cell(task, metric, line) for task, metric in table.cells]
    known = [cell.value for cell, (task, _) in zip(ours, table.cells, strict=True) if task and cell.value is not None]
    complete = len(known) == sum(1 for task, _ in table.cells if task)
    mean = Cell(sum(known) / len(known)) if complete and known else Cell()
    cells: list[Cell] = []
    for number, (task, _) in enumerate(table.cells):
        if any(row.values for row in table.rows):
            printed = Cell(group.values[number]) if group.values else Cell()
            cells.append(printed if first else Cell(blank=True))
        cells.append(ours[number] if task else mean)
    cells += [numbers.cell(task, metric, line) for _, task, metric in table.beside]
    return tuple(cells)


class Numbers:
    """The numbers of a table by task, metric and line.

    Args:
        results: The results of its tasks, by task, model and variant.
    """

    def __init__(self, results: Mapping[Key, Result]) -> None:
        self.averaged = average_seeds(results)
        self._seeds: dict[Key, list[Result]] = {}
        for (task, model, variant), result in results.items():
            if SEEDED.fullmatch(variant):
                self._seeds.setdefault((task, model, without_seed(variant)), []).append(result)

    def cell(self, task: str, metric: str, line: Line) -> Cell:
        """Return a number with its interval over documents and its spread over seeds, or an empty cell."""
        if not task.startswith(line.domain):
            return Cell()
        key = (task, line.model, line.variant)
        seeds = [value for one in self._seeds.get(key, []) if (value := one.metrics.get(metric)) is not None]
        spread = statistics.stdev(seeds) if len(seeds) > 1 else None
        found = cell_of(self.averaged.get(key), metric)
        return Cell(found.value, found.interval, spread, len(seeds))

    def described(self, line: Line) -> str:
        """Return the name of a line, with its estimator if its probabilities are not exact."""
        found = {
            result.estimator
            for (_, model, variant), result in self.averaged.items()
            if (model, variant) == (line.model, line.variant) and result.estimator != "exact"
        }
        return ", ".join(filter(None, (line.name, *sorted(found))))


def cell_of(result: Result | None, metric: str = "accuracy") -> Cell:
    """Return a metric of a result with its interval, or an empty cell."""
    if result is None or result.metrics.get(metric) is None:
        return Cell()
    return Cell(result.metrics[metric], result.bounds(metric))
