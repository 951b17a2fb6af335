"""The tables of docs/benchmarks.md: models on genres and on public sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result
from weft.evaluation.sets.genres import LOWEST, MEAN
from weft.evaluation.tasks import find_experiment
from weft.report.row_groups import name_of
from weft.report.table_formats import Column, RenderedTable, Row, decimal, pipe, render
from weft.report.tables import cell_of

Results = Mapping[Key, Result]
_FOLDERS = ("genres/", "peers/")  # of the data folder
FIRST_ROWS = ("random", "foltz-glove", "foltz-embedding")  # the other rows come after them, by name


def is_benchmark(task: str) -> bool:
    """Return whether docs/benchmarks.md shows the results of a task.

    Example:
        >>> is_benchmark("genres-order"), is_benchmark("wikipedia-intruder"), is_benchmark("wikipedia-order")
        (True, True, False)
    """
    data = find_experiment(task).data
    return task.endswith("-intruder") or (data is not None and data.file.startswith(_FOLDERS))


def benchmark_table(results: Results, *cells: Sequence[str]) -> str:
    """Return one row per model with a result in any of the columns, as Markdown.

    Args:
        results: All results.
        cells: Heading, task and metric of each column.
    """
    found = average_seeds({key: result for key, result in results.items() if key[0] in {task for _, task, _ in cells}})
    rows = tuple(
        Row(name_of(*model), "", tuple(cell_of(found.get((task, *model)), metric) for _, task, metric in cells))
        for model in _models(found)
    )
    columns = tuple(Column(heading, True) for heading, _, _ in cells)
    return render(RenderedTable(0, "", columns, rows), "markdown")


def by_genre(results: Results, task: str, metric: str) -> str:
    """Return a metric for each genre and model, as Markdown."""
    found = average_seeds({key: result for key, result in results.items() if key[0] == task})
    models = _models(found)
    picked = [found[task, *model] for model in models]
    genres = [
        name.removeprefix(f"{metric}.")
        for name in (picked[0].metrics if picked else ())
        if name.startswith(f"{metric}.") and not name.endswith((MEAN, LOWEST))
    ]
    lines = [pipe(["genre", *(name_of(*model) for model in models)]), pipe(["---"] * (len(models) + 1))]
    for genre in genres:
        lines.append(pipe([genre, *(decimal(one.metrics.get(f"{metric}.{genre}")) for one in picked)]))
    return "\n".join(lines) + "\n"


def _models(found: Results) -> list[tuple[str, str]]:
    models = {(model, variant) for _, model, variant in found}
    return sorted(models, key=lambda model: (*(model[0] != name for name in FIRST_ROWS), model))
