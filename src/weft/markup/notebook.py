"""Results as HTML for a notebook: one self-contained block each, all text escaped, no scripts and no outside files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from weft.markup.link_scale import found_none, likeliest_break, link_shares
from weft.markup.scored_text import text_html, text_style

if TYPE_CHECKING:
    from weft.document import Continuation, Score

REMOVED = "#c0392b"
MARKS = {"same": "", "changed": "~", "moved": "↕", "added": "+", "removed": "−"}
COLOURS = {"same": "inherit", "changed": "#b7791f", "moved": "#2b7a9b", "added": "#2e7d32", "removed": REMOVED}


def score_html(score: Score) -> str:
    """Return a scored text as paragraphs, with a coloured link between neighbouring sentences."""
    notes = [score.meaning, *score.warnings, link_shares(score)[1], found_none(score), likeliest_break(score)]
    name = score.document.id if score.document is not None else ""
    rows = [f"<style>{text_style()}</style>", text_html(score)]
    fluency = "" if score.fluency is None else f" fluency {score.fluency:.2f}"
    return _block(f"{_strong(name)} coherence {_strong(shown(score.value))}{fluency}", notes, rows)


def ordering_html(ordering: Any) -> str:
    """Return the sentences of a `weft.Ordering` in their new order, each with the number it had."""
    rows = [_sentence(was + 1, sentence) for was, sentence in zip(ordering.order, ordering.sentences, strict=False)]
    values = f"coherence {shown(ordering.input_value)} as given, {_strong(shown(ordering.value))} in this order"
    notes = [*ordering.warnings, "Numbers: the place of the sentence in the input."]
    return _block(f"{_strong(ordering.id)} {values}", notes, rows)


def continuation_html(continuation: Continuation) -> str:
    """Return the text and, in another colour, the sentences written after it."""
    before = escape(" ".join(continuation.document.sentences))
    after = escape(" ".join(continuation.sentences))
    paragraph = f'<p>{before} <span style="color:{COLOURS["added"]}">{after}</span></p>'
    return _block(f"{_strong(continuation.document.id)} continued by {escape(continuation.model)}", [], [paragraph])


def comparison_html(found: Any) -> str:
    """Return the second text of a comparison with what changed, and each transition's score before and after."""
    first, second = (
        score.document.sentences if score.document is not None else () for score in (found.first, found.second)
    )
    steps = {step.after: step for step in found.transitions if step.after is not None}
    rows = []
    for sentence in found.sentences:
        text = second[sentence.after] if sentence.after is not None else first[sentence.before or 0]
        plain = f"{MARKS[sentence.kind]} {sentence.kind}".strip()
        mark = f"{MARKS['moved']}{MARKS['changed']} moved and changed" if sentence.both else plain
        rows.append(_sentence(mark, text, COLOURS[sentence.kind]))
        if sentence.after in steps:
            step = steps[sentence.after]
            rows.append(f"<div>{_dim(f'{shown(step.value_before)} → {shown(step.value_after)}')}</div>")
    values = f"{_strong(shown(found.first.value))} → {_strong(shown(found.second.value))}"
    difference = "" if found.difference is None else f"Difference: {found.difference:+.4f}."
    return _block(f"coherence {values}", [difference, found.meaning], rows)


def table_html(head: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of values by column as a table.

    Example:
        >>> table_html("a < b", [{"metric": "accuracy", "value": 0.5}]).count("<td>")
        2
    """
    columns = list(rows[0]) if rows else []
    lines = ["".join(f"<th>{escape(name)}</th>" for name in columns)]
    lines += ["".join(f"<td>{_cell(row[name])}</td>" for name in columns) for row in rows]
    table = "".join(f"<tr>{line}</tr>" for line in lines)
    return _block(_strong(head), [], [f"<table>{table}</table>"])


def _cell(value: object) -> str:
    return shown(value) if isinstance(value, float | None) else escape(str(value))


def shown(value: float | None) -> str:
    """Return a score with four digits, or a dash where there is none."""
    return "–" if value is None else f"{value:.4f}"


def _sentence(mark: int | str, text: str, colour: str = "inherit") -> str:
    return f'<div style="color:{colour}">{_dim(str(mark))} {escape(text)}</div>'


def _strong(text: str) -> str:
    return f"<b>{escape(text)}</b>"


def _dim(text: str) -> str:
    return f'<span style="opacity:.6;display:inline-block;min-width:2em">{escape(text)}</span>'


def _block(head: str, notes: Sequence[str], rows: Sequence[str]) -> str:
    lines = "".join(f'<div style="opacity:.7">{escape(note)}</div>' for note in notes if note)
    return f'<div style="max-width:60em;line-height:1.5"><div>{head}</div>{lines}{"".join(rows)}</div>'
