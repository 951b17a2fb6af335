"""Which results stand in which row of the tables: a row as in the paper, then those that add something to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from weft.evaluation.result import Key, Result, without_seed
from weft.report.paper_numbers import COHERENCE, PAPER, TABLES, PaperRow, PaperTable
from weft.report.row_names import ADDED, AS_IN_PAPER, Added, added_name, is_of_grid

SHARDS = re.compile(r"(?:(?P<way>.+)-)?shards-(?P<count>\d+)")  # variant of a point of the learning curve
ONE_SHARD = re.compile(r"(?:.+-)?one-shard-.+")  # variant of a model trained on the first shard for a comparison
COMBINED = re.compile(r"(?P<way>uni|bi|mmi)(?:-(?P<variant>.+))?")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a group: one result, or several trainings of one model."""

    name: str  # what it adds, or that it is as in the paper; empty if the group has no other line
    model: str
    variant: str  # without the seed
    domain: str = ""  # the beginning of its tasks, if not all tasks of the table belong to it


@dataclass(frozen=True, slots=True)
class Group:
    """A row of the paper with the lines below it."""

    label: str
    values: tuple[float, ...]  # the paper's numbers, beside the first line
    way: str
    lines: tuple[Line, ...]


def is_trial(variant: str) -> bool:
    """Return whether a variant belongs to an experiment of docs/findings.md and is not a row of a table.

    Example:
        >>> is_trial("mmi-shards-2"), is_trial("one-shard-corpus"), is_trial("mmi")
        (True, True, False)
    """
    return bool(SHARDS.fullmatch(variant) or ONE_SHARD.fullmatch(variant))


def name_of(model: str, variant: str) -> str:
    """Return the label of a row.

    Example:
        >>> name_of("seq2seq", "mmi"), name_of("random", "")
        ('seq2seq (mmi)', 'random')
    """
    return f"{model} ({variant})" if variant else model


def split_variant(variant: str) -> tuple[str, str]:
    """Return how a result combines probabilities, and the rest of its variant.

    Example:
        >>> split_variant("mmi-paper"), split_variant("bi"), split_variant("paper-likeness")
        (('mmi', 'paper'), ('bi', ''), ('', 'paper-likeness'))
    """
    found = COMBINED.fullmatch(variant)
    return (found["way"], found["variant"] or "") if found else ("", variant)


def groups_of(table: PaperTable, results: Mapping[Key, Result]) -> list[Group]:
    """Return the rows of a table: those of the paper, those of its other tables, then others that were measured.

    Args:
        table: The table.
        results: All results, by task, model and variant.
    """
    found = {(model, without_seed(variant)) for task, model, variant in results if task in table.tasks}
    there = {key for key in found if not is_trial(key[1]) and not is_of_grid(table.number, *key)}
    if not table.grouped:
        return _flat(table, there)
    contrasted = _contrasted(table, results)
    groups = [_group(table, row, there, contrasted) for row in table.rows]
    used = {(line.model, line.variant) for group in groups for line in group.lines}
    others = {(model, split_variant(variant)[0]) for model, variant in there - used}
    further = [_elsewhere(*key) or PaperRow(name_of(*key), (), *key) for key in sorted(others)]
    further.sort(key=lambda row: _elsewhere(row.model, row.way) is None)
    return groups + [_group(table, row, there - used, contrasted) for row in further]


def _contrasted(table: PaperTable, results: Mapping[Key, Result]) -> set[tuple[str, str]]:
    """Return model and variant, without its seed, of the results whose weights are trained with contrast."""
    return {
        (model, without_seed(variant))
        for (task, model, variant), result in results.items()
        if task in table.tasks and result.settings.get("contrast")
    }


def _elsewhere(model: str, way: str) -> PaperRow | None:
    """Return a row of another table of the paper, without its numbers, or None."""
    rows = (row for table in TABLES if table.grouped for row in table.rows if (row.model, row.way) == (model, way))
    return next((replace(row, values=()) for row in rows), None)


def _flat(table: PaperTable, there: set[tuple[str, str]]) -> list[Group]:
    """Return groups of one line each."""
    shown = {(row.model, row.way) for row in table.rows}
    further = [PaperRow(name_of(*key), (), *key) for key in sorted(there - shown)]
    return [Group(row.label, row.values, "", (Line("", row.model, row.way),)) for row in (*table.rows, *further)]


def _group(table: PaperTable, row: PaperRow, there: set[tuple[str, str]], contrasted: set[tuple[str, str]]) -> Group:
    known = ADDED.get(table.number, {}).get(row.model, ())
    mine = {}  # variant without combination -> variant
    for model, variant in sorted(there, reverse=True):  # an order by the paper's objective comes last and is kept
        way, rest = split_variant(variant)
        if (model, way) == (row.model, row.way):
            mine[rest.replace(f"{COHERENCE}-{PAPER}", PAPER)] = variant
    lines = []
    if row.values or row.paper in mine:
        missing = "-".join(filter(None, (row.way, row.paper)))
        variant = mine.pop(row.paper, missing)
        first = next((one for one in known if (one.model, one.variant) == ("", row.paper)), Added("", AS_IN_PAPER))
        lines.append(Line(first.fitting_name((row.model, variant) in contrasted), row.model, variant))
    listed = [one.variant for one in known if not one.model]
    further = sorted(set(mine) - set(listed), key=lambda rest: (rest.count("-"), rest))
    for one in (*(Added(rest, added_name(rest)) for rest in further), *known):
        if one.model and (one.model, one.variant) in there:
            lines.append(Line(one.name, one.model, one.variant))
        elif not one.model and one.variant in mine and any(task.startswith(one.domain) for task in table.tasks):
            name = one.fitting_name((row.model, mine[one.variant]) in contrasted)
            lines.append(Line(name, row.model, mine[one.variant], one.domain))
    return Group(row.label, row.values, row.way, tuple(lines))
