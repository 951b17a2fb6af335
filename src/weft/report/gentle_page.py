"""The part of docs/results.md on negatives that change less than a permutation does: ends fixed, and few swaps."""

from __future__ import annotations

from collections.abc import Mapping

from weft.corpora.negatives.swap import NEIGHBOURS, SWAPS
from weft.evaluation.result import Key, Result
from weft.report.tables import Cell, Column, RenderedTable, name_of, render

INNER, WHOLE, FEW = "wikipedia-pairs-inner", "wikipedia-pairs", "wikipedia-swaps"
TASKS = (INNER, FEW)

INNER_NOTE = """\
The same paragraphs against permutations in which the first and the last sentence stay where they are. On any
permutation MMI is bi plus what the language model says of the first and of the last sentence, so here the two agree:
what MMI gains where all sentences are permuted, it gains at the ends (docs/findings.md)."""

SWAPS_NOTE = """\
Four texts of each kind a paragraph: two neighbours exchanged; any other two sentences exchanged; then orders that take
that many exchanges to undo, and not fewer. To undo a random permutation takes nearly as many as there are sentences."""


def gentle_section(results: Mapping[Key, Result]) -> str:
    """Both tables as Markdown; nothing of a task that has no result."""
    return "\n".join(part for part in (_inner(results), _swaps(results)) if part)


def cell_of(result: Result | None, metric: str = "accuracy") -> Cell:
    """A metric with its interval, or an empty cell."""
    if result is None or result.metrics.get(metric) is None:
        return Cell()
    interval = result.interval.get(metric)
    return Cell(result.metrics[metric], (interval[0], interval[1]) if interval else None)


def _inner(results: Mapping[Key, Result]) -> str:
    rows = tuple(
        (name_of(model, variant), (cell_of(results.get((WHOLE, model, variant))), cell_of(result)))
        for (task, model, variant), result in sorted(results.items())
        if task == INNER
    )
    columns = (Column("all sentences permuted", True), Column("both ends fixed", True))
    table = render(RenderedTable(0, "", columns, rows), "markdown")
    return f"## Both ends fixed, accuracy\n\n{table}\n{INNER_NOTE}\n" if rows else ""


def _swaps(results: Mapping[Key, Result]) -> str:
    kinds = (NEIGHBOURS, *(f"swaps_{number}" for number in SWAPS))
    rows = tuple(
        (name_of(model, variant), tuple(cell_of(result, kind) for kind in kinds))
        for (task, model, variant), result in sorted(results.items())
        if task == FEW
    )
    names = (NEIGHBOURS, *(f"{number} swap{'' if number == 1 else 's'}" for number in SWAPS))
    table = render(RenderedTable(0, "", tuple(Column(name, True) for name in names), rows), "markdown")
    return f"## A few sentences exchanged, accuracy\n\n{table}\n{SWAPS_NOTE}\n" if rows else ""
