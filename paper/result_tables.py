"""The tables of docs/results.md that the paper does not have: other negatives, further tasks, plots and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paper.benchmark_tables import is_benchmark
from weft.corpora.negatives.swap import NEIGHBOURS, SWAPS
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import SEEDED, Key, Result, without_seed
from weft.report.model_facts import ModelFacts
from weft.report.paper_numbers import TABLES, PaperTable
from weft.report.plot_data import make_plots
from weft.report.row_groups import name_of
from weft.report.table_formats import Column, RenderedTable, Row, cell_text, pipe, render
from weft.report.tables import build_table, cell_of

PAIRS, INNER, FEW_SWAPS = "wikipedia-pairs", "wikipedia-pairs-inner", "wikipedia-swaps"
DOMAINS = ("accidents", "earthquakes")
DOMAINS_INNER = tuple(f"{domain}-inner" for domain in DOMAINS)
WITHOUT_SLUG = "earthquakes-without-slug-pairs"
ON_THE_PAGE = {
    INNER, *DOMAINS_INNER, FEW_SWAPS, WITHOUT_SLUG, "miniatures", "probes",
    *(task for table in TABLES for task in table.tasks),
}  # fmt: skip
Results = Mapping[Key, Result]


def ends_fixed(results: Results) -> str:
    """Return the accuracy on permutations of all sentences and of inner sentences only, as Markdown."""
    return _side_by_side(TABLES[1], results, {"all sentences permuted": PAIRS, "both ends fixed": INNER})


def domains_ends_fixed(results: Results) -> str:
    """Return the accuracy on permutations of inner sentences of the reports of both domains, as Markdown."""
    return _side_by_side(TABLES[0], results, dict(zip(DOMAINS, DOMAINS_INNER, strict=True)))


def without_slug(results: Results) -> str:
    """Return the accuracy on the earthquake reports with and without the agency's lines above the text, as Markdown."""
    return _side_by_side(TABLES[0], results, {"whole reports": DOMAINS[1], "without slug lines": WITHOUT_SLUG})


def _side_by_side(table: PaperTable, results: Results, tasks: Mapping[str, str]) -> str:
    """Return the rows of a table that were measured on the last of some tasks, with one column per task."""
    *_, last = tasks.values()
    there = {(model, without_seed(variant)) for task, model, variant in results if task == last}
    kept = {key: result for key, result in results.items() if (key[1], without_seed(key[2])) in there}
    cells = tuple((task, "accuracy") for task in tasks.values())
    rows = tuple(replace(row, values=()) for row in table.rows)
    changed = replace(table, columns=tuple(tasks), cells=cells, rows=rows, beside=())
    return render(build_table(changed, kept), "markdown")


def few_swaps(results: Results) -> str:
    """Return the accuracy on texts with a few exchanged sentences, as Markdown."""
    kinds = (NEIGHBOURS, *(f"swaps_{number}" for number in SWAPS))
    found = average_seeds({key: result for key, result in results.items() if key[0] == FEW_SWAPS})
    rows = tuple(
        Row(name_of(model, variant), "", tuple(cell_of(result, kind) for kind in kinds))
        for (_, model, variant), result in sorted(found.items())
    )
    names = (NEIGHBOURS, *(f"{number} swap{'' if number == 1 else 's'}" for number in SWAPS))
    return render(RenderedTable(0, "", tuple(Column(name, True) for name in names), rows), "markdown")


def further_tasks(results: Results) -> str:
    """Return all metrics of the tasks that no other table shows, as Markdown."""
    lines = [pipe(["task", "model", "metrics"]), pipe(["---"] * 3)]
    shown = {key[0] for key in results if key[0] in ON_THE_PAGE or is_benchmark(key[0])}
    found = average_seeds({key: result for key, result in results.items() if key[0] not in shown})
    for (task, model, variant), result in sorted(found.items()):
        metrics = "; ".join(f"{name} {cell_text(cell_of(result, name))}" for name in result.metrics)
        lines.append(pipe([task, name_of(model, variant), metrics]))
    return "\n".join(lines) + "\n"


def plots(results: Results, facts: Sequence[ModelFacts]) -> str:
    """Return links to the plots that `weft plots --out docs/pictures` draws."""
    made, _ = make_plots(results, facts)
    return "\n".join(f"![{plot.title}](pictures/{plot.name}.svg)\n" for plot in made)


def runs(results: Results) -> str:
    """Return the data, seed and command of every result, as Markdown; trainings of one model share a line."""
    header = ["task", "model", "trainings", "documents", "pairs", "ties", "seed", "estimator", "data (SHA-256)",
              "weft", "command"]  # fmt: skip
    lines = [pipe(header), pipe(["---"] * len(header))]
    grouped: dict[Key, list[Result]] = {}
    for (task, model, variant), result in sorted(results.items()):
        grouped.setdefault((task, model, without_seed(variant)), []).append(result)
    for (task, model, variant), found in sorted(grouped.items(), key=lambda item: item[0]):
        seeded = [one for one in found if SEEDED.fullmatch(one.variant)]
        result = (seeded or found)[0]
        lines.append(pipe([
            task, name_of(model, variant), str(len(seeded) or 1), str(result.n_documents), str(result.n_pairs or "–"),
            str(result.ties), str(result.seed), result.estimator, f"{result.data_name} ({result.data_sha256[:12]}…)",
            result.weft_version, f"`{result.command}`",
        ]))  # fmt: skip
    return "\n".join(lines) + "\n"
