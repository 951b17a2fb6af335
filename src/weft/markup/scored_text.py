"""A scored text as HTML: its paragraphs, with a coloured link between neighbouring sentences.

There are no style attributes and no scripts, so that the HTML also works under a strict content security policy.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from weft.markup.link_scale import COLOURS, WIDTHS, chance_percent, colour_step, link_shares, width_step

if TYPE_CHECKING:
    from weft.document import Score

STYLE_FILE = Path(__file__).with_name("scored_text.css")
REPLACED = {"Cc", "Cs"}  # categories of characters that cannot stand in HTML: controls and surrogates


@cache
def text_style() -> str:
    """Return the stylesheet of `text_html`."""
    colours = "".join(f".weft-c{step}{{--weft-link:{colour}}}" for step, colour in enumerate(COLOURS, start=1))
    widths = "".join(f".weft-w{step}::before{{width:{100 * step / WIDTHS:g}%}}" for step in range(1, WIDTHS + 1))
    return f"{STYLE_FILE.read_text(encoding='utf-8')}{colours}{widths}"


def text_html(score: Score, reasons: Mapping[int, str] | None = None) -> str:
    """Return a scored text as paragraphs of numbered sentences, with a link after each but the last.

    Each link has a note, shown on hover and on focus: its value, what it is marked as, and the reason if there is one.

    Args:
        score: The score; one without a document gives an empty text.
        reasons: What else is known about a gap, by its number.

    Example:
        >>> from weft.document import Document, Score
        >>> page = text_html(Score(0.1, (0.1,), document=Document("d", ("A <b>.", "B."))))
        >>> "A &lt;b&gt;." in page, page.count('role="img"')
        (True, 1)
    """
    if score.document is None:
        return ""
    links = _links(score, reasons or {})
    starts = score.document.paragraph_starts
    ends = (*starts[1:], len(score.document))
    paragraphs = [_paragraph(score, links, start, end) for start, end in zip(starts, ends, strict=True)]
    return f'<div class="weft-text">{"".join(paragraphs)}</div>'


def _paragraph(score: Score, links: Sequence[str], start: int, end: int) -> str:
    assert score.document is not None
    sentences = score.document.sentences[start:end]
    parts = []
    for number, sentence in enumerate(sentences, start=start):
        link = f" {links[number]}" if number < len(links) else ""
        parts.append(f'<span class="weft-s"><sup>{number + 1}</sup><bdi>{shown_text(sentence)}</bdi></span>{link}')
    return f"<p{_direction(sentences)}>{' '.join(parts)}</p>"


def _direction(sentences: Sequence[str]) -> str:
    """Return the attribute of a paragraph that is read from right to left, as its first letter shows."""
    for character in (one for sentence in sentences for one in sentence):
        if (kind := unicodedata.bidirectional(character)) in ("L", "R", "AL"):
            return "" if kind == "L" else ' dir="rtl"'
    return ""


def _links(score: Score, reasons: Mapping[int, str]) -> list[str]:
    shares, _ = link_shares(score)
    return [_link(score, gap, share, reasons.get(gap, "")) for gap, share in enumerate(shares)]


def _link(score: Score, gap: int, share: float, reason: str) -> str:
    note = f"{link_words(score, gap)} {reason}".strip()
    mark = f'<b class="weft-mark">{escape(mark_words(score, gap))}</b>' if gap in score.breaks else ""
    classes = f"weft-link weft-c{colour_step(share)}{' weft-marked' if mark else ''}"
    return (
        f'<span class="{classes}" tabindex="0" role="img" aria-label="{escape(note)}">'
        f'<i class="weft-bar weft-w{width_step(share)}"></i>{mark}'
        f'<span class="weft-note" dir="ltr">{escape(note)}</span></span>'
    )


def mark_words(score: Score, gap: int) -> str:
    """Return what a marked gap is called, with its probability if the model has one.

    Example:
        >>> from weft.document import Score
        >>> mark_words(Score(0.1, (0.1,), breaks=(0,), break_probabilities=(0.724,)), 0)
        'break 72%'
    """
    if not score.break_probabilities:
        return score.mark
    return f"{score.mark} {chance_percent(score.break_probabilities[gap])}"


def link_words(score: Score, gap: int) -> str:
    """Return a link in words.

    Example:
        >>> from weft.document import Score
        >>> link_words(Score(0.1, (0.9, 0.1), breaks=(1,)), 1)
        'Sentences 2 and 3: 0.10, marked as a weak link.'
        >>> link_words(Score(0.1, (0.9,), link_percentiles=(71.5,)), 0)
        'Sentences 1 and 2: 0.90, higher than 71% of reference texts.'
    """
    parts = [number_text(score.transitions[gap])]
    if score.link_percentiles:
        parts.append(_place_words(score.link_percentiles[gap]))
    if score.break_probabilities:
        parts.append(f"probability of a break {chance_percent(score.break_probabilities[gap])}")
    if gap in score.breaks:
        parts.append(f"marked as a {score.mark}")
    return f"Sentences {gap + 1} and {gap + 2}: {', '.join(parts)}."


def _place_words(percentile: float) -> str:
    from weft.document import whole_percent

    share = whole_percent(percentile)
    return f"higher than {share}% of reference texts" if share else "lower than nearly all reference texts"


def number_text(value: float, digits: int = 2) -> str:
    """Return a number with a proper minus sign, and without one if it is rounded to zero.

    Example:
        >>> number_text(-1.5), number_text(-0.001)
        ('−1.50', '0.00')
    """
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def shown_text(text: str) -> str:
    r"""Return a text as it stands in HTML: escaped, with a sign in the place of characters that HTML cannot hold.

    Example:
        >>> shown_text("<b> & \x00")
        '&lt;b&gt; &amp; �'
    """
    return escape("".join(" " if one in "\t\n\r" else _character(one) for one in text))


def _character(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) not in REPLACED:
        return character
    return "�"
