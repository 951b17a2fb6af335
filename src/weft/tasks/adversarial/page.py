"""The part of docs/results.md below Table 4: whether the evaluator is strong, and whether a second one agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.tasks.metrics import kendall_tau
from weft.tasks.result import Result
from weft.tasks.tables import Key, decimal, name_of, pipe

STRONG = 0.85  # accuracy against sentences of other pages, below which AdverSuc says little
TURNS = (1, 2, 3)
OTHERS = ("second", "informed")  # evaluators beside the first
ACCURACIES = {  # what the columns are named, and the measure that each shows
    "right on human text": "human_accuracy",
    "on machine text": "machine_accuracy",
    "second, on both": "second_accuracy",
    "informed, on both": "informed_accuracy",
    "on human text, line at even odds": "raw_human_accuracy",
}


def adversarial_section(results: Mapping[Key, Result]) -> str:
    """Accuracies of the evaluator on either side, the agreement of the two rankings, and the speed of writing."""
    found = {
        name_of(model, variant): result
        for (task, model, variant), result in sorted(results.items())
        if task == "adversarial"
    }
    header = ["opponent", *(f"{what}, {turns}" for what in ACCURACIES for turns in TURNS), "sentences/s"]
    lines = [pipe(header), pipe(["---"] * len(header))]
    lines += [pipe([name, *_accuracies(result), _speed(result)]) for name, result in found.items()]
    return "\n".join([*lines, "", _strength(results), _agreement(found), ""])


def _accuracies(result: Result) -> list[str]:
    names = [f"{measure}_{turns}" for measure in ACCURACIES.values() for turns in TURNS]
    return [decimal(result.metrics.get(name)) for name in names]


def _speed(result: Result) -> str:
    speed = result.settings.get("sentences_per_second")
    return f"{speed:,.0f}" if isinstance(speed, int | float) else "–"


def _strength(results: Mapping[Key, Result]) -> str:
    control = results.get(("adversarial", "control-random-sentence", ""))
    if control is None:
        return "The control with sentences of other pages was not measured: how strong the evaluator is, is not known."
    values = [control.metrics.get(f"accuracy_{turns}") for turns in TURNS]
    strong = all(value is not None and value >= STRONG for value in values)
    told = " / ".join(map(decimal, values))
    return (
        f"The evaluator tells sentences of other pages from those that follow with an accuracy of {told}, "
        f"{'at or above' if strong else 'below'} the {decimal(STRONG)} that was asked of it."
    )


def _agreement(found: Mapping[str, Result]) -> str:
    """Kendall's τ between the rankings of the systems by the first evaluator and by others.

    Controls are no systems, and a system that also met an evaluator trained in another way is not two.
    """
    writers = [result for name, result in found.items() if not name.startswith("control-") and not _apart(result)]
    told = [f"{name} {' / '.join(map(decimal, values))}" for name in OTHERS if any(values := _taus(writers, name))]
    agreed = "; ".join(told) or "not measured"
    return (
        f"Agreement of the ranking of {len(writers)} systems with that of the other evaluators, Kendall's τ: {agreed}."
    )


def _apart(result: Result) -> bool:
    return bool(result.settings.get("evaluator", {}).get("apart"))


def _taus(writers: Sequence[Result], other: str) -> list[float | None]:
    """For each number of turns; nothing where the other evaluator was not asked."""
    taus = []
    for turns in TURNS:
        pairs = [
            (one.metrics.get(f"adversuc_{turns}"), one.metrics.get(f"{other}_adversuc_{turns}")) for one in writers
        ]
        known = [(first, second) for first, second in pairs if first is not None and second is not None]
        taus.append(_rank_agreement(known))
    return taus


def _rank_agreement(values: list[tuple[float, float]]) -> float | None:
    """τ of the second ranking along the first; nothing of one system.

    Example:
        >>> _rank_agreement([(0.1, 0.2), (0.2, 0.3), (0.3, 0.1)])
        -0.33333333333333326
    """
    by_second = sorted(range(len(values)), key=lambda number: values[number][1])
    rank = {number: place for place, number in enumerate(by_second)}
    return kendall_tau([rank[number] for number in sorted(rank, key=lambda number: values[number][0])])
