"""The tables below Table 4: AdverSuc by every evaluator, accuracies, sentence lengths, agreement of rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from paper.measured import Value
from weft.evaluation.metrics import kendall_tau
from weft.evaluation.result import Key, Result
from weft.report.paper_numbers import BEAM, TABLES
from weft.report.row_groups import groups_of, name_of, split_variant
from weft.report.table_formats import NOTHING, decimal, pipe

TURNS = (1, 2, 3)
ACCURACIES = {  # column -> metric
    "right on human text": "human_accuracy",
    "on machine text": "machine_accuracy",
    "on human text, threshold at even odds": "raw_human_accuracy",
    "words alone, on both": "plain_accuracy",
    "with surface features, on both": "surface_accuracy",
    "second, on both": "second_accuracy",
    "informed, on both": "informed_accuracy",
    "outside, on both": "outside_accuracy",
}
LENGTHS = {
    "accuracy from lengths alone": "lengths_accuracy",
    "AdverSuc by second evaluator, lengths matched": "matched_adversuc",
    "AdverSuc, informed": "informed_adversuc",
}


EVALUATORS = {  # column -> prefix of its measures
    "words alone": "plain_",
    "first": "",
    "first, threshold at even odds": "raw_",
    "with surface features": "surface_",
    "trees (second)": "second_",
    "trees and Seq2Seq's scores (informed)": "informed_",
    "MiniLM (outside)": "outside_",
}

SHORT_NAMES = {
    "words alone": "plain_", "first": "", "with surface features": "surface_", "trees": "second_",
    "informed trees": "informed_", "MiniLM": "outside_",
}  # fmt: skip


def by_every_evaluator(results: Mapping[Key, Result]) -> str:
    """Return AdverSuc by every kind of evaluator for one / two / three sentences, as Markdown."""
    header = ["system", "row", *EVALUATORS]
    lines, before = [pipe(header), pipe(["---"] * len(header))], ""
    for group in groups_of(TABLES[3], results):
        for line in group.lines:
            found = results.get(("adversarial", line.model, line.variant))
            cells = [all_lengths(found, f"{prefix}adversuc") for prefix in EVALUATORS.values()]
            lines.append(pipe(["" if group.label == before else group.label, line.name, *cells]))
            before = group.label
    return "\n".join(lines) + "\n"


def every_evaluator(results: Mapping[Key, Result], *names: str) -> str:
    """Return AdverSuc of a system by each evaluator that judged it, for one / two / three sentences, in one line.

    Args:
        results: The results.
        names: Model and variant, such as ``vlv-gm.mmi``; the first that was measured is shown.
    """
    split = [name.split(".", 1) for name in names]
    found = next((results[key] for one in split if (key := ("adversarial", one[0], one[1])) in results), None)
    shown = {name: all_lengths(found, f"{prefix}adversuc") for name, prefix in SHORT_NAMES.items()}
    return ", ".join(f"{name} {cell}" for name, cell in shown.items() if cell != NOTHING) or NOTHING


def all_lengths(result: Result | None, metric: str) -> str:
    """Return a metric for one / two / three sentences."""
    values = [None if result is None else result.metrics.get(f"{metric}_{turns}") for turns in TURNS]
    return NOTHING if None in values else " / ".join(map(decimal, values))


def _systems(results: Mapping[Key, Result]) -> dict[str, Result]:
    return {name_of(key[1], key[2]): result for key, result in sorted(results.items()) if key[0] == "adversarial"}


def evaluator_accuracies(results: Mapping[Key, Result]) -> str:
    """Return the accuracy of the evaluators against each system, as Markdown."""
    return _measures(_systems(results), ACCURACIES, {"sentences/s": _speed})


def sentence_lengths(results: Mapping[Key, Result]) -> str:
    """Return what the evaluators achieve from lengths alone and with matched lengths, as Markdown."""
    return _measures(_systems(results), LENGTHS, {"tokens a sentence": _tokens})


def _measures(
    systems: Mapping[str, Result], columns: Mapping[str, str], last: Mapping[str, Callable[[Result], str]]
) -> str:
    """Return a table with some metrics of every system for one, two and three sentences."""
    header = ["system", *(f"{name}, {turns}" for name in columns for turns in TURNS), *last]
    lines = [pipe(header), pipe(["---"] * len(header))]
    metrics = [f"{metric}_{turns}" for metric in columns.values() for turns in TURNS]
    for system, result in systems.items():
        values = [decimal(result.metrics.get(metric)) for metric in metrics]
        lines.append(pipe([system, *values, *(cell(result) for cell in last.values())]))
    return "\n".join(lines) + "\n"


def _speed(result: Result) -> str:
    speed = result.settings.get("sentences_per_second")
    return f"{speed:,.0f}" if isinstance(speed, int | float) else NOTHING


def _tokens(result: Result) -> str:
    both = result.settings.get("tokens_a_sentence")
    return f"{both[1]:.1f} (people {both[0]:.1f})" if both else NOTHING


def ranked_systems(results: Mapping[Key, Result]) -> list[Result]:
    """Return the results of the first run that are ranked: neither controls nor evaluators trained differently."""
    return [
        result
        for name, result in _systems(results).items()
        if not name.startswith("control-")
        and not result.settings.get("evaluator", {}).get("apart")
        and split_variant(result.variant)[1] not in (BEAM, "sampled")
    ]


def ranking_agreement(results: Mapping[Key, Result], other: str) -> str:
    """Return Kendall's τ between the ranking by the first evaluator and by another, for 1 / 2 / 3 sentences."""
    return " / ".join(decimal(_agreement(ranked_systems(results), other, turns)) for turns in TURNS)


def _agreement(systems: Sequence[Result], other: str, turns: int) -> float | None:
    pairs = [(one.metrics.get(f"adversuc_{turns}"), one.metrics.get(f"{other}_adversuc_{turns}")) for one in systems]
    return rank_agreement([(first, second) for first, second in pairs if first is not None and second is not None])


def rank_agreement(values: list[tuple[float, float]]) -> float | None:
    """Return τ of the second ranking along the first, or None for a single pair of values.

    Example:
        >>> rank_agreement([(0.1, 0.2), (0.2, 0.3), (0.3, 0.1)])
        -0.33333333333333326
    """
    by_second = sorted(range(len(values)), key=lambda number: values[number][1])
    rank = {number: place for place, number in enumerate(by_second)}
    return kendall_tau([rank[number] for number in sorted(rank, key=lambda number: values[number][0])])


def seed_spread(results: Mapping[Key, Result]) -> tuple[Value, Value, str]:
    """Return how much AdverSuc varies over the seeds of an evaluator.

    Returns:
        The median and the maximum of the standard deviations, and the system with the maximum.
    """
    spreads = {
        f"{name} with {turns}": float(np.std(seeds, ddof=1))
        for name, result in _systems(results).items()
        for turns in TURNS
        if len(seeds := result.settings.get("evaluators", {}).get(str(turns), {}).get("adversuc", [])) > 1
    }
    widest = max(spreads, key=spreads.__getitem__)
    return Value(np.median(list(spreads.values()))), Value(spreads[widest]), widest
