"""One text of a report: its warnings, score and marked links, the text itself, and what else the model shows of it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from weft.corpora.text.text_limits import readable
from weft.document import Score
from weft.markup.link_scale import colour_step, found_none, likeliest_break, link_shares
from weft.markup.scored_text import link_words, number_text, shown_text, text_html
from weft.ordering.break_reasons import break_reasons
from weft.protocols import CoherenceModel, TabledModel
from weft.report.html.latent_html import latent_html
from weft.report.html.overview import name_of
from weft.report.html.pair_matrix import PairMatrix, matrix_html, read_matrix
from weft.report.terminal import counted


def section_html(score: Score, number: int, model: CoherenceModel | None, *, unfolded: bool) -> str:
    """Return the section of a text.

    Args:
        score: Its score.
        number: Its number in the report, for links.
        model: The model, for the matrix, reasons, topics and latent path; None to omit them.
        unfolded: Whether the matrix is shown without a click.
    """
    matrix = None if model is None else read_matrix(model, score)
    reasons = {} if model is None or matrix is None else _reasons(model, score)
    name = shown_text(name_of(score))
    parts = [
        f'<article class="text" aria-labelledby="text-{number}"><h2 id="text-{number}"><bdi>{name}</bdi></h2>',
        _title(score),
        _warnings(score),
        _headline(score),
        text_html(score, reasons),
        _marked(score, reasons),
        "" if matrix is None else _matrix_details(model, matrix, unfolded=unfolded),
        "" if model is None or score.document is None else latent_html(model, score.document),
        "</article>",
    ]
    return "".join(parts)


def _reasons(model: CoherenceModel, score: Score) -> dict[int, str]:
    """Return a sentence for each marked gap for which a reason is found; models remember the tables of a text."""
    assert score.document is not None
    found = break_reasons(model, readable(score.document), score.breaks)
    words = {gap: str(reason) for gap, reason in found.items()}
    return {gap: f"{one[:1].upper()}{one[1:]}." for gap, one in words.items()}


def _title(score: Score) -> str:
    title = score.document.title if score.document is not None else ""
    return f'<p class="title"><bdi>{shown_text(title)}</bdi></p>' if title and title != name_of(score) else ""


def _warnings(score: Score) -> str:
    items = "".join(f"<li>{shown_text(warning)}</li>" for warning in dict.fromkeys(score.warnings))
    return f'<ul class="warnings" aria-label="Warnings">{items}</ul>' if items else ""


def _headline(score: Score) -> str:
    document = score.document
    size = counted(0 if document is None else len(document), "sentence")
    paragraphs = 1 if document is None else len(document.paragraph_starts)
    place = f"{size} in {paragraphs} paragraphs" if paragraphs > 1 else size
    value = (
        "<strong>No score</strong>" if score.value is None else f"<strong>{number_text(score.value)}</strong> coherence"
    )
    meaning = f"{escape(score.meaning[:1].upper() + score.meaning[1:])}. " if score.meaning else ""
    fluency = "" if score.value is None or score.fluency is None else f"Fluency {number_text(score.fluency)}. "
    return f'<p class="score">{value}. {meaning}{fluency}{place}.</p>'


def _marked(score: Score, reasons: Mapping[int, str]) -> str:
    if not score.breaks:
        none = [words.capitalize() for words in (found_none(score), likeliest_break(score)) if words]
        return f'<p class="none">{escape(". ".join(none))}.</p>' if none else ""
    shares, _ = link_shares(score)
    words = {gap: f"{link_words(score, gap)} {reasons.get(gap, '')}".strip() for gap in score.breaks}
    items = "".join(f'<li class="weft-c{colour_step(shares[gap])}">{escape(words[gap])}</li>' for gap in words)
    return f'<h3>{escape(score.mark.capitalize())}s</h3><ul class="marked">{items}</ul>'


def _matrix_details(model: CoherenceModel | None, matrix: PairMatrix, *, unfolded: bool) -> str:
    words = "The pairs of neighbouring sentences of the text are framed."
    if isinstance(model, TabledModel):
        words = f"{words} The links of these pairs also include the order of all sentences, so their values can differ."
    return (
        f"<details{' open' if unfolded else ''}><summary>Matrix of sentence pairs</summary>"
        "<p>How well the sentence of a column would follow the sentence of a row, on the scale of the links. "
        f"{words}</p>{matrix_html(matrix)}</details>"
    )
