"""The tables of docs/results.md that the paper does not have: gentle negatives, further tasks, plots and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.corpora.negatives.swap import NEIGHBOURS, SWAPS
from weft.evaluation.result import Key, Result
from weft.report.model_facts import ModelFacts
from weft.report.paper_numbers import TABLES
from weft.report.plot_data import make_plots
from weft.report.tables import Column, RenderedTable, cell_of, cell_text, name_of, pipe, render

PAIRS, INNER, FEW_SWAPS = "wikipedia-pairs", "wikipedia-pairs-inner", "wikipedia-swaps"
ON_THE_PAGE = {INNER, FEW_SWAPS, "miniatures", "probes", *(task for table in TABLES for task, _ in table.cells)}
Results = Mapping[Key, Result]


def ends_fixed(results: Results) -> str:
    """Return the accuracy on permutations of all sentences and of inner sentences only, as Markdown."""
    rows = tuple(
        (name_of(model, variant), (cell_of(results.get((PAIRS, model, variant))), cell_of(result)))
        for (task, model, variant), result in sorted(results.items())
        if task == INNER
    )
    columns = (Column("all sentences permuted", True), Column("both ends fixed", True))
    return render(RenderedTable(0, "", columns, rows), "markdown")


def few_swaps(results: Results) -> str:
    """Return the accuracy on texts with a few exchanged sentences, as Markdown."""
    kinds = (NEIGHBOURS, *(f"swaps_{number}" for number in SWAPS))
    rows = tuple(
        (name_of(model, variant), tuple(cell_of(result, kind) for kind in kinds))
        for (task, model, variant), result in sorted(results.items())
        if task == FEW_SWAPS
    )
    names = (NEIGHBOURS, *(f"{number} swap{'' if number == 1 else 's'}" for number in SWAPS))
    return render(RenderedTable(0, "", tuple(Column(name, True) for name in names), rows), "markdown")


def further_tasks(results: Results) -> str:
    """Return all metrics of the tasks that no other table shows, as Markdown."""
    lines = [pipe(["task", "model", "metrics"]), pipe(["---"] * 3)]
    for (task, model, variant), result in sorted(results.items()):
        if task not in ON_THE_PAGE:
            metrics = "; ".join(f"{name} {cell_text(cell_of(result, name))}" for name in result.metrics)
            lines.append(pipe([task, name_of(model, variant), metrics]))
    return "\n".join(lines) + "\n"


def plots(results: Results, facts: Sequence[ModelFacts]) -> str:
    """Return links to the plots that `weft plots --out docs/pictures` draws."""
    made, _ = make_plots(results, facts)
    return "\n".join(f"![{plot.title}](pictures/{plot.name}.svg)\n" for plot in made)


def runs(results: Results) -> str:
    """Return the data, seed and command of every result, as Markdown."""
    header = ["task", "model", "documents", "pairs", "ties", "seed", "estimator", "data (SHA-256)", "weft", "command"]
    lines = [pipe(header), pipe(["---"] * len(header))]
    for (task, model, variant), result in sorted(results.items()):
        lines.append(pipe([
            task, name_of(model, variant), str(result.n_documents), str(result.n_pairs or "–"), str(result.ties),
            str(result.seed), result.estimator, f"{result.data_name} ({result.data_sha256[:12]}…)",
            result.weft_version, f"`{result.command}`",
        ]))  # fmt: skip
    return "\n".join(lines) + "\n"
