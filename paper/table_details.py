"""What stands beside the paper's tables: the models behind their rows, and differences between their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from paper.measured import SIGNIFICANT, signed
from weft.errors import CorpusError
from weft.evaluation.metrics import Comparison
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result, compare_results
from weft.registry import NAMED_MODELS
from weft.report.model_facts import ModelFacts
from weft.report.paper_numbers import TABLES, PaperTable
from weft.report.row_groups import Group, Line, groups_of, split_variant
from weft.report.row_names import AS_IN_PAPER, WAYS_OF_WRITING
from weft.report.table_formats import NOTHING, pipe

Results = Mapping[Key, Result]
Pair = tuple[str, Line, Line]  # name of a difference, and the two lines


def models_behind(results: Results, known: Sequence[ModelFacts]) -> str:
    """Return tables, training data, size and training time of the models whose weights are published, as Markdown."""
    header = ["weights", "Table", "trained on", "parameters", "size", "training, minutes"]
    lines = []
    for facts in known:
        tasks = {result.task for result in results.values() if _is_of(result, facts)}
        numbers = [str(table.number) for table in TABLES if tasks & set(table.tasks)]
        if numbers:
            lines.append(pipe([f"`{facts.name}`", ", ".join(numbers), *_fact_cells(facts, known)]))
    return "\n".join([pipe(header), pipe(["---"] * len(header)), *lines]) + "\n" if lines else ""


def _is_of(result: Result, facts: ModelFacts) -> bool:
    """Return whether a result was measured with these weights."""
    same = facts.model in NAMED_MODELS or facts.command == result.training.get("command")
    return facts.model == result.model and same


def _fact_cells(facts: ModelFacts, known: Sequence[ModelFacts]) -> list[str]:
    minutes = NOTHING if facts.minutes is None else f"{facts.minutes:.1f}"
    before = "" if facts.minutes_before is None else f" (and {facts.minutes_before:.1f} before)"
    return [_trained_on(facts, known), _count(facts.parameters), _bytes(facts.size), minutes + before]


def _trained_on(facts: ModelFacts, known: Sequence[ModelFacts]) -> str:
    """Return the number of training sentences (that of another model on the same files, if need be), else the files."""
    if not facts.data:
        return "not trained"
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


def row_differences(table: PaperTable, results: Results) -> str:
    """Return differences between rows of the paper's models by paired bootstrap over documents, as Markdown.

    Each row is compared with the row as in the paper above it, and with the row of the same name of the next model.
    The rows as in the paper of uni, bi and MMI are compared too.
    """
    columns = [(*cell, name) for cell, name in zip(table.cells, table.columns, strict=True) if cell[0]]
    header = ["difference", *(text for _, _, name in columns for text in (name, "95% interval", "p"))]
    averaged = average_seeds({key: result for key, result in results.items() if key[0] in table.tasks})
    lines = []
    for name, first, second in _pairs(table, [group for group in groups_of(table, results) if group.values]):
        cells = [_difference(averaged, task, metric, first, second) for task, metric, _ in columns]
        if any(cells):
            lines.append(pipe([name, *(text for found in cells for text in _difference_cells(found))]))
    return "\n".join([pipe(header), pipe(["---"] * len(header)), *lines]) + "\n" if lines else ""


def _pairs(table: PaperTable, groups: Sequence[Group]) -> Iterator[Pair]:
    """Yield the lines to compare; of a table without groups, each row and the next."""
    if not table.grouped:
        yield from ((f"{one.label} − {other.label}", one.lines[0], other.lines[0]) for one, other in pairwise(groups))
        return
    for group in groups:
        first, *added = group.lines
        for line in added:
            if first.name == AS_IN_PAPER:
                yield f"{group.label}: {line.name} − {AS_IN_PAPER}", line, first
    for way in dict.fromkeys(group.way for group in groups):
        for group, other in pairwise([one for one in groups if one.way == way]):
            yield from _same_lines(group, other)
    for group, other in pairwise(groups):  # MMI and bi, bi and uni
        if group.lines[0].model == other.lines[0].model:
            name = WAYS_OF_WRITING.get(split_variant(group.lines[0].variant)[1])
            both = f" (both: {name})" if name else ""
            yield f"{group.label} − {other.label}{both}", group.lines[0], other.lines[0]


def _same_lines(group: Group, other: Group) -> Iterator[Pair]:
    """Yield the lines that two models have in common: by their names, or by the way in which both write."""
    for line in group.lines:
        for same in other.lines:
            way = split_variant(line.variant)[1]
            if line.name == same.name:
                name = "" if line.name == AS_IN_PAPER else f" (both: {line.name})"
                yield f"{group.label} − {other.label}{name}", line, same
            elif way in WAYS_OF_WRITING and way == split_variant(same.variant)[1]:
                yield f"{group.label} − {other.label} (both: {WAYS_OF_WRITING[way]})", line, same


def _difference(averaged: Results, task: str, metric: str, first: Line, second: Line) -> Comparison | None:
    """Return the first line minus the second, or None if one is missing or they have different negatives."""
    if not all(task.startswith(line.domain) for line in (first, second)):
        return None
    found = [averaged.get((task, line.model, line.variant)) for line in (first, second)]
    one, other = found
    if one is None or other is None or metric not in one.per_document or metric not in other.per_document:
        return None
    try:
        return compare_results(one, other, metric)
    except CorpusError:
        return None


def _difference_cells(found: Comparison | None) -> list[str]:
    if found is None or found.interval is None:
        return [NOTHING] * 3
    low, high = map(signed, found.interval)
    difference = signed(found.difference)
    shown = "< .001" if found.p_value < 0.001 else f"{found.p_value:.3f}".removeprefix("0")
    return [f"**{difference}**" if found.p_value < SIGNIFICANT else difference, f"[{low}, {high}]", shown]
