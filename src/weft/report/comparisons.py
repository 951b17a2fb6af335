"""Comparisons of two models or two texts, as lines for a terminal and as JSON records."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.text import Text

from weft.document import Document
from weft.evaluation.metrics import Comparison
from weft.evaluation.model_comparison import Versus
from weft.evaluation.result import Result
from weft.evaluation.text_comparison import ROUNDING, AlignedSentence, AlignedTransition, Revision
from weft.report.row_groups import name_of
from weft.report.terminal import counted, printable, shorten

SIGNIFICANT = 0.05
FEW = 20  # documents; intervals over fewer are unreliable
LEFT_OUT = Text("   …", "dim")
MARKS = {"same": " ", "changed": "~", "moved": "↕", "added": "+", "removed": "−"}
COLOURS = {"same": "", "changed": "yellow", "moved": "cyan", "added": "green", "removed": "red"}


def _title(result: Result) -> str:
    """Return the name of a result as in the tables."""
    return printable(name_of(result.model, result.variant))


# -- models --------------------------------------------------------------------------------------------------------


def versus_lines(found: Versus, shown: int) -> list[Text]:
    """Return every metric with its difference, then the documents that differ most."""
    names = [_title(result) for result in (found.first, found.second)]
    better, worse, equal = found.better
    wins = f"{names[0]} is better on {counted(better, 'document')}, worse on {worse}, equal on {equal}"
    width = max([22, *map(len, found.comparisons)]) + 2
    lines = [
        Text.assemble((f"{found.first.task}  ", "bold"), (names[0], "bold cyan"), " against ", (names[1], "bold cyan")),
        Text(f"{counted(found.first.n_documents, 'document')}, paired bootstrap; difference: first minus second"),
        Text(f"  {'':<{width}}{'first':>8}{'second':>9}{'difference':>12}   95% interval          p"),
        *(_metric_line(found, name, comparison, width) for name, comparison in found.comparisons.items()),
    ]
    if found.unpaired:
        lines.append(Text(f"  omitted, because the pairs differ: {', '.join(found.unpaired)}"))
    lines += [Text(), Text(f"by {found.metric}: {wins}")]
    if found.first.n_documents < FEW:
        lines.append(Text(f"fewer than {FEW} documents: intervals and p are unreliable", "yellow"))
    for gap in found.documents[:shown]:
        lines.append(Text(f"  {gap.first:8.4f}{gap.second:9.4f}{gap.difference:+12.4f}   {shorten(gap.id, 60)}"))
    return lines


def _metric_line(found: Versus, name: str, comparison: Comparison, width: int) -> Text:
    first, second = found.first.metrics[name] or 0.0, found.second.metrics[name] or 0.0
    sure = comparison.p_value < SIGNIFICANT
    interval = "{:+.4f} to {:+.4f}".format(*comparison.interval) if comparison.interval else f"{'–':<18}"
    line = f"  {name:<{width}}{first:8.4f}{second:9.4f}{comparison.difference:+12.4f}   {interval}   "
    return Text.assemble(
        line, (f"{comparison.p_value:.4f}", "bold" if sure else ""), "" if sure else "  not significant"
    )


def versus_record(found: Versus, shown: int) -> dict[str, Any]:
    """Return the same content as a JSON record."""
    return {
        "task": found.first.task,
        "first": found.first.file_name,
        "second": found.second.file_name,
        "n_documents": found.first.n_documents,
        "metrics": {
            name: {"first": found.first.metrics[name], "second": found.second.metrics[name], **asdict(comparison)}
            for name, comparison in found.comparisons.items()
        },
        "unpaired": list(found.unpaired),
        "documents_by": found.metric,
        "first_better": found.better[0],
        "second_better": found.better[1],
        "equal": found.better[2],
        "documents": [{**asdict(gap), "difference": gap.difference} for gap in found.documents[:shown]],
    }


# -- texts ---------------------------------------------------------------------------------------------------------


def revision_lines(found: Revision, first: Document, second: Document, *, changes_only: bool = False) -> list[Text]:
    """Return the sentences of both texts in alignment, with the scores of the transitions.

    Args:
        found: The comparison.
        first: The first text.
        second: The second text.
        changes_only: Whether to leave out what is the same in both; `…` stands for sentences that are left out.
    """
    shown = found.changes() if changes_only else found
    steps = {step.after: step for step in shown.transitions if step.after is not None}
    lines = [_total(found, first, second), *([Text(found.meaning)] if found.meaning else []), Text()]
    expected = 0  # the next sentence of the second text
    for sentence in shown.sentences:
        lines += [LEFT_OUT] if sentence.after is not None and sentence.after > expected else []
        expected = expected if sentence.after is None else sentence.after + 1
        lines.append(_sentence_line(sentence, first, second))
        if sentence.after in steps and (line := _step_line(steps[sentence.after])) is not None:
            lines.append(line)
    lines += [LEFT_OUT] if shown.sentences and expected < len(second) else []
    lines += [] if shown.sentences else [Text("the texts have the same sentences in the same order")]
    gone = [step for step in shown.transitions if step.kind == "gone" and step.value_before is not None]
    lines += [Text(), Text("gone from the first text", "bold")] if gone else []
    for step in gone:
        left = step.before or 0
        words = f"{shorten(first.sentences[left], 40)} → {shorten(first.sentences[left + 1], 40)}"
        lines.append(Text(f"  {left + 1:3d} → {left + 2:<3d} {step.value_before:8.4f}  {words}"))
    return lines


def _total(found: Revision, first: Document, second: Document) -> Text:
    named = ((printable(first.id), found.first.value), (printable(second.id), found.second.value))
    values = [f"{name}  {'–' if value is None else f'{value:.4f}'}" for name, value in named]
    # Adding 0 makes -0.0 a 0.0: the same text can differ in the last bits.
    tail = "" if found.difference is None else f"   difference {round(found.difference, 4) + 0.0:+.4f}"
    counts = {kind: sum(s.kind == kind for s in found.sentences) for kind in MARKS}
    summary = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "no sentences"
    return Text.assemble((f"{values[0]}  →  {values[1]}", "bold"), (tail, "bold"), f"\n{summary}")


def _sentence_line(sentence: AlignedSentence, first: Document, second: Document) -> Text:
    before, after = (f"{place + 1:4d}" if place is not None else "   ·" for place in (sentence.before, sentence.after))
    text = second.sentences[sentence.after] if sentence.after is not None else first.sentences[sentence.before or 0]
    return Text.assemble(
        (f"{before} {after} ", "dim"), (f"{_mark(sentence)}{sentence.kind:<8}", COLOURS[sentence.kind]),
        shorten(text),
    )  # fmt: skip


def _mark(sentence: AlignedSentence) -> str:
    """Return the sign of a sentence, two characters wide."""
    return MARKS["moved"] + MARKS["changed"] if sentence.both else f"{MARKS[sentence.kind]} "


def _step_line(step: AlignedTransition) -> Text | None:
    if step.value_after is None:
        return None
    if step.difference is None:
        return Text(f"{'':>20}{'':>8} → {step.value_after:7.4f}   new")
    change = f"   {step.difference:+.4f}" if abs(step.difference) >= ROUNDING else ""
    colour = "green" if step.difference > 0 else "red"
    return Text.assemble(f"{'':>20}{step.value_before:8.4f} → {step.value_after:7.4f}", (change, colour))
