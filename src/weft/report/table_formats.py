"""Tables as Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from weft.errors import check_known

Format = Literal["markdown", "csv", "latex"]
NOTHING = "–"
INTERVAL, SEEDS = "95% interval", "± over seeds"
LATEX_SPECIAL = {
    "−": "$-$",
    "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "τ": r"$\tau$", "±": r"$\pm$", NOTHING: "--",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a table, with two kinds of uncertainty if it was measured here."""

    value: float | None = None  # the number, or the mean over seeds
    interval: tuple[float, float] | None = None  # bootstrap interval over documents, of the mean over seeds
    spread: float | None = None  # standard deviation over seeds; None for one training
    seeds: int = 0  # number of seeds; 0 for a model without a seed in its name
    blank: bool = False  # whether nothing is printed, not even a dash


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a rendered table."""

    name: str
    ours: bool  # whether its numbers were measured here
    split: bool = False  # whether intervals and spreads have columns of their own


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a rendered table."""

    model: str
    line: str  # what the row adds to the model; empty if nothing
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class RenderedTable:
    """A table that can be written in any format."""

    number: int
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    grouped: bool = False  # whether several rows belong to one model, and each says what it adds


def render(table: RenderedTable, form: Format) -> str:
    """Return a table as Markdown, CSV or LaTeX.

    Example:
        >>> table = RenderedTable(9, "T", (Column("x", True),), (Row("a", "", (Cell(0.5, (0.4, 0.6)),)),))
        >>> print(render(table, "csv"), end="")
        model,row,x,x low,x high,x sd,x seeds
        a,,0.5,0.4,0.6,,
        >>> print(render(table, "markdown"), end="")
        | model | x |
        | --- | --- |
        | a | .500 [.400, .600] |
    """
    renderers = {"markdown": _markdown, "csv": _csv, "latex": _latex}
    check_known("table format", form, renderers)
    return renderers[form](table)


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


def bounds_text(bounds: tuple[float, float] | None) -> str:
    """Return an interval in brackets.

    Example:
        >>> bounds_text((-0.5, 1.0)), bounds_text(None)
        ('[−.500, 1.000]', '–')
    """
    return NOTHING if bounds is None else f"[{decimal(bounds[0])}, {decimal(bounds[1])}]"


def cell_text(cell: Cell) -> str:
    """Return a cell as one text: the number, its interval and its spread over seeds, as far as there are any."""
    found = [decimal(cell.value)]
    found += [bounds_text(cell.interval)] if cell.interval else []
    found += [spread_text(cell)] if cell.spread is not None else []
    return "" if cell.blank else " ".join(found)


def spread_text(cell: Cell) -> str:
    """Return the standard deviation over seeds and their number.

    Example:
        >>> spread_text(Cell(0.5, None, 0.02, 5)), spread_text(Cell(0.5))
        ('± .020 (5)', '–')
    """
    return NOTHING if cell.spread is None else f"± {decimal(cell.spread)} ({cell.seeds})"


def _header(table: RenderedTable) -> list[str]:
    names = ["model", "row"] if table.grouped else ["model"]
    for column in table.columns:
        names += [column.name, INTERVAL, SEEDS] if column.split else [column.name]
    return names


def _texts(table: RenderedTable) -> list[list[str]]:
    """Return the cells of all rows as text; the name of a model stands in its first row only."""
    rows, before = [], ""
    for row in table.rows:
        texts = ["" if row.model == before else row.model, row.line] if table.grouped else [row.model]
        before = row.model
        for column, cell in zip(table.columns, row.cells, strict=True):
            texts += [decimal(cell.value), bounds_text(cell.interval), spread_text(cell)] if column.split else []
            texts += [] if column.split else [cell_text(cell)]
        rows.append(texts)
    return rows


def pipe(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _markdown(table: RenderedTable) -> str:
    header = _header(table)
    return "\n".join([pipe(header), pipe(["---"] * len(header)), *map(pipe, _texts(table))]) + "\n"


def _csv(table: RenderedTable) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    header = ["model", "row"]
    for column in table.columns:
        parts = ("", " low", " high", " sd", " seeds") if column.ours else ("",)
        header += [column.name + part for part in parts]
    writer.writerow(header)
    for row in table.rows:
        cells = zip(table.columns, row.cells, strict=True)
        writer.writerow([row.model, row.line, *(field for pair in cells for field in _csv_fields(*pair))])
    return written.getvalue()


def _csv_fields(column: Column, cell: Cell) -> list[str]:
    low, high = cell.interval or (None, None)
    numbers = (cell.value, low, high, cell.spread, cell.seeds or None) if column.ours else (cell.value,)
    return ["" if number is None else repr(number) for number in numbers]


def _latex(table: RenderedTable) -> str:
    header = _header(table)
    lines = [
        r"\begin{tabular}{" + ("ll" if table.grouped else "l").ljust(len(header), "r") + "}",
        r"\hline",
        _latex_row(header),
        r"\hline",
        *map(_latex_row, _texts(table)),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Iterable[str]) -> str:
    escaped = ("".join(LATEX_SPECIAL.get(character, character) for character in cell) for cell in cells)
    return " & ".join(escaped) + r" \\"
