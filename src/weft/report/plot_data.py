"""The numbers behind the plots of docs/results.md, from results alone; `weft.report.plots` draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from weft.corpora.negatives.swap import NEIGHBOURS, SWAPS
from weft.evaluation.metrics import bootstrap_interval, ratio
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result
from weft.report.model_facts import ModelFacts, facts_of
from weft.report.paper_numbers import COHERENCE, PRECEDENCE, TABLES
from weft.report.tables import SHARDS, is_trial, name_of

PAIRS, ORDER, FEW_SWAPS = "wikipedia-pairs", "wikipedia-order", "wikipedia-swaps"
BOUNDS = (0, 17, 18, 20, 23, 10**9)  # paragraphs of 16, of 17, of 18 or 19, of 20 to 22, of 23 sentences or more
LINES = 8  # more cannot be told apart by eye
YARDSTICKS = ("random", "year-sort")
FIRST = ("mmi", "glove-6b-100d", "")  # the variant that stands for a model, where it has several


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its interval."""

    x: float
    y: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one model."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot to draw.

    Attributes:
        name: Of its file.
        title: In words.
        x_label: Of the axis across.
        y_label: Of the axis up.
        series: A line each; of one point, a dot.
        ticks: Names of the places 0, 1, … on the axis across, where it has no numbers.
        logarithmic: Whether the axis across is.
        chance: What guessing gets.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    ticks: tuple[str, ...] = ()
    logarithmic: bool = False
    chance: float | None = None


Results = Mapping[Key, Result]


def make_plots(results: Results, facts: Sequence[ModelFacts] = ()) -> tuple[list[Plot], dict[str, str]]:
    """All plots for which there are data, and what is missing for each of the others.

    Example:
        >>> make_plots({})[1]["learning-curve"]
        'results of wikipedia-pairs with variants shards-1, shards-2, … (docs/plots.md)'
    """
    plots, missing = [], {}
    averaged = average_seeds(results)
    made = (
        *(make(averaged) for make in (_by_length, _by_swaps, _tau_by_length, _learning_curve)),
        _by_parameters(averaged, facts),
    )
    for plot, needs in made:
        if plot.series:
            plots.append(plot)
        else:
            missing[plot.name] = needs
    return plots, missing


def _label(result: Result) -> str:
    """The model and its variant; with precedence, as the rows of Table 3 say it."""
    name = name_of(result.model, result.variant)
    return name + PRECEDENCE if _uses_precedence(result) else name


def _uses_precedence(result: Result) -> bool:
    """Whether an order was found by more than transitions: a model that has learned precedence uses it unasked."""
    learned = {row.model for table in TABLES for row in table.rows if row.label.endswith(PRECEDENCE)}
    return result.task == ORDER and result.model in learned and not result.variant.endswith(COHERENCE)


def _preference(variant: str) -> tuple[int, str]:
    return (FIRST.index(variant) if variant in FIRST else len(FIRST), variant)


def chosen(results: Results, task: str, metric: str) -> list[Result]:
    """One result a model, by a fixed preference among variants, and of those the best few; no yardsticks."""
    by_model: dict[str, Result] = {}
    for (name, model, variant), result in sorted(results.items(), key=lambda item: _preference(item[0][2])):
        if name == task and model not in YARDSTICKS and not is_trial(variant) and result.metrics.get(metric):
            by_model.setdefault(model, result)
    return sorted(by_model.values(), key=lambda result: (-(result.metrics[metric] or 0), result.model))[:LINES]


def lengths_of(results: Results) -> dict[tuple[str, str], int]:
    """Sentences of documents, by data and name: of results that record them, for results that do not."""
    return {
        (result.data_sha256, document): length
        for result in results.values()
        for document, length in zip(result.documents, result.lengths, strict=False)
    }


def _binned(result: Result, metric: str, lengths: Mapping[tuple[str, str], int]) -> tuple[Point, ...]:
    """A metric over documents of like length, with intervals from these documents alone."""
    parts = result.parts(metric)
    rows = list(zip(result.documents, parts.numerators, parts.denominators, strict=True))
    points = []
    for place, (low, high) in enumerate(pairwise(BOUNDS)):
        there = [row for row in rows if low <= lengths.get((result.data_sha256, row[0]), -1) < high]
        numerators, denominators = [row[1] for row in there], [row[2] for row in there]
        value = ratio(numerators, denominators)
        if value is not None:
            points.append(Point(place, value, bootstrap_interval(numerators, denominators)))
    return tuple(points)


def _bin_names() -> tuple[str, ...]:
    names = []
    for low, high in pairwise(BOUNDS):
        first, last = max(low, 16), high - 1
        names.append(f"{first} or more" if high == BOUNDS[-1] else str(last) if first == last else f"{first}–{last}")
    return tuple(names)


def _length_series(results: Results, task: str, metric: str) -> tuple[Series, ...]:
    lengths = lengths_of(results)
    found = [Series(_label(one), _binned(one, metric, lengths)) for one in chosen(results, task, metric)]
    return tuple(series for series in found if series.points)


LENGTHS_MISSING = "results of {} and, of any task on the same data, one that records lengths"


def _by_length(results: Results) -> tuple[Plot, str]:
    series = _length_series(results, PAIRS, "accuracy")
    title = "Telling a paragraph from its permutations, by its length"
    plot = Plot("accuracy-by-length", title, "sentences", "accuracy", series, _bin_names(), chance=0.5)
    return plot, LENGTHS_MISSING.format(PAIRS)


def _tau_by_length(results: Results) -> tuple[Plot, str]:
    series = _length_series(results, ORDER, "tau")
    title = "Restoring a paragraph, by its length"
    label = "τ, given sentence left out"
    plot = Plot("tau-by-length", title, "sentences", label, series, _bin_names(), chance=0.0)
    return plot, LENGTHS_MISSING.format(ORDER)


def _by_swaps(results: Results) -> tuple[Plot, str]:
    kinds = (NEIGHBOURS, *(f"swaps_{number}" for number in SWAPS))
    series = []
    for result in chosen(results, FEW_SWAPS, "accuracy"):
        points = [
            Point(place, value, (interval[0], interval[1]) if interval else None)
            for place, kind in enumerate(kinds)
            if (value := result.metrics.get(kind)) is not None
            for interval in [result.interval.get(kind)]
        ]
        series.append(Series(_label(result), tuple(points)))
    ticks = (NEIGHBOURS, *map(str, SWAPS))
    title = "How few exchanged sentences can a model see?"
    plot = Plot("accuracy-by-swaps", title, "exchanges of two sentences", "accuracy", tuple(series), ticks, chance=0.5)
    return plot, f"results of {FEW_SWAPS}"


def _learning_curve(results: Results) -> tuple[Plot, str]:
    """Trainings on the first shards, by the sentences they saw; a curve has two points or more."""
    curves: dict[str, list[Point]] = {}
    for (task, model, variant), result in sorted(results.items()):
        found = SHARDS.fullmatch(variant)
        value, interval = result.metrics.get("accuracy"), result.interval.get("accuracy")
        sentences = result.training.get("sentences")
        if task == PAIRS and found and value is not None and isinstance(sentences, int):
            units = result.settings.get("hidden")  # the networks of a curve may be smaller than those of the table
            label = f"{model} ({found['way']})" if found["way"] else model
            label += f", {units} units" if units else ""
            point = Point(sentences, value, (interval[0], interval[1]) if interval else None)
            curves.setdefault(label, []).append(point)
    series = tuple(
        Series(label, tuple(sorted(points, key=lambda point: point.x)))
        for label, points in sorted(curves.items(), key=lambda curve: -max(point.y for point in curve[1]))
        if len(points) > 1
    )
    title = "Telling a paragraph from its permutations, by training text"
    plot = Plot("learning-curve", title, "training sentences", "accuracy", series, logarithmic=True)
    return plot, f"results of {PAIRS} with variants shards-1, shards-2, … (docs/plots.md)"


def _by_parameters(results: Results, facts: Sequence[ModelFacts]) -> tuple[Plot, str]:
    series: list[Series] = []
    for result in sorted(results.values(), key=lambda one: (one.model, _preference(one.variant))):
        known = facts_of(result, facts)
        shown = any(one.label.split(" (")[0] == result.model for one in series)
        value, interval = result.metrics.get("accuracy"), result.interval.get("accuracy")
        if result.task != PAIRS or shown or known is None or not known.parameters or value is None:
            continue
        point = Point(known.parameters, value, (interval[0], interval[1]) if interval else None)
        series.append(Series(_label(result), (point,)))
    title = "Telling a paragraph from its permutations, by parameters"
    plot = Plot("accuracy-by-parameters", title, "parameters", "accuracy", tuple(series), logarithmic=True, chance=0.5)
    return plot, f"results of {PAIRS}, and results/models.json (weft table --models zoo)"
