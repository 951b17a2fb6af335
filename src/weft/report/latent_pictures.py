"""Draw the topics of the sentences of a text, or the path of a latent variable through it.

References: Gruber et al. 2007 (topics of sentences); Li & Jurafsky 2017, section 3.3 (z_n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from weft.document import Document
from weft.errors import ConfigError, CorpusError
from weft.models.topic.hmm_lda import HmmLda, Kind
from weft.report.figure_files import new_figure, picture_format, save_figure
from weft.report.terminal import printable, shorten

if TYPE_CHECKING:
    from weft.models.vlv.vlv_gm import VlvGm  # imports torch, which pictures of topics do not need

Reals = npt.NDArray[np.float64]
MOST_SENTENCES = 200  # more are not readable
MOST_TOPICS = 8
WORTH_SHOWING = 0.1  # topics with a smaller share in every sentence are summed as other topics
TOP_WORDS = 4
TEXT_WIDTH = 60  # characters shown of a sentence
LISTED = 40  # most sentences that are listed beside a path
ROW = 0.24  # inches per sentence


@dataclass(frozen=True)
class TopicStrip:
    """The main topics of a text."""

    sentences: tuple[str, ...]
    starts: tuple[int, ...]  # numbers of the sentences that begin a paragraph
    topics: tuple[int, ...]  # numbers of the topics, in the order of the sentences with their largest share
    labels: tuple[str, ...]
    shares: Reals  # [sentences, topics], probabilities of the topics
    others: Reals  # [sentences], summed probabilities of all other topics


@dataclass(frozen=True)
class LatentPath:
    """The path of the latent variable through a text."""

    sentences: tuple[str, ...]  # the sentences, shortened; the first is given and has no z
    means: Reals  # [sentences − 1, latent], the posterior means of z_2 … z_N
    points: Reals  # [sentences − 1, 2], the means in the plane of their first two principal components
    explained: tuple[float, float]  # share of the variance along each of the two components


def draw_latent(model: object, document: Document, out: str | Path, *, title: str = "") -> Path:
    """Draw the topics or the latent path of a text in an SVG, PNG or PDF file and return its path.

    Args:
        model: A trained `hmm-lda`, `hmm-lda-gm` or `vlv-gm`.
        document: The text.
        out: The file to write.
        title: Title of the picture; the name of the text by default.

    Raises:
        ConfigError: The model has neither topics nor latent variables, or the picture format is not known.
        CorpusError: The text is too short or too long, or matplotlib is not installed.
    """
    picture_format(out)
    heading = printable(title or document.id)
    if isinstance(model, HmmLda):
        return save_figure(topic_strip(model, document, title=heading), out, letters=True)
    from weft.models.topic.hmm_lda_gm import HmmLdaGm
    from weft.models.vlv.vlv_gm import VlvGm

    if isinstance(model, HmmLdaGm):
        return save_figure(topic_strip(model.topic_model, document, title=heading), out, letters=True)
    if not isinstance(model, VlvGm):
        raise ConfigError(
            "this model has neither topics nor latent variables to draw",
            seen=type(model).__name__,
            allowed="hmm-lda, hmm-lda-gm or vlv-gm, trained",
            next_step="choose such a model, for example --model hmm-lda",
        )
    return save_figure(latent_path(model, document, title=heading), out, letters=True)


def first_sentences(document: Document, count: int) -> Document:
    """Return the first sentences of a text with their paragraph boundaries.

    Example:
        >>> first_sentences(Document("d", ("A.", "B.", "C."), paragraph_starts=(0, 2)), 2).paragraph_starts
        (0,)
    """
    starts = tuple(start for start in document.paragraph_starts if start < count)
    return Document(document.id, document.sentences[:count], document.title, starts)


def _check_length(document: Document, fewest: int, what: str) -> None:
    if len(document) < fewest:
        raise CorpusError(
            f"the text is too short to draw {what}",
            seen=f"{len(document)} sentence{'' if len(document) == 1 else 's'}",
            allowed=f"{fewest} sentences or more",
            next_step="give a longer text",
        )
    if len(document) > MOST_SENTENCES:
        raise CorpusError(
            f"the text is too long to draw {what}",
            seen=f"{len(document)} sentences",
            allowed=f"up to {MOST_SENTENCES}",
            next_step=f"draw its beginning with --sentences {MOST_SENTENCES}",
        )


# -- topics --------------------------------------------------------------------------------------------------------


def read_topics(model: HmmLda, document: Document, *, kind: Kind = "filtered", most: int = MOST_TOPICS) -> TopicStrip:
    """Return the main topics of the sentences of a text.

    Args:
        model: The trained model.
        document: A text of two sentences or more; it is read as one chain, as for its score.
        kind: Which sentences the topics are inferred from, as in `HmmLda.topic_distributions`.
        most: Largest number of topics.

    Raises:
        CorpusError: The text is too short or too long.
    """
    _check_length(document, 2, "its topics")
    shares = model.topic_distributions(document.sentences, kind=kind)  # [sentences, topics]
    ranked = np.argsort(-shares.sum(axis=0), kind="stable")[:most]
    kept = [topic for topic in ranked if shares[:, topic].max() >= WORTH_SHOWING] or list(ranked[:1])
    chosen = sorted(kept, key=lambda topic: (int(shares[:, topic].argmax()), topic))
    labels = tuple(f"{', '.join(model.top_words(int(topic), TOP_WORDS))}  ({topic})" for topic in chosen)
    shown = np.asarray(shares[:, chosen], dtype=np.float64)
    others = np.maximum(1.0 - shown.sum(axis=1), 0.0)
    sentences = _shown(document.sentences)
    return TopicStrip(sentences, document.paragraph_starts, tuple(map(int, chosen)), labels, shown, others)


def topic_strip(model: HmmLda, document: Document, *, kind: Kind = "filtered", title: str = "") -> Any:
    """Return a matplotlib figure of the topics of a text: one row per sentence, one column per topic.

    Raises:
        CorpusError: The text is too short or too long, or matplotlib is not installed.
    """
    strip = read_topics(model, document, kind=kind)
    columns = np.column_stack([strip.shares, strip.others])  # [sentences, topics + 1]
    size, width = columns.shape
    figure = new_figure(5.5 + 0.6 * width, 2.2 + ROW * size)
    axes = figure.add_subplot()
    edges = np.arange(width + 1) - 0.5, np.arange(size + 1) - 0.5
    axes.pcolormesh(*edges, columns, cmap="Blues", vmin=0.0, vmax=1.0, edgecolors="white", linewidth=1)
    for row, column in zip(*np.nonzero(columns >= WORTH_SHOWING), strict=True):
        share = columns[row, column]
        colour = "white" if share > 0.5 else "black"
        axes.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=7, color=colour)
    for start in strip.starts[1:]:
        axes.axhline(start - 0.5, color="grey", linewidth=1, linestyle="dotted")
    axes.invert_yaxis()
    numbered = [f"{sentence}  {number}" for number, sentence in enumerate(strip.sentences, start=1)]
    axes.set_yticks(range(size), numbered, fontsize=8, parse_math=False)
    axes.xaxis.tick_top()
    axes.set_xticks(
        range(width), [*strip.labels, "other topics"], fontsize=8, rotation=35, ha="left", rotation_mode="anchor",
        parse_math=False,
    )  # fmt: skip
    axes.tick_params(length=0)
    axes.set_frame_on(False)
    figure.suptitle(title, parse_math=False)
    return figure


# -- latent variables ----------------------------------------------------------------------------------------------


def read_path(model: VlvGm, document: Document) -> LatentPath:
    """Return the path of z through a text.

    Args:
        model: The trained model.
        document: A text of three sentences or more, since the first has no z.

    Raises:
        CorpusError: The text is too short or too long.
        ModelError: The model is not trained.
    """
    from weft.models.common.setting_checks import untrained

    _check_length(document, 3, "a path of its latent variables")
    if "forward" not in model.predictors:
        raise untrained(model.name)
    means = model.predictors["forward"].latent_means(document.sentences)  # [sentences − 1, latent]
    points, explained = project(means)
    return LatentPath(_shown(document.sentences), means, points, explained)


def project(values: Reals) -> tuple[Reals, tuple[float, float]]:
    """Return the first two principal components (Pearson 1901), [rows, 2], and their shares of the variance.

    The sign of a component is arbitrary. Its largest entry is made positive so that pictures agree between machines.

    Example:
        >>> points, explained = project(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]))
        >>> points[:, 0].round(6).tolist(), explained
        ([-5.0, 0.0, 5.0], (1.0, 0.0))
    """
    centred = values - values.mean(axis=0)
    _, spread, directions = np.linalg.svd(centred, full_matrices=False)  # [k], [k, size]
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
    found = np.zeros((len(values), 2))
    plane = directions[:2]
    found[:, : len(plane)] = centred @ plane.T
    total = float((spread**2).sum())
    shares = [float(part) ** 2 / total if total > 0 else 0.0 for part in spread[:2]]
    first, second = (round(share, 12) for share in (*shares, 0.0, 0.0)[:2])
    return found, (first, second)


def latent_path(model: VlvGm, document: Document, *, title: str = "") -> Any:
    """Return a matplotlib figure of the path of z_n: one numbered point per sentence, with an arrow to the next.

    Raises:
        CorpusError: The text is too short or too long, or matplotlib is not installed.
    """
    path = read_path(model, document)
    listed = path.sentences if len(path.sentences) <= LISTED else ()
    height = max(5.0, 1.0 + ROW * len(listed))
    figure = new_figure(11.0 if listed else 6.5, height)
    _draw_path(figure.add_subplot(1, 2 if listed else 1, 1), path)
    if listed:
        _list_sentences(figure.add_subplot(1, 2, 2), listed, height)
    figure.suptitle(title, parse_math=False)
    return figure


def _draw_path(axes: Any, path: LatentPath) -> None:
    for here, there in pairwise(path.points):
        way = {"arrowstyle": "-|>", "color": "grey", "linewidth": 0.8, "shrinkA": 6, "shrinkB": 6}
        axes.annotate("", xy=there, xytext=here, arrowprops=way)
    axes.scatter(*path.points.T, c=np.arange(len(path.points)), cmap="viridis", s=36, zorder=3)
    axes.scatter(*path.points[0], s=140, facecolors="none", edgecolors="crimson", linewidths=1.5, zorder=4)
    for number, point in enumerate(path.points, start=2):
        start = " (start)" if number == 2 else ""
        axes.annotate(f"{number}{start}", point, xytext=(6, 5), textcoords="offset points", fontsize=8)
    axes.margins(0.12)
    axes.set_aspect("equal", adjustable="datalim")  # equal distances look equal in all directions
    for axis, label, share in zip((axes.xaxis, axes.yaxis), ("first", "second"), path.explained, strict=True):
        axis.set_label_text(f"{label} direction of z ({share:.0%} of the variance)", fontsize=8)
    axes.tick_params(labelsize=7)


def _list_sentences(axes: Any, sentences: Sequence[str], height: float) -> None:
    """List the sentences beside their path."""
    axes.set_axis_off()
    axes.set_ylim(-(height - 1.0) / ROW, 0)
    axes.set_xlim(0, 1)
    for number, sentence in enumerate(sentences, start=1):
        note = "" if number > 1 else "  (given: no z)"
        axes.text(0.04, 0.5 - number, str(number), fontsize=8, ha="right", va="center")
        axes.text(0.06, 0.5 - number, f"{sentence}{note}", fontsize=8, va="center", parse_math=False)


def _shown(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(shorten(sentence, TEXT_WIDTH) for sentence in sentences)
