"""The paper's tables with the measured numbers beside the paper's, rendered from a results folder."""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.errors import ConfigError, CorpusError, check_known
from weft.evaluation.result import SEEDED, Key, Result, without_seed
from weft.report.paper_numbers import TABLES, PaperRow, PaperTable

Format = Literal["markdown", "csv", "latex"]
NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a table, with its interval if it was measured here."""

    value: float | None = None  # the number, or the mean over seeds
    # Its bootstrap interval, or one standard deviation to either side for several seeds.
    interval: tuple[float, float] | None = None
    seeds: int = 0  # number of seeds; 0 if the model was trained once


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a rendered table: its name, and whether its numbers were measured here."""

    name: str
    ours: bool


@dataclass(frozen=True, slots=True)
class RenderedTable:
    """A table that can be written in any format."""

    number: int
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


SHARDS = re.compile(r"(?:(?P<way>.+)-)?shards-(?P<count>\d+)")  # variant of a point of the learning curve
ONE_SHARD = re.compile(r"(?:.+-)?one-shard-.+")  # variant of a model trained on the first shard for a comparison


def load_results(folder: str | Path) -> dict[Key, Result]:
    """Return the results on standard data with standard settings in a folder, by task, model and variant.

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
    from weft.evaluation.tasks import is_standard

    found = [(path, Result.load(path)) for path in _result_files(root)]
    # A result beside that of another model, MODEL@NAME.json, enters no table.
    kept = [result for path, result in found if path.stem == result.file_name and is_standard(result)]
    return {(result.task, result.model, result.variant): result for result in kept}


def check_results(folder: str | Path) -> None:
    """Raise CorpusError if a folder has no result."""
    if not _result_files(Path(folder)):
        raise CorpusError(
            "no results in the folder",
            seen=str(folder),
            allowed="a folder with TASK/MODEL.json, as `weft evaluate` writes them",
            next_step="run `weft evaluate` first, or give another folder with --results",
        )


def _result_files(root: Path) -> list[Path]:
    from weft.evaluation.tasks import is_result_folder

    return [path for path in sorted(root.glob("*/*.json")) if is_result_folder(path.parent.name)]


def is_trial(variant: str) -> bool:
    """Return whether a variant belongs to an experiment of docs/findings.md and is not a row of a table.

    Example:
        >>> is_trial("mmi-shards-2"), is_trial("one-shard-corpus"), is_trial("mmi")
        (True, True, False)
    """
    return bool(SHARDS.fullmatch(variant) or ONE_SHARD.fullmatch(variant))


def build_table(table: PaperTable, results: Mapping[Key, Result]) -> RenderedTable:
    """Return one of the paper's tables with the measured numbers, followed by measured rows that the paper lacks."""
    columns = [Column(f"{name}, {who}", who == "weft") for name in table.columns for who in ("paper", "weft")]
    columns += [Column(name, True) for name, _, _ in table.beside]
    rows = [(row.label, _cells(table, row, results)) for row in table.rows]
    rows += [(row.label, _cells(table, row, results)) for row in further_rows(table, results)]
    return RenderedTable(table.number, table.title, tuple(columns), tuple(rows))


def further_rows(table: PaperTable, results: Mapping[Key, Result]) -> list[PaperRow]:
    """Return the measured rows that the paper does not have."""
    tasks = {task for task, _ in table.cells}
    shown = {(row.model, row.variant) for row in table.rows}
    found = {(model, without_seed(variant)) for task, model, variant in results if task in tasks}
    further = sorted(key for key in found - shown if not is_trial(key[1]))
    return [PaperRow(name_of(model, variant), (), model, variant) for model, variant in further]


def _cells(table: PaperTable, row: PaperRow, results: Mapping[Key, Result]) -> tuple[Cell, ...]:
    ours = [_our_cell(task, metric, row, results) for task, metric in table.cells]
    known = [cell.value for cell, (task, _) in zip(ours, table.cells, strict=True) if task and cell.value is not None]
    complete = len(known) == sum(1 for task, _ in table.cells if task)
    cells: list[Cell] = []
    for number, (task, _) in enumerate(table.cells):
        mean = Cell(sum(known) / len(known)) if complete and known else Cell()
        cells.append(Cell(row.values[number]) if row.values else Cell())
        cells.append(ours[number] if task else mean)
    cells += [_our_cell(task, metric, row, results) for _, task, metric in table.beside]
    return tuple(cells)


def _seeds_cell(task: str, metric: str, row: PaperRow, results: Mapping[Key, Result]) -> Cell | None:
    """Return mean and standard deviation over the seeds of a row, or None without several seeds."""
    seeded = [
        result.metrics.get(metric)
        for (name, model, variant), result in results.items()
        if (name, model, without_seed(variant)) == (task, row.model, row.variant) and SEEDED.fullmatch(variant)
    ]
    values = [value for value in seeded if value is not None]
    if not values:
        return None
    mean, spread = statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0
    return Cell(mean, (mean - spread, mean + spread), len(values))


def _our_cell(task: str, metric: str, row: PaperRow, results: Mapping[Key, Result]) -> Cell:
    if (seeds := _seeds_cell(task, metric, row, results)) is not None:
        return seeds
    return cell_of(results.get((task, row.model, row.variant)), metric)


def cell_of(result: Result | None, metric: str = "accuracy") -> Cell:
    """Return a metric of a result with its interval, or an empty cell."""
    if result is None or result.metrics.get(metric) is None:
        return Cell()
    return Cell(result.metrics[metric], result.bounds(metric))


def render(table: RenderedTable, form: Format) -> str:
    """Return a table as Markdown, CSV or LaTeX.

    Example:
        >>> table = RenderedTable(9, "T", (Column("x", True),), (("a", (Cell(0.5, (0.4, 0.6)),)),))
        >>> print(render(table, "csv"), end="")
        model,x,x low,x high
        a,0.5,0.4,0.6
    """
    renderers = {"markdown": _markdown, "csv": _csv, "latex": _latex}
    check_known("table format", form, renderers)
    return renderers[form](table)


def render_tables(results: Mapping[Key, Result], numbers: Sequence[int], form: Format) -> str:
    """Return some of the paper's tables as text, or all of them if `numbers` is empty."""
    known = {table.number: table for table in TABLES}
    for number in numbers:
        if number not in known:
            raise ConfigError("no such table", seen=number, allowed="1 to 4", next_step="`weft table` shows all")
    chosen = [known[number] for number in numbers] or TABLES
    return "\n".join(_titled(build_table(table, results), form) for table in chosen)


def _titled(table: RenderedTable, form: Format) -> str:
    title = f"Table {table.number}. {table.title}"
    heads = {"markdown": f"**{title}**\n\n", "csv": "", "latex": f"% {title}\n"}
    return heads[form] + render(table, form)


def name_of(model: str, variant: str) -> str:
    """Return the label of a row.

    Example:
        >>> name_of("seq2seq", "mmi"), name_of("random", "")
        ('seq2seq (mmi)', 'random')
    """
    return f"{model} ({variant})" if variant else model


def decimal(value: float | None) -> str:
    """Return a number with three decimals and without the leading zero.

    Example:
        >>> decimal(0.9465), decimal(-0.0376), decimal(1.0)
        ('.947', '−.038', '1.000')
    """
    if value is None:
        return NOTHING
    shown = f"{value:.3f}".replace("-", "−")
    return shown.replace("0.", ".", 1) if abs(value) < 1 else shown


def cell_text(cell: Cell) -> str:
    """Return the text of a cell: number, and interval or standard deviation."""
    if cell.interval is None:
        return decimal(cell.value)
    low, high = cell.interval
    if cell.seeds:
        return f"{decimal(cell.value)} ± {decimal((high - low) / 2)}"
    return f"{decimal(cell.value)} [{decimal(low)}, {decimal(high)}]"


def _markdown(table: RenderedTable) -> str:
    header = ["model", *(column.name for column in table.columns)]
    lines = [pipe(header), pipe(["---"] * len(header))]
    lines += [pipe([label, *map(cell_text, cells)]) for label, cells in table.rows]
    return "\n".join(lines) + "\n"


def pipe(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _csv(table: RenderedTable) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    header = ["model"]
    for column in table.columns:
        header += [column.name, f"{column.name} low", f"{column.name} high"] if column.ours else [column.name]
    writer.writerow(header)
    for label, cells in table.rows:
        writer.writerow([label, *_csv_cells(table.columns, cells)])
    return written.getvalue()


def _csv_cells(columns: Sequence[Column], cells: Sequence[Cell]) -> list[str]:
    written = []
    for column, cell in zip(columns, cells, strict=True):
        written.append("" if cell.value is None else repr(cell.value))
        if column.ours:
            written += [repr(bound) for bound in cell.interval] if cell.interval else ["", ""]
    return written


LATEX_SPECIAL = {
    "−": "$-$",
    "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "τ": r"$\tau$", "±": r"$\pm$", NOTHING: "--",
}  # fmt: skip


def _latex(table: RenderedTable) -> str:
    header = ["model", *(column.name for column in table.columns)]
    body = [[label, *map(cell_text, cells)] for label, cells in table.rows]
    lines = [
        r"\begin{tabular}{l" + "r" * len(table.columns) + "}",
        r"\hline",
        _latex_row(header),
        r"\hline",
        *map(_latex_row, body),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Iterable[str]) -> str:
    escaped = ("".join(LATEX_SPECIAL.get(character, character) for character in cell) for cell in cells)
    return " & ".join(escaped) + r" \\"
