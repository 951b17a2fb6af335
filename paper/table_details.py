"""The two tables below each of the paper's tables: the models behind its rows, and differences between its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from paper.measured import SIGNIFICANT, signed
from weft.errors import CorpusError
from weft.evaluation.metrics import Comparison
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result, compare_results
from weft.report.model_facts import ModelFacts, facts_of
from weft.report.paper_numbers import PaperTable
from weft.report.tables import NOTHING, further_rows, pipe


def models_behind(table: PaperTable, results: Mapping[Key, Result], known: Sequence[ModelFacts]) -> str:
    """Return training data, size, training time and estimator of the model behind each row, as Markdown.

    Of the rows that the paper does not have, it lists those whose model is recorded in `results/models.json`.
    """
    header = ["model", "trained on", "parameters", "size", "training, minutes", "estimator"]
    lines = []
    averaged = average_seeds(results)
    for row in (*table.rows, *further_rows(table, results)):
        for task in _tasks(table):
            result = averaged.get((task, row.model, row.variant))
            if result is not None and (row in table.rows or facts_of(result, known) is not None):
                label = f"{row.label}, {task}" if len(_tasks(table)) > 1 else row.label
                lines.append(pipe([label, *_fact_cells(facts_of(result, known), known), result.estimator]))
    return "\n".join([pipe(header), pipe(["---"] * len(header)), *lines]) + "\n" if lines else ""


def _tasks(table: PaperTable) -> list[str]:
    return list(dict.fromkeys(task for task, _ in table.cells if task))


def _fact_cells(facts: ModelFacts | None, known: Sequence[ModelFacts]) -> list[str]:
    if facts is None:
        return ["not trained here", NOTHING, NOTHING, NOTHING]
    minutes = NOTHING if facts.minutes is None else f"{facts.minutes:.1f}"
    before = "" if facts.minutes_before is None else f" (and {facts.minutes_before:.1f} before)"
    return [_trained_on(facts, known), _count(facts.parameters), _bytes(facts.size), minutes + before]


def _trained_on(facts: ModelFacts, known: Sequence[ModelFacts]) -> str:
    """Return the number of training sentences (that of another model on the same files, if need be), else the files."""
    if not facts.data:
        return "not trained here"
    same = [one.sentences for one in known if list(one.data) == list(facts.data) and one.sentences]
    counted = facts.sentences or (same[0] if same and not facts.limit else None)
    if counted:
        return f"{counted:,} sentences"
    names = ", ".join(name.split(".")[0] for name in facts.data)
    return f"{names}, first {facts.limit:,} texts" if facts.limit else names


def _bytes(size: int) -> str:
    """Return the size of a folder in KiB or MiB.

    Example:
        >>> _bytes(0), _bytes(6616), _bytes(12_582_739)
        ('0 KiB', '6 KiB', '12.0 MiB')
    """
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"


def _count(number: int) -> str:
    """Return a number of parameters in thousands or millions.

    Example:
        >>> _count(950), _count(43_210), _count(12_345_678)
        ('950', '43k', '12.3M')
    """
    return f"{number / 1e6:.1f}M" if number >= 1e6 else f"{number / 1e3:.0f}k" if number >= 1e4 else f"{number:,}"


def row_differences(table: PaperTable, results: Mapping[Key, Result]) -> str:
    """Return the difference between each row and the next measured row, by paired bootstrap, as Markdown."""
    header = ["rows", "column", "difference", "95% interval", "p"]
    lines = []
    averaged = average_seeds(results)
    for (task, metric), column in zip(table.cells, table.columns, strict=True):
        rows = [(row.label, averaged.get((task, row.model, row.variant))) for row in table.rows]
        there = [(label, result) for label, result in rows if result is not None and metric in result.per_document]
        for (label, first), (next_label, second) in pairwise(there):
            try:
                found = compare_results(first, second, metric)
            except CorpusError:  # the two results have different negatives
                continue
            lines.append(pipe([f"{label} − {next_label}", column, *_difference_cells(found)]))
    return "\n".join([pipe(header), pipe(["---"] * len(header)), *lines]) + "\n" if lines else ""


def _difference_cells(found: Comparison) -> list[str]:
    low, high = map(signed, found.interval)
    difference = signed(found.difference)
    shown = "< .001" if found.p_value < 0.001 else f"{found.p_value:.3f}".removeprefix("0")
    return [f"**{difference}**" if found.p_value < SIGNIFICANT else difference, f"[{low}, {high}]", shown]
