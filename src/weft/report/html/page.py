"""The HTML page of a report: one file without scripts, styles or pictures from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path

from weft.document import Score
from weft.markup.link_scale import COLOURS, DARK_BACKGROUND, LIGHT_BACKGROUND, chance_percent, link_shares
from weft.markup.scored_text import shown_text, text_style
from weft.progress import Progress, silent
from weft.protocols import CoherenceModel
from weft.report.html.overview import overview_html, summary_words
from weft.report.html.text_section import section_html
from weft.report.terminal import counted
from weft.version import VERSION

FOLDER = Path(__file__).parent
CAUTION = (
    "A score says how well the sentences fit together, as this model estimates it. It does not say how good a text is. "
    "A marked link is not always a fault: read the two sentences and decide. Do not use a score to grade or diagnose "
    "people."
)

FLUENCY = (
    "how easy the words of the sentences are to predict, whatever the order of the sentences; closer to 0 is easier. "
    "Plain words and a common subject raise it"
)


def report_page(
    scores: Sequence[Score],
    model: CoherenceModel,
    *,
    name: str,
    title: str = "",
    details: bool = True,
    progress: Progress = silent,
) -> Iterator[str]:
    """Yield the HTML of a report in parts.

    Args:
        scores: The scored texts, in the order of the report.
        model: The model that scored them.
        name: Its name.
        title: Title of the report.
        details: Whether to show matrices, reasons, topics and latent paths, which take most of the time.
        progress: Receives the number of texts that are done.
    """
    heading = title or "Coherence report"
    yield _head(heading)
    yield f"<header><h1>{shown_text(heading)}</h1>{_about(scores, name)}{_contents(scores)}</header>"
    yield f"<main{_class(scores)}>"
    yield overview_html(scores)
    yield _legend(scores)
    for number, score in enumerate(scores, start=1):
        yield section_html(score, number, model if details else None, unfolded=len(scores) == 1)
        progress("report", number, len(scores))
    yield _meaning(model, scores, name)
    yield f"</main><script>{_script()}</script></body></html>\n"


def _class(scores: Sequence[Score]) -> str:
    """Return the class of the page; a single text is printed on the first page."""
    return ' class="single"' if len(scores) == 1 else ""


def _head(title: str) -> str:
    style = text_style() + _style()
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(_script())}'; base-uri 'none'"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="weft {VERSION}"><title>{shown_text(title)}</title>'
        f"<style>{style}</style></head><body>"
    )


def _digest(text: str) -> str:
    """Return the hash by which a content security policy allows an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _style() -> str:
    page = f":root{{--page:{LIGHT_BACKGROUND}}}@media (prefers-color-scheme:dark){{:root{{--page:{DARK_BACKGROUND}}}}}"
    return page + (FOLDER / "report.css").read_text(encoding="utf-8")


@cache
def _script() -> str:
    return (FOLDER / "report.js").read_text(encoding="utf-8")


def _about(scores: Sequence[Score], name: str) -> str:
    summary = summary_words(scores) if len(scores) > 1 else f"{counted(len(scores), 'text')}."
    return f"<p>{escape(summary)} Scored by <b>{shown_text(name)}</b>, weft {VERSION}.</p>"


def _contents(scores: Sequence[Score]) -> str:
    parts = [("all", "All texts")] if len(scores) > 1 else []
    parts += [("text-1", "The texts" if len(scores) > 1 else "The text")] if scores else []
    links = "".join(
        f'<li><a href="#{place}">{words}</a></li>' for place, words in [*parts, ("meaning", "What the score means")]
    )
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _legend(scores: Sequence[Score]) -> str:
    scale = next((words for score in scores if (words := link_shares(score)[1])), "")
    if not scale:
        return ""
    bars = "".join(f'<i class="weft-bar weft-c{step} weft-w{4 * step}"></i>' for step in range(1, len(COLOURS) + 1))
    return (
        f'<p class="legend">Links between neighbouring sentences: <b>weak {bars} strong</b> '
        f"({escape(scale)}; the same scale for all texts). "
        '<span class="hint">Point at a link or select it with Tab to see its score.</span></p>'
    )


def _meaning(model: CoherenceModel, scores: Sequence[Score], name: str) -> str:
    card = model.card
    estimators = sorted({score.estimator for score in scores if score.value is not None and score.estimator != "exact"})
    facts = {
        "Model": f"{name}: {card.summary}",
        "A high score": card.meaning,
        "Range": card.score_range,
        "Comparable": card.comparable,
        "Fluency": FLUENCY if any(score.fluency is not None for score in scores) else "",
        "Estimate": ", ".join(estimators),
        "Marked links": _marks(scores),
        "Reference": card.reference,
    }
    rows = "".join(f"<dt>{key}</dt><dd>{shown_text(value)}</dd>" for key, value in facts.items() if value)
    return (
        '<section class="meaning" aria-labelledby="meaning"><h2 id="meaning">What the score means</h2>'
        f"<dl>{rows}</dl><p>{CAUTION}</p></section>"
    )


def _marks(scores: Sequence[Score]) -> str:
    """Return by which rule links are marked."""
    threshold = next((score.break_threshold for score in scores if score.break_threshold is not None), None)
    if threshold is not None:
        return f"breaks: the probability of a break is above {chance_percent(threshold)}"
    if any(score.break_probabilities for score in scores):
        return "none: the model has no threshold; run weft calibrate"
    if any(score.transitions for score in scores):
        return "weak links: the lowest link of a text, and those more than a standard deviation below the text's mean"
    return ""
