"""Comparison of two models on a task: differences, their significance, and the documents that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.data_frames import Tabular
from weft.errors import CorpusError
from weft.evaluation.metrics import Comparison
from weft.evaluation.result import (
    SEEDED,
    Key,
    Measure,
    Result,
    check_comparable,
    compare_results,
    summarize,
    without_seed,
)
from weft.evaluation.result_checks import nothing_measured
from weft.markup.notebook import table_html


@dataclass(frozen=True, slots=True)
class DocumentGap:
    """A document on which two models differ."""

    id: str
    first: float  # value of the first model: a share of pairs, or τ
    second: float

    @property
    def difference(self) -> float:
        """First minus second."""
        return self.first - self.second


@dataclass(frozen=True, slots=True, repr=False)
class Versus(Tabular):
    """Two results on the same task, data and negatives.

    Attributes:
        first: The first result.
        second: The second result.
        metric: The metric of `better` and `documents`.
        comparisons: The paired bootstrap of first minus second, for every metric that both have.
        unpaired: Metrics that the two counted over different pairs, so that they cannot be compared.
        better: Number of documents on which the first is better, the second is better, and both are equal.
        documents: Documents that differ, largest difference first.
    """

    first: Result
    second: Result
    metric: str
    comparisons: Mapping[str, Comparison]
    better: tuple[int, int, int]
    documents: tuple[DocumentGap, ...]
    unpaired: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per metric: both values, their difference, its interval and p."""
        return [
            {
                "task": self.first.task,
                "metric": name,
                "first": self.first.metrics.get(name),
                "second": self.second.metrics.get(name),
                "difference": found.difference,
                "low": found.interval[0] if found.interval else None,
                "high": found.interval[1] if found.interval else None,
                "p_value": found.p_value,
                "n_documents": found.n_documents,
            }
            for name, found in self.comparisons.items()
        ]

    def __repr__(self) -> str:
        found = self.comparisons[self.metric]
        bounds = " [{:+.4f}, {:+.4f}]".format(*found.interval) if found.interval else ""
        names = f"{self.first.file_name} minus {self.second.file_name}"
        return f"Versus({self.first.task}: {names}, {self.metric} {found.difference:+.4f}{bounds})"

    def _repr_html_(self) -> str:
        """Return a table of the metrics as HTML, for a notebook."""
        return table_html(f"{self.first.task}: {self.first.file_name} minus {self.second.file_name}", self.rows())


def compare_models(first: Result, second: Result, *, metric: str = "", seed: int = 1) -> Versus:
    """Compare two results by paired bootstrap, metric by metric, and document by document.

    Args:
        first: Result of one model.
        second: Result of another model on the same task.
        metric: Metric by which documents are compared; the first of the task by default.
        seed: Seed of the resampling.

    Raises:
        CorpusError: The documents differ, the metric is missing, or no document was long enough.

    Example:
        >>> parts = {"accuracy": {"numerators": [9.0, 8.0], "denominators": [10.0, 10.0]}}
        >>> one = Result("t", "a", "", {"accuracy": 0.85}, {}, 2, 20, 0, 0, 1, "exact", "d", "h", "n", "",
        ...              documents=["x", "y"], per_document=parts)
        >>> found = compare_models(one, one)
        >>> found.comparisons["accuracy"].difference, found.better
        (0.0, (0, 0, 2))
    """
    names = _common_metrics(first, second, metric)
    paired = [name for name in names if first.parts(name).denominators == second.parts(name).denominators]
    chosen = metric or (paired or names)[0]
    compared = paired if chosen in paired else [chosen]  # an unpaired metric raises the error of compare_results
    comparisons = {name: compare_results(first, second, name, seed=seed) for name in compared}
    gaps = _gaps(first, second, chosen)
    better = (sum(gap.difference > 0 for gap in gaps), sum(gap.difference < 0 for gap in gaps))
    apart = sorted((gap for gap in gaps if gap.difference), key=lambda gap: (-abs(gap.difference), gap.id))
    unpaired = tuple(name for name in names if name not in paired)
    return Versus(first, second, chosen, comparisons, (*better, len(gaps) - sum(better)), tuple(apart), unpaired)


def _common_metrics(first: Result, second: Result, metric: str) -> list[str]:
    """Return the metrics that both results have; raise CorpusError if ``metric`` is not among them."""
    check_comparable(first, second)
    names = [name for name in first.metrics if name in second.metrics and _measured(first, name)]
    if not names:
        raise nothing_measured(first.lengths)
    if metric and metric not in names:
        raise CorpusError(
            "no such metric in both results",
            seen=metric,
            allowed=", ".join(names),
            next_step="choose one of these with --metric",
        )
    return names


def _measured(result: Result, metric: str) -> bool:
    """Return whether a metric is defined for at least one document."""
    return metric in result.per_document and sum(result.parts(metric).denominators) > 0


def _gaps(first: Result, second: Result, metric: str) -> list[DocumentGap]:
    one, other = first.parts(metric), second.parts(metric)
    rows = zip(first.documents, one.numerators, other.numerators, one.denominators, strict=True)
    return [DocumentGap(name, mine / total, yours / total) for name, mine, yours, total in rows if total]


def mean_result(results: Sequence[Result]) -> Result:
    """Return the mean of several trainings of one model, document by document.

    Its intervals are those of the mean over the trainings: they say how it would vary with other documents, not with
    other trainings.

    Raises:
        CorpusError: They were measured on different documents.
    """
    first = results[0]
    if len(results) == 1:
        return replace(first, variant=without_seed(first.variant))
    for other in results[1:]:
        if (other.documents, other.negatives_sha256) != (first.documents, first.negatives_sha256):
            raise CorpusError(
                "these results cannot be averaged",
                seen=f"{first.model} {first.variant} and {other.variant}, on different documents or negatives",
                allowed="several trainings evaluated on the same data",
                next_step="evaluate them again with the same --data and --seed",
            )
    if not all(one.documents for one in results):  # a second file is missing: no values per document
        return replace(first, variant=without_seed(first.variant), metrics=_mean_metrics(results), interval={})
    means = {
        name: Measure(
            tuple(np.mean([one.parts(name).numerators for one in results], axis=0).tolist()),
            first.parts(name).denominators,
        )
        for name in first.per_document
    }
    metrics, intervals = summarize({name: means[name] for name in first.metrics if name in means}, seed=first.seed)
    return replace(
        first,
        variant=without_seed(first.variant),
        metrics=metrics,
        interval=intervals,
        per_document={
            name: {"numerators": mean.numerators, "denominators": mean.denominators} for name, mean in means.items()
        },
    )


def _mean_metrics(results: Sequence[Result]) -> dict[str, float | None]:
    """Return the mean of every metric that all results have a value of."""
    found = {name: [one.metrics.get(name) for one in results] for name in results[0].metrics}
    known = {name: [value for value in values if value is not None] for name, values in found.items()}
    return {name: sum(values) / len(values) for name, values in known.items() if len(values) == len(results)}


def average_seeds(results: Mapping[Key, Result]) -> dict[Key, Result]:
    """Return the results with all trainings of a model (``seed-1``, ``seed-2``, …) replaced by their mean.

    The mean also replaces a result of the same name without a seed, as in the tables.
    """
    groups: dict[Key, list[Result]] = {}
    for (task, model, variant), result in sorted(results.items()):
        if SEEDED.fullmatch(variant):
            groups.setdefault((task, model, without_seed(variant)), []).append(result)
    others = {key: result for key, result in results.items() if not SEEDED.fullmatch(key[2])}
    return {**others, **{key: mean_result(group) for key, group in groups.items()}}
