"""The part of docs/results.md on miniature discourses: the paper's pairs one by one, and the probes by phenomenon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.evaluation.minimal_pairs import BETTER, BOTH_WAYS, SHIPPED, WORSE, MinimalPair, read_pairs
from weft.evaluation.result import Key, Result
from weft.report.tables import NOTHING, Cell, Column, RenderedTable, name_of, pipe, render

TASKS = ("miniatures", "probes")
RIGHT, WRONG = "✓", "✗"
PHENOMENA = ("lexical", "temporal", "causal", "centering", "connective", "pronoun")

PAIRS_NOTE = """\
The score of the better text, then of the worse; ✓ where the first is higher, ✗ where it is not. The paper's scores are
those of its MMI model; each of ours has a scale of its own, so preferences compare and sizes do not."""

PROBES_NOTE = """\
Accuracy over all pairs and by phenomenon, with 95% bootstrap intervals over pairs. “Both ways” is the share of crossed
fours of texts with both of their pairs right: by chance .25, and 0 for a model that looks at one sentence at a time.
How the pairs were made and checked: docs/probes.md."""


def miniatures_section(results: Mapping[Key, Result]) -> str:
    """Both tables as Markdown; nothing where neither task has a result."""
    parts = [_pairs_part(_of_task(results, "miniatures")), _probes_part(_of_task(results, "probes"))]
    return "\n".join(part for part in parts if part)


def _of_task(results: Mapping[Key, Result], task: str) -> dict[str, Result]:
    found = sorted((key, result) for key, result in results.items() if key[0] == task)
    return {name_of(model, variant): result for (_, model, variant), result in found}


def _pairs_part(results: Mapping[str, Result]) -> str:
    if not results:
        return ""
    pairs = list(read_pairs(SHIPPED / "miniatures.jsonl"))
    header = ["model", *(pair.id for pair in pairs), "right"]
    right = sum(pair.paper is not None and pair.paper[0] > pair.paper[1] for pair in pairs)
    told = ["paper, MMI", *map(_paper_cell, pairs), f"{right} of {len(pairs)}"]
    lines = [pipe(header), pipe(["---"] * len(header)), pipe(told)]
    lines += [pipe([name, *_pair_cells(result), _right(result)]) for name, result in results.items()]
    texts = [f"- **{pair.id}**: {_text(pair.better.sentences)} > {_text(pair.worse.sentences)}" for pair in pairs]
    body = "\n".join(lines), PAIRS_NOTE, "\n".join(texts)
    return "## Miniature discourses\n\n" + "\n\n".join(body) + "\n"


def _text(sentences: Sequence[str]) -> str:
    return f"“{' '.join(sentences)}”"


def _paper_cell(pair: MinimalPair) -> str:
    return NOTHING if pair.paper is None else _cell(*pair.paper, pair.paper[0] > pair.paper[1])


def _cell(better: float | None, worse: float | None, right: bool) -> str:
    one, other = (NOTHING if value is None else f"{value:.2f}" for value in (better, worse))
    return f"{one} / {other} {RIGHT if right else WRONG}"


def _pair_cells(result: Result) -> list[str]:
    right = result.per_document["accuracy"]["numerators"]
    return [
        _cell(*pair) for pair in zip(_scores(result, BETTER), _scores(result, WORSE), map(bool, right), strict=True)
    ]


def _scores(result: Result, name: str) -> list[float | None]:
    parts = result.per_document[name]
    known = zip(parts["numerators"], parts["denominators"], strict=True)
    return [value if there else None for value, there in known]


def _right(result: Result) -> str:
    return f"{sum(result.per_document['accuracy']['numerators']):.0f} of {result.n_pairs}"


def _probes_part(results: Mapping[str, Result]) -> str:
    if not results:
        return ""
    metrics = ("accuracy", BOTH_WAYS, *PHENOMENA)
    columns = tuple(Column(name.replace("_", " "), True) for name in metrics)
    rows = tuple((name, tuple(_measured(result, metric) for metric in metrics)) for name, result in results.items())
    pairs = max(result.n_pairs for result in results.values())
    table = render(RenderedTable(0, "Probes", columns, rows), "markdown")
    return f"## Probes: {pairs} minimal pairs of our own\n\n{table}\n{PROBES_NOTE}\n"


def _measured(result: Result, metric: str) -> Cell:
    interval = result.interval.get(metric)
    return Cell(result.metrics.get(metric), (interval[0], interval[1]) if interval else None)
