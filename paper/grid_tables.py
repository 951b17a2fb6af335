"""The discriminative model with all combinations of three changes, and what each change does to the others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from paper.measured import SIGNIFICANT, Difference, PageError, Value, signed
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import SEEDED, Key, Result, compare_results, without_seed
from weft.report.paper_numbers import WINDOW
from weft.report.row_groups import Line
from weft.report.row_names import CHANGES, grid_variants
from weft.report.table_formats import NOTHING, Column, RenderedTable, Row, decimal, pipe, render
from weft.report.tables import Numbers

MODEL = "discriminative"
DOMAINS = ("accidents", "earthquakes")
GRID_NAMES = {  # setting that is changed -> its name as in the paper and its name when changed
    "permutation": ("replaced centres", "permutations"),
    "max": ("last state", "maximum over states"),
    "likeness": ("no likeness", "likeness"),
}
Results = Mapping[Key, Result]


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of one change in one domain; it prints in bold where neither documents nor seeds explain it."""

    documents: Difference  # between the means over seeds, by paired bootstrap over documents
    error: float  # standard error of the difference over seeds
    p_seeds: float  # of an exact permutation test over the trainings

    @property
    def clear(self) -> bool:
        """Whether p is below .05 over documents and over seeds."""
        return self.documents.significant and self.p_seeds < SIGNIFICANT

    @property
    def value(self) -> float:
        """The mean with the change minus the mean without it."""
        return self.documents.value

    def cells(self) -> list[str]:
        """Return the difference, its interval over documents and its standard error over seeds."""
        shown = signed(self.value)
        interval = f"[{signed(self.documents.low)}, {signed(self.documents.high)}]"
        return [f"**{shown}**" if self.clear else shown, interval, f"± {decimal(self.error)}"]

    def __str__(self) -> str:
        return " ".join(self.cells())


def discriminative_grid(results: Results) -> str:
    """Return the accuracy of all combinations of negatives, pooling and likeness, as Markdown."""
    numbers = Numbers({key: result for key, result in results.items() if key[0] in DOMAINS})
    lines = [Line(_grid_name(variant), MODEL, variant) for variant in grid_variants()]
    columns = tuple(Column(domain, ours=True, split=True) for domain in DOMAINS)
    rows = [Row(line.name, "", tuple(numbers.cell(domain, "accuracy", line) for domain in DOMAINS)) for line in lines]
    return render(RenderedTable(0, "", columns, tuple(rows)), "markdown")


def grid_changes(results: Results) -> str:
    """Return what each change does to each combination of the other two, as Markdown."""
    columns = [name for domain in DOMAINS for name in (domain, "95% interval", "± over seeds")]
    lines = [pipe(["change", "with", *columns]), pipe(["---"] * (len(columns) + 2))]
    for changed in CHANGES:
        others = [change for change in CHANGES if change != changed]
        for variant in grid_variants():
            if changed not in variant:
                name = " instead of ".join(reversed(GRID_NAMES[changed]))
                given = ", ".join(GRID_NAMES[other][other in variant.split("-")] for other in others)
                cells = [_change(results, domain, changed, variant) for domain in DOMAINS]
                shown = [text for found in cells for text in (found.cells() if found else [NOTHING] * 3)]
                lines.append(pipe([name, given, *shown]))
    return "\n".join(lines) + "\n"


def grid_change(results: Results, domain: str, changed: str, others: str = "") -> Change:
    """Return what a change does.

    Args:
        results: All results.
        domain: Task that it is measured on.
        changed: The change: `permutation`, `max` or `likeness`.
        others: Changes that both combinations have, joined by `-`.

    Raises:
        PageError: One of the combinations was not measured with several seeds.
    """
    found = _change(results, domain, changed, "-".join(filter(None, (WINDOW, others))))
    if found is None:
        raise PageError(f"no change {changed} of {MODEL}, {others or 'nothing else changed'}, on {domain}")
    return found


def clear_changes(results: Results, domain: str) -> list[str]:
    """Return the changes that neither documents nor seeds explain, each with the variant that it changes."""
    pairs = [(changed, variant) for changed in CHANGES for variant in grid_variants() if changed not in variant]
    found = {pair: _change(results, domain, *pair) for pair in pairs}
    return [f"{changed} of {variant}" for (changed, variant), one in found.items() if one and one.clear]


def grid_means(results: Results, domain: str) -> list[Value]:
    """Return the accuracies of all combinations that were measured, each a mean over seeds."""
    found = average_seeds({key: one for key, one in results.items() if key[:2] == (domain, MODEL)})
    values = [one.metrics["accuracy"] for variant in grid_variants() if (one := found.get((domain, MODEL, variant)))]
    return [Value(value) for value in values if value is not None]


def permutation_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the share of all divisions of some numbers into two groups whose means differ as much as given.

    Example:
        >>> permutation_p([0.9, 0.91, 0.92], [0.8, 0.81, 0.82]), permutation_p([0.1, 0.4], [0.2, 0.3])
        (0.1, 1.0)
    """
    pooled = [*first, *second]
    total, size = math.fsum(pooled), len(first)

    def gap(chosen: Sequence[float]) -> float:
        part = math.fsum(chosen)
        return abs(part / size - (total - part) / (len(pooled) - size))

    gaps = [gap(chosen) for chosen in combinations(pooled, size)]
    return sum(one >= gap(first) - 1e-12 for one in gaps) / len(gaps)


def _change(results: Results, domain: str, changed: str, variant: str) -> Change | None:
    """Return what a change does to a variant, or None if a mean over seeds is missing."""
    parts = variant.removeprefix(WINDOW).split("-")
    more = "-".join([WINDOW, *(change for change in CHANGES if change == changed or change in parts)])
    return _over_seeds(results, domain, MODEL, (more, variant))


def seed_change(results: Results, domain: str, model: str, first: str, second: str) -> Change:
    """Return the difference of two variants of a model, over documents and over seeds.

    Raises:
        PageError: One of them was not measured with several seeds.
    """
    found = _over_seeds(results, domain, model, (first, second))
    if found is None:
        raise PageError(f"{model}, {first} and {second}, were not measured with several seeds on {domain}")
    return found


def _over_seeds(results: Results, domain: str, model: str, variants: tuple[str, str]) -> Change | None:
    """Return the first variant minus the second, or None if a mean over seeds is missing."""
    pair = [_seeds(results, domain, model, one) for one in variants]
    if any(len(seeds) < 2 for seeds in pair):
        return None
    (one,), (other,) = (average_seeds({_key(result): result for result in seeds}).values() for seeds in pair)
    first, second = ([float(result.metrics["accuracy"] or 0) for result in seeds] for seeds in pair)
    error = math.sqrt(sum(statistics.variance(values) / len(values) for values in (first, second)))
    return Change(Difference(compare_results(one, other, "accuracy")), error, permutation_p(first, second))


def _seeds(results: Results, domain: str, model: str, variant: str) -> list[Result]:
    """Return the trainings of a variant."""
    wanted = (domain, model, variant)
    found = [(key, one) for key, one in results.items() if SEEDED.fullmatch(key[2])]
    return [one for (task, name, seed), one in sorted(found, key=lambda item: item[0])
            if (task, name, without_seed(seed)) == wanted]  # fmt: skip


def _key(result: Result) -> Key:
    return result.task, result.model, result.variant


def _grid_name(variant: str) -> str:
    changed = variant.split("-")
    return ", ".join(GRID_NAMES[change][change in changed] for change in CHANGES)
