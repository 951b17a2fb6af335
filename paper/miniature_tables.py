"""The tables of minimal pairs: the paper's miniature discourses one by one, and the probes by phenomenon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.evaluation.minimal_pairs import BETTER, BOTH_WAYS, WORSE, MinimalPair, read_pairs
from weft.evaluation.result import Key, Result
from weft.io.package_files import PROBES
from weft.report.row_groups import name_of
from weft.report.table_formats import NOTHING, Column, RenderedTable, Row, pipe, render
from weft.report.tables import cell_of

RIGHT, WRONG = "✓", "✗"
PHENOMENA = ("lexical", "temporal", "causal", "centering", "connective", "pronoun")


def _of_task(results: Mapping[Key, Result], task: str) -> dict[str, Result]:
    return {name_of(key[1], key[2]): result for key, result in sorted(results.items()) if key[0] == task}


def _pairs() -> list[MinimalPair]:
    return list(read_pairs(PROBES / "miniatures.jsonl"))


def miniature_scores(results: Mapping[Key, Result]) -> str:
    """Return the scores of both texts of each of the paper's pairs, by every model, as Markdown."""
    pairs = _pairs()
    header = ["model", *(pair.id for pair in pairs), "right"]
    right = sum(pair.paper is not None and pair.paper[0] > pair.paper[1] for pair in pairs)
    paper = ["paper, MMI", *map(_paper_cell, pairs), f"{right} of {len(pairs)}"]
    lines = [pipe(header), pipe(["---"] * len(header)), pipe(paper)]
    found = _of_task(results, "miniatures")
    lines += [pipe([name, *_pair_cells(result), _right(result)]) for name, result in found.items()]
    return "\n".join(lines) + "\n"


def miniature_texts() -> str:
    """Return both texts of each of the paper's pairs as a Markdown list."""
    texts = [f"- **{pair.id}**: {_text(pair.better.sentences)} > {_text(pair.worse.sentences)}" for pair in _pairs()]
    return "\n".join(texts) + "\n"


def _text(sentences: Sequence[str]) -> str:
    return f"“{' '.join(sentences)}”"


def _paper_cell(pair: MinimalPair) -> str:
    return NOTHING if pair.paper is None else _cell(*pair.paper, pair.paper[0] > pair.paper[1])


def _cell(better: float | None, worse: float | None, right: bool) -> str:
    one, other = (NOTHING if value is None else f"{value:.2f}" for value in (better, worse))
    return f"{one} / {other} {RIGHT if right else WRONG}"


def _pair_cells(result: Result) -> list[str]:
    right = map(bool, result.per_document["accuracy"]["numerators"])
    return [_cell(*pair) for pair in zip(_scores(result, BETTER), _scores(result, WORSE), right, strict=True)]


def _scores(result: Result, name: str) -> list[float | None]:
    parts = result.per_document[name]
    scored = zip(parts["numerators"], parts["denominators"], strict=True)
    return [value if there else None for value, there in scored]


def _right(result: Result) -> str:
    return f"{sum(result.per_document['accuracy']['numerators']):.0f} of {result.n_pairs}"


def probe_accuracies(results: Mapping[Key, Result]) -> str:
    """Return the accuracy of every model on the probes, over all pairs and by phenomenon, as Markdown."""
    metrics = ("accuracy", BOTH_WAYS, *PHENOMENA)
    columns = tuple(Column(name.replace("_", " "), True) for name in metrics)
    found = _of_task(results, "probes")
    rows = tuple(Row(name, "", tuple(cell_of(result, metric) for metric in metrics)) for name, result in found.items())
    return render(RenderedTable(0, "Probes", columns, rows), "markdown")
