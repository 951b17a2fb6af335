"""The topics or the path of the latent variables of a text as HTML, for models that have them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from weft.document import Document
from weft.errors import CorpusError
from weft.markup.scored_text import shown_text
from weft.protocols import CoherenceModel
from weft.report.latent_pictures import (
    MOST_SENTENCES,
    LatentPath,
    TopicStrip,
    first_sentences,
    read_path,
    read_topics,
)

LATENT_MODELS = ("hmm-lda", "hmm-lda-gm", "vlv-gm")
SIZE, MARGIN = 460, 40  # of the picture of a path
SHADES = 5


def latent_html(model: CoherenceModel, document: Document) -> str:
    """Return the topics or the latent path of a text under a heading of its own; empty for other models."""
    if model.settings.model_name not in LATENT_MODELS:
        return ""
    try:
        found = read_latent(model, first_sentences(document, MOST_SENTENCES))
    except CorpusError:  # too short
        return ""
    return _topics_html(found) if isinstance(found, TopicStrip) else _path_html(found)


def read_latent(model: CoherenceModel, document: Document) -> TopicStrip | LatentPath:
    """Return the topics of an `hmm-lda` or `hmm-lda-gm`, or the latent path of a `vlv-gm`.

    Raises:
        CorpusError: The text is too short or too long.
    """
    from weft.models.topic.hmm_lda import HmmLda

    if isinstance(model, HmmLda):
        return read_topics(model, document)
    from weft.models.topic.hmm_lda_gm import HmmLdaGm  # imports torch
    from weft.models.vlv.vlv_gm import VlvGm

    if isinstance(model, HmmLdaGm):
        return read_topics(model.topic_model, document)
    assert isinstance(model, VlvGm)
    return read_path(model, document)


def _topics_html(strip: TopicStrip) -> str:
    labels = [*strip.labels, "other topics"]
    head = "".join(f'<th scope="col">{shown_text(label)}</th>' for label in labels)
    shares = [[*row, other] for row, other in zip(strip.shares.tolist(), strip.others.tolist(), strict=True)]
    rows = "".join(
        f'<tr><th scope="row">{number} <bdi>{shown_text(sentence)}</bdi></th>{_shade_cells(row)}</tr>'
        for number, (sentence, row) in enumerate(zip(strip.sentences, shares, strict=True), start=1)
    )
    return (
        '<details open class="latent"><summary>Topics</summary>'
        "<p>Probability of the main topics of each sentence, given the sentences up to it. A topic is named by its "
        "most probable words.</p>"
        '<div class="wide" tabindex="0" role="group" aria-label="Topics of the sentences"><table class="topics">'
        f'<thead><tr><th scope="col">sentence</th>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'
    )


def _shade_cells(shares: Sequence[float]) -> str:
    return "".join(f'<td class="q{min(SHADES, int(share * SHADES) + 1)}">{share:.0%}</td>' for share in shares)


def _path_html(path: LatentPath) -> str:
    points, height = _placed(path)
    lines = "".join(
        f'<line x1="{here[0]:.0f}" y1="{here[1]:.0f}" x2="{there[0]:.0f}" y2="{there[1]:.0f}"/>'
        for here, there in pairwise(points)
    )
    dots = "".join(
        f'<g><title>{number} {shown_text(path.sentences[number - 1])}</title><circle cx="{x:.0f}" cy="{y:.0f}" r="11"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{number}</text></g>'
        for number, (x, y) in enumerate(points, start=2)
    )
    first, second = (f"{share:.0%}" for share in path.explained)
    words = (
        f"Path of the latent variable from sentence 2 to sentence {len(path.sentences)}. The horizontal axis is "
        f"its first principal component ({first} of the variance), the vertical axis its second ({second}). The first "
        "sentence is given and has no latent variable."
    )
    return (
        f'<details open class="latent"><summary>Latent path</summary><p>{escape(words)}</p>'
        f'<svg class="path" viewBox="0 0 {SIZE} {height:.0f}" role="img" aria-label="{escape(words)}">'
        f"{lines}{dots}</svg></details>"
    )


def _placed(path: LatentPath) -> tuple[list[tuple[float, float]], float]:
    """Return the points of a path in the picture, and its height; equal distances look equal in all directions."""
    low, high = path.points.min(axis=0), path.points.max(axis=0)
    scale = (SIZE - 2 * MARGIN) / max(float((high - low).max()), 1e-9)
    left, top = (SIZE - scale * float(high[0] - low[0])) / 2, MARGIN
    points = [(left + scale * float(x - low[0]), top + scale * float(high[1] - y)) for x, y in path.points]
    return points, scale * float(high[1] - low[1]) + 2 * MARGIN
