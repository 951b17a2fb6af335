"""The part of docs/results.md below Table 4: whether the evaluator is strong, and whether a second one agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from weft.evaluation.metrics import kendall_tau
from weft.evaluation.result import Key, Result
from weft.report.tables import NOTHING, decimal, name_of, pipe

STRONG = 0.85  # accuracy against sentences of other pages, below which AdverSuc says little
TURNS = (1, 2, 3)
OTHERS = {"second": "second", "second, lengths alike": "matched", "informed": "informed"}  # evaluators beside the first
ACCURACIES = {  # what the columns are named, and the measure that each shows
    "right on human text": "human_accuracy",
    "on machine text": "machine_accuracy",
    "on human text, line at even odds": "raw_human_accuracy",
    "second, on both": "second_accuracy",
    "informed, on both": "informed_accuracy",
}
LENGTHS_NOTE = """\
Systems that choose among samples by a score a token choose short ones, and whoever writes shorter than people is the
sooner known. “Told by lengths alone” is the accuracy of trees that see nothing but how many tokens each sentence has;
“lengths alike” is AdverSuc by a second evaluator that learned, and is asked, where of every length there are equally
many continuations of either side. Each row has chunks of its own there, so that rows compare only roughly.
"""
LENGTHS = {
    "told by lengths alone": "lengths_accuracy",
    "AdverSuc by second evaluator, lengths alike": "matched_adversuc",
    "AdverSuc, informed": "informed_adversuc",
}


def adversarial_section(results: Mapping[Key, Result]) -> str:
    """Accuracies on either side, what lengths explain, whether rankings agree, and the speed of writing."""
    found = {
        name_of(model, variant): result
        for (task, model, variant), result in sorted(results.items())
        if task == "adversarial"
    }
    accuracies = _measures(found, ACCURACIES, {"sentences/s": _speed})
    lengths = _measures(found, LENGTHS, {"tokens a sentence": _tokens})
    return "\n".join([accuracies, LENGTHS_NOTE, lengths, _strength(results), _agreement(found), _chance(found), ""])


def _measures(
    found: Mapping[str, Result], columns: Mapping[str, str], last: Mapping[str, Callable[[Result], str]]
) -> str:
    """A table with the measures of every opponent for each number of turns, and what else is asked."""
    header = ["opponent", *(f"{what}, {turns}" for what in columns for turns in TURNS), *last]
    lines = [pipe(header), pipe(["---"] * len(header))]
    names = [f"{measure}_{turns}" for measure in columns.values() for turns in TURNS]
    for opponent, result in found.items():
        values = [decimal(result.metrics.get(name)) for name in names]
        lines.append(pipe([opponent, *values, *(told(result) for told in last.values())]))
    return "\n".join([*lines, ""])


def _speed(result: Result) -> str:
    speed = result.settings.get("sentences_per_second")
    return f"{speed:,.0f}" if isinstance(speed, int | float) else NOTHING


def _tokens(result: Result) -> str:
    both = result.settings.get("tokens_a_sentence")
    return f"{both[1]:.1f} (people {both[0]:.1f})" if both else NOTHING


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
    asked = {name: _taus(writers, prefix) for name, prefix in OTHERS.items()}
    told = [
        f"{name} {' / '.join(map(decimal, values))}" for name, values in asked.items() if values != [None] * len(TURNS)
    ]
    agreed = "; ".join(told) or "not measured"
    return (
        f"Agreement of the ranking of {len(writers)} ways of writing by the first evaluator with that by the others, "
        f"Kendall's τ: {agreed}."
    )


def _chance(found: Mapping[str, Result]) -> str:
    """How far evaluators that differ in their seed alone disagree, which intervals leave out."""
    spreads = {
        f"{name} with {turns}": float(np.std(seeds, ddof=1))
        for name, result in found.items()
        for turns in TURNS
        if len(seeds := result.settings.get("evaluators", {}).get(str(turns), {}).get("adversuc", [])) > 1
    }
    if not spreads:
        return ""
    widest = max(spreads, key=spreads.__getitem__)
    return (
        "Intervals are over pages and leave out the chance of training. Of evaluators that differ in their seed alone, "
        f"AdverSuc has a standard deviation of {decimal(float(np.median(list(spreads.values()))))} in the middle "
        f"and of {decimal(spreads[widest])} at most ({widest}); the table has the mean over seeds."
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
