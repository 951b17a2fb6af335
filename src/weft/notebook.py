"""Results as HTML for a notebook: one self-contained block each, all text escaped, no scripts and no outside files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.document import Continuation, Score

RED, GREEN = 5, 130  # hues of a weak and of a strong link; both are readable on white and on black
WEAK = "#c0392b"
MARKS = {"same": "", "changed": "~", "moved": "↕", "added": "+", "removed": "−"}
COLOURS = {"same": "inherit", "changed": "#b7791f", "moved": "#2b7a9b", "added": "#2e7d32", "removed": WEAK}


def score_html(score: Score) -> str:
    """Return a scored text, sentence by sentence, with a coloured bar for each transition."""
    sentences = score.document.sentences if score.document is not None else ()
    shares, scale = link_shares(score)
    rows = []
    for number, sentence in enumerate(sentences):
        rows.append(_sentence(number + 1, sentence))
        if number < len(shares):
            rows.append(_link(score.transitions[number], shares[number], score.mark if number in score.breaks else ""))
    notes = [score.meaning, *score.warnings, scale, found_none(score)]
    name = score.document.id if score.document is not None else ""
    return _block(f"{_strong(name)} coherence {_strong(shown(score.value))}", notes, rows)


def link_shares(score: Score) -> tuple[list[float], str]:
    """Return the length of each link's bar, from 0 to 1, and what the bars are measured against.

    The scale is the same for all texts, so that bars of different texts can be compared: percentiles for a calibrated
    model, a fixed range of values for any other.
    """
    if score.link_percentiles:
        return [
            share / 100 for share in score.link_percentiles
        ], f"bars: percentile of {score.link_reference or score.reference}"
    low, high = score.bar_range
    shares = [min(1.0, max(0.0, (value - low) / (high - low))) for value in score.transitions]
    return shares, f"bars: from {low:g} to {high:g}" if shares else ""


def found_none(score: Score) -> str:
    """Return that no gap is marked, if gaps were looked at; a model that has no threshold yet marks none.

    Example:
        >>> from weft.document import Score
        >>> found_none(Score(0.1, (0.1,))), found_none(Score(0.1, (0.1,), break_probabilities=(0.2,)))
        ('no weak link found', '')
    """
    looked = score.break_threshold is not None or not score.break_probabilities
    return f"no {score.mark} found" if score.transitions and looked and not score.breaks else ""


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
        mark = f"{MARKS[sentence.kind]} {sentence.kind}".strip()
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


def _link(value: float, share: float, mark: str) -> str:
    hue = round(RED + (GREEN - RED) * share)
    bar = (
        f'<span style="display:inline-block;vertical-align:middle;height:.6em;width:{max(0.4, 16 * share):.1f}em;'
        f'background:hsl({hue},65%,45%)"></span>'
    )
    note = f' <span style="color:{WEAK}">← {mark}</span>' if mark else ""
    return f'<div style="margin-left:2.5em">{bar} {_dim(f"{value:.2f}")}{note}</div>'


def _sentence(mark: int | str, text: str, colour: str = "inherit") -> str:
    return f'<div style="color:{colour}">{_dim(str(mark))} {escape(text)}</div>'


def _strong(text: str) -> str:
    return f"<b>{escape(text)}</b>"


def _dim(text: str) -> str:
    return f'<span style="opacity:.6;display:inline-block;min-width:2em">{escape(text)}</span>'


def _block(head: str, notes: Sequence[str], rows: Sequence[str]) -> str:
    lines = "".join(f'<div style="opacity:.7">{escape(note)}</div>' for note in notes if note)
    return f'<div style="max-width:60em;line-height:1.5"><div>{head}</div>{lines}{"".join(rows)}</div>'
