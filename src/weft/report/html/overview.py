"""All texts of a report: their ranking, the distribution of their scores, and a summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import median

from weft.document import Score, whole_percent
from weft.markup.scored_text import number_text, shown_text
from weft.report.terminal import ScoreSummary, column_notes, score_columns

BINS = 10
WIDTH, HEIGHT, EDGE = 640, 170, 30  # of the picture of a distribution


def overview_html(scores: Sequence[Score]) -> str:
    """Return the ranking and the distribution of several texts; empty for a single one."""
    if len(scores) < 2:
        return ""
    return (
        f'<section aria-labelledby="all"><h2 id="all">All texts</h2>{_distribution(scores)}{_ranking(scores)}</section>'
    )


def summary_words(scores: Sequence[Score]) -> str:
    """Return the number of texts, the mean and the median of their scores, and how many have warnings."""
    summary = ScoreSummary()
    for score in scores:
        summary.add(score)
    return f"{summary.line().plain}."


_SORTED = ' aria-sort="descending"'

# -- Ranking -----------------------------------------------------------------------------------------------------------


def _ranking(scores: Sequence[Score]) -> str:
    columns = score_columns(scores)
    ranked = sorted(enumerate(scores, start=1), key=lambda pair: (pair[1].value is None, -(pair[1].value or 0.0)))
    names = ["rank", "text", *(name.strip() for name, _, _ in columns), "warnings"]
    head = "".join(
        f'<th scope="col"{_SORTED if name == "score" else ""}><button type="button">{escape(name)}</button></th>'
        for name in names
    )
    rows = "".join(
        f"<tr><td>{rank if score.value is not None else '–'}</td>"
        f'<th scope="row"><a href="#text-{number}"><bdi>{shown_text(name_of(score))}</bdi></a></th>'
        f"{''.join(f'<td>{escape(cell(score))}</td>' for _, _, cell in columns)}<td>{_codes(score)}</td></tr>"
        for rank, (number, score) in enumerate(ranked, start=1)
    )
    notes = "".join(f"<p>{escape(note)}.</p>" for note in column_notes(scores))
    return (
        '<p class="hint">Select the name of a column to sort by it.</p>'
        '<div class="wide" tabindex="0" role="region" aria-label="Ranking of the texts"><table class="ranking">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{notes}"
    )


def name_of(score: Score) -> str:
    """Return the name of the text of a score."""
    return score.document.id if score.document is not None else ""


def _codes(score: Score) -> str:
    return escape(", ".join(dict.fromkeys(warning.code for warning in score.warnings)))


# -- Distribution ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Histogram:
    """Numbers of texts by value, in bins of equal width from ``low`` to ``high``."""

    what: str
    low: float
    high: float
    counts: tuple[int, ...]
    values: tuple[float, ...]

    def edge(self, number: int) -> str:
        """Return the lower edge of a bin in words."""
        return self.text(self.low + (self.high - self.low) * number / len(self.counts))

    def text(self, value: float) -> str:
        """Return a value with as many digits as tell two bins apart."""
        width = (self.high - self.low) / len(self.counts)
        return number_text(value, 0 if self.what == "percentile" else min(9, max(2, math.ceil(-math.log10(width)))))


def histogram(scores: Sequence[Score]) -> Histogram | None:
    """Return the distribution of percentiles, or of scores for a model without percentiles; None for fewer than two.

    Example:
        >>> histogram([Score(0.0), Score(1.0), Score(0.95)]).counts
        (1, 0, 0, 0, 0, 0, 0, 0, 0, 2)
    """
    places = [score.percentile for score in scores if score.percentile is not None]
    values = places or [score.value for score in scores if score.value is not None]
    if len(values) < 2:
        return None
    low, high = (0.0, 100.0) if places else (min(values), max(values))
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int(BINS * (value - low) / (high - low)))] += 1
    return Histogram("percentile" if places else "score", low, high, tuple(counts), tuple(values))


def _distribution(scores: Sequence[Score]) -> str:
    found = histogram(scores)
    if found is None:
        return ""
    most, step = max(found.counts), (WIDTH - 2 * EDGE) / BINS
    bars, labels = [], []
    for number, count in enumerate(found.counts):
        height, x = (HEIGHT - 70) * count / most, EDGE + number * step
        bars.append(
            f'<rect x="{x + 2:.1f}" y="{HEIGHT - 40 - height:.1f}" width="{step - 4:.1f}" height="{height:.1f}"/>'
        )
        if count:
            labels.append(f'<text x="{x + step / 2:.1f}" y="{HEIGHT - 45 - height:.1f}">{count}</text>')
    ticks = "".join(
        f'<text class="{"odd" if number % 2 else "even"}" x="{EDGE + number * step:.1f}" y="{HEIGHT - 8}">'
        f"{found.edge(number)}</text>"
        for number in range(BINS + 1)
    )
    places = (EDGE + (WIDTH - 2 * EDGE) * (value - found.low) / (found.high - found.low) for value in found.values)
    marks = "".join(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT - 38}" y2="{HEIGHT - 26}"/>' for x in places)
    return (
        f'<figure><svg class="histogram" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(_bins(found))}">'
        f"{''.join(bars)}{marks}{''.join(labels)}{ticks}</svg>"
        f"<figcaption>Number of texts by {found.what}; each line below the bars is a text. "
        f"{_extremes(found)}</figcaption></figure>"
    )


def _bins(found: Histogram) -> str:
    parts = [f"{found.edge(n)} to {found.edge(n + 1)}: {count}" for n, count in enumerate(found.counts) if count]
    return f"Number of texts by {found.what}. {'; '.join(parts)}."


def _extremes(found: Histogram) -> str:
    values = (min(found.values), median(found.values), max(found.values))
    words = [str(whole_percent(value)) if found.what == "percentile" else found.text(value) for value in values]
    return f"Lowest {words[0]}, median {words[1]}, highest {words[2]}."
