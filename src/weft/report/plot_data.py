"""The data of the plots of docs/results.md, computed from results; `weft.report.plots` draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from weft.corpora.negatives.swap import NEIGHBOURS, SWAPS
from weft.evaluation.metrics import bootstrap_interval, ratio
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result
from weft.report.model_facts import ModelFacts, facts_of
from weft.report.paper_numbers import COHERENCE, PAPER
from weft.report.row_groups import SHARDS, is_trial, name_of, split_variant
from weft.report.row_names import PRECEDENCE_MODELS

PAIRS, ORDER, FEW_SWAPS = "wikipedia-pairs", "wikipedia-order", "wikipedia-swaps"
BOUNDS = (0, 17, 18, 20, 23, 10**9)  # numbers of sentences between which paragraphs are counted together
BIN_NAMES = ("16", "17", "18–19", "20–22", "23 or more")  # the standard paragraphs have 16 sentences or more
LINES = 8  # more lines cannot be distinguished by eye
BASELINES = ("random", "year-sort")
PREFERRED_VARIANTS = ("mmi", "glove-6b-100d", "")  # of a model with several variants, the first of these is shown


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a plot with its interval."""

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
    """A plot to draw."""

    name: str  # name of its file
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]  # the lines; a line of one point is drawn as a dot
    needs: str = ""  # the results that it is made of
    ticks: tuple[str, ...] = ()  # labels of the positions 0, 1, … on a horizontal axis without numbers
    logarithmic: bool = False
    chance: float | None = None  # value of a random guess, drawn as a dashed line


Results = Mapping[Key, Result]
Lengths = Mapping[tuple[str, str], int]  # by data and document id


def make_plots(results: Results, facts: Sequence[ModelFacts] = ()) -> tuple[list[Plot], dict[str, str]]:
    """Return all plots that have data, and what each of the others needs.

    Example:
        >>> make_plots({})[1]["learning-curve"]
        'results of wikipedia-pairs with variants shards-1, shards-2, … (docs/plots.md)'
    """
    averaged = average_seeds(results)
    # The lengths of a document are in a second file of every result, which takes long to read.
    data = {result.data_sha256 for (task, _, _), result in averaged.items() if task in (PAIRS, ORDER)}
    lengths = lengths_of(result for result in averaged.values() if result.data_sha256 in data)
    made = [
        _by_length(averaged, lengths, PAIRS, "Accuracy on permutations", name="accuracy-by-length", chance=0.5),
        _by_swaps(averaged),
        _by_length(averaged, lengths, ORDER, "Order of restored paragraphs", name="tau-by-length", chance=0.0),
        _learning_curve(averaged),
        _by_parameters(averaged, facts),
    ]
    return [plot for plot in made if plot.series], {plot.name: plot.needs for plot in made if not plot.series}


def _label(result: Result) -> str:
    """Return the label of a result: model, variant and, as in Table 3, whether it uses precedence."""
    name = name_of(result.model, result.variant)
    return f"{name} and precedence" if _uses_precedence(result) else name


def _uses_precedence(result: Result) -> bool:
    """Return whether the orders of a result were found with learned precedence, the default of models that have it."""
    # Rows as in the paper have not learned it.
    without = split_variant(result.variant)[1].startswith((COHERENCE, PAPER))
    return result.task == ORDER and result.model in PRECEDENCE_MODELS and not without


def _preference(variant: str) -> tuple[int, str]:
    known = variant in PREFERRED_VARIANTS
    return (PREFERRED_VARIANTS.index(variant) if known else len(PREFERRED_VARIANTS), variant)


def chosen(results: Results, task: str, metric: str) -> list[Result]:
    """Return the best results of a task, one per model by a fixed preference among variants, without baselines."""
    by_model: dict[str, Result] = {}
    for (name, model, variant), result in sorted(results.items(), key=lambda item: _preference(item[0][2])):
        if name == task and model not in BASELINES and not is_trial(variant) and result.metrics.get(metric):
            by_model.setdefault(model, result)
    return sorted(by_model.values(), key=lambda result: (-(result.metrics[metric] or 0), result.model))[:LINES]


def lengths_of(results: Iterable[Result]) -> Lengths:
    """Return the number of sentences of every document, by data and document id, from the results that record it."""
    return {
        (result.data_sha256, document): length
        for result in results
        for document, length in zip(result.documents, result.lengths, strict=False)
    }


def _binned(result: Result, metric: str, lengths: Lengths) -> tuple[Point, ...]:
    """Return a metric over the documents of each range of lengths, with its interval."""
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


def _by_length(results: Results, lengths: Lengths, task: str, what: str, *, name: str, chance: float) -> Plot:
    metric = "tau" if task == ORDER else "accuracy"
    found = [Series(_label(one), _binned(one, metric, lengths)) for one in chosen(results, task, metric)]
    return Plot(
        name,
        f"{what}, by length of the paragraph",
        "sentences",
        "τ, given sentence left out" if metric == "tau" else metric,
        tuple(series for series in found if series.points),
        f"results of {task}, and one result on the same data that records lengths",
        BIN_NAMES,
        chance=chance,
    )


def _by_swaps(results: Results) -> Plot:
    kinds = (NEIGHBOURS, *(f"swaps_{number}" for number in SWAPS))
    series = []
    for result in chosen(results, FEW_SWAPS, "accuracy"):
        points = [
            Point(place, value, result.bounds(kind))
            for place, kind in enumerate(kinds)
            if (value := result.metrics.get(kind)) is not None
        ]
        series.append(Series(_label(result), tuple(points)))
    ticks = (NEIGHBOURS, *map(str, SWAPS))
    title, needs = "Accuracy on texts with exchanged sentences", f"results of {FEW_SWAPS}"
    labels = "exchanges of two sentences", "accuracy"
    return Plot("accuracy-by-swaps", title, *labels, tuple(series), needs, ticks, chance=0.5)


def _learning_curve(results: Results) -> Plot:
    """Return the accuracy of models trained on one shard or more, by number of training sentences."""
    curves: dict[str, list[Point]] = {}
    for (task, model, variant), result in sorted(results.items()):
        found = SHARDS.fullmatch(variant)
        value, sentences = result.metrics.get("accuracy"), result.training.get("sentences")
        if task == PAIRS and found and value is not None and isinstance(sentences, int):
            units = result.settings.get("hidden")  # the networks of a curve can be smaller than those of the table
            label = f"{model} ({found['way']})" if found["way"] else model
            label += f", {units} units" if units else ""
            curves.setdefault(label, []).append(Point(sentences, value, result.bounds("accuracy")))
    series = tuple(
        Series(label, tuple(sorted(points, key=lambda point: point.x)))
        for label, points in sorted(curves.items(), key=lambda curve: -max(point.y for point in curve[1]))
        if len(points) > 1
    )
    title = "Accuracy on permutations, by amount of training text"
    needs = f"results of {PAIRS} with variants shards-1, shards-2, … (docs/plots.md)"
    return Plot("learning-curve", title, "training sentences", "accuracy", series, needs, logarithmic=True)


def _by_parameters(results: Results, facts: Sequence[ModelFacts]) -> Plot:
    series: list[Series] = []
    for result in sorted(results.values(), key=lambda one: (one.model, _preference(one.variant))):
        known, value = facts_of(result, facts), result.metrics.get("accuracy")
        shown = any(one.label.split(" (")[0] == result.model for one in series)
        if result.task != PAIRS or shown or known is None or not known.parameters or value is None:
            continue
        series.append(Series(_label(result), (Point(known.parameters, value, result.bounds("accuracy")),)))
    title = "Accuracy on permutations, by number of parameters"
    needs = f"results of {PAIRS}, and results/models.json (weft table --models zoo)"
    labels = "parameters", "accuracy"
    return Plot("accuracy-by-parameters", title, *labels, tuple(series), needs, logarithmic=True, chance=0.5)
