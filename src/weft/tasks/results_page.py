"""docs/results.md: every table, and below it every run with the command that made it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from weft.tasks import miniatures_page
from weft.tasks.adversarial.page import adversarial_section
from weft.tasks.paper import TABLES
from weft.tasks.result import Result
from weft.tasks.tables import Key, build_table, render
from weft.writing import write_atomically

HEAD = """\
# Results

This page is written by `weft table --write docs/results.md` from the JSON files in `results/`; no number in it was
typed by hand. Brackets hold 95% bootstrap intervals over documents. A tie counts as wrong. Empty cells (–) are
models that weft does not have yet, or numbers the paper does not report. Where a model was trained several times
(variants `seed-1`, `seed-2`, …), a cell holds the mean over all seeds, never the best, ± their standard deviation.
"""

NOTES: Mapping[int, str] = {
    1: "All published permutations; `perm-1`, which equals the original, is left out. The paper prints the averages "
    "of its first and tenth row as .956 and .688; the means of its own columns are .961 and .694.",
    2: "Each paragraph against 20 permutations, a pure function of the seed and the paragraph's id: every model sees "
    "the same ones. The paper does not say how many permutations it used. The paper trains its models by likelihood "
    "alone; ours also learned to tell neighbours from other sentences of a paragraph, or texts from shuffled ones "
    "(docs/train.md); what likelihood alone reached is in docs/log.md. Rows named `peek` are guided by topics that "
    "have seen the sentence they guide.",
    3: "First sentence given, beam 10, input shuffled. The paper does not say whether the given sentence counts in "
    "τ: counted, a random order gets 2/N (about .11 here); left out, 0. “Nothing given” grows greedily at both ends "
    "(Lapata 2003), with precedence and for models with memory to the right only. The paper searches for the highest "
    "sum of transitions, as our rows named `coherence` do; rows “and precedence”, and other rows of `seq2seq` and "
    "`weft-small`, also use what the model learned of which of two sentences comes first (docs/order.md).",
    4: "AdverSuc-N: the share of a system's continuations of N sentences that an evaluator takes for human ones. The "
    "evaluator is trained anew for every row and every N, on 64,000 contexts with a human and a machine continuation "
    "each. “Right on human text” is its accuracy there, without which AdverSuc can be had for nothing; “second” is "
    "AdverSuc against boosted trees over counts, overlaps and language-model scores. Rows named `control` are no "
    "systems: "
    "human text against other human text (chance is .5), sentences of other pages, the right sentences in a wrong "
    "order "
    "(for one sentence, the third instead of the next), the last sentence of the context again. The paper writes with "
    "beams; how each system wrote here is in its result and in docs/adversarial.md.",
}


def results_page(results: Mapping[Key, Result]) -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    for table in TABLES:
        rendered = build_table(table, results)
        measured = any(cell.value is not None for _, cells in rendered.rows for cell in cells[1::2])
        note = NOTES[table.number] if measured else "Not measured yet."
        parts.append(f"## Table {table.number}. {table.title}\n\n{render(rendered, 'markdown')}\n{note}\n")
        if table.number == 4 and measured:
            parts.append(adversarial_section(results))
    parts += [part for part in (miniatures_page.miniatures_section(results), _further_tasks(results)) if part]
    parts.append(_runs(results))
    return "\n".join(parts)


def write_page(results: Mapping[Key, Result], path: str | Path) -> None:
    """Write the page to a file, atomically."""
    with write_atomically(Path(path)) as handle:
        handle.write(results_page(results).encode("utf-8"))


def _further_tasks(results: Mapping[Key, Result]) -> str:
    """Tasks the paper does not have."""
    in_paper = {task for table in TABLES for task, _ in table.cells} | set(miniatures_page.TASKS)
    lines = []
    for (task, model, variant), result in sorted(results.items()):
        if task not in in_paper:
            cells = [f"{name} {_with_interval(result, name)}" for name in result.metrics]
            lines.append(f"| {task} | {_name(model, variant)} | {'; '.join(cells)} |")
    if not lines:
        return ""
    return "## Beyond the paper\n\n| task | model | metrics |\n| --- | --- | --- |\n" + "\n".join(lines) + "\n"


def _with_interval(result: Result, metric: str) -> str:
    value, interval = result.metrics[metric], result.interval.get(metric)
    if value is None:
        return "–"
    return f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else f"{value:.3f}"


def _name(model: str, variant: str) -> str:
    return f"{model} ({variant})" if variant else model


def _runs(results: Mapping[Key, Result]) -> str:
    lines = [
        "## Runs",
        "",
        "| task | model | documents | pairs | ties | seed | estimator | data (SHA-256) | weft | command |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (task, model, variant), result in sorted(results.items()):
        lines.append(
            f"| {task} | {_name(model, variant)} | {result.n_documents} | {result.n_pairs or '–'} | {result.ties} "
            f"| {result.seed} | {result.estimator} | {result.data_name} ({result.data_sha256[:12]}…) "
            f"| {result.weft_version} | `{result.command}` |"
        )
    return "\n".join(lines) + "\n"
