"""Draws the plots of docs/results.md: the same results give the same files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from weft.report.figures import new_figure, save_figure
from weft.report.plot_data import Plot, Point, Series

WIDTH, HEIGHT = 7.5, 4.2  # inches
# Okabe & Ito (2008): told apart by colour-blind readers too; the marks tell the same on paper.
# The last three are for plots with more than eight models.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C",
    "#7F3C8D", "#8A8D00", "#6B4C2A",
)  # fmt: skip
# Models that have the same colour and mark in every plot they are in.
KNOWN = (
    "vlv-gm", "seq2seq", "hmm-lda-gm", "discriminative-pair", "weft-small", "foltz-embedding", "entity-grid",
    "discriminative",
)  # fmt: skip
FEW_PLACES = 6  # that can be named side by side
MARKS = "osD^vPX"  # as many as have no divisor with the colours, so that no two of the first 77 look alike


def draw_plots(plots: Sequence[Plot], folder: str | Path) -> list[Path]:
    """Write every plot as an SVG file, and say where.

    Raises:
        CorpusError: matplotlib is not installed, or the folder cannot be written.
    """
    return [save_figure(draw_plot(plot), Path(folder) / f"{plot.name}.svg", letters=True) for plot in plots]


def draw_plot(plot: Plot) -> Any:
    """A plot as a matplotlib figure."""
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.add_subplot()
    for number, (series, style) in enumerate(zip(plot.series, styles(plot.series), strict=True)):
        _draw_series(axes, series, style, shift=0.0 if plot.logarithmic else (number - len(plot.series) / 2) * 0.03)
    if plot.logarithmic:
        axes.set_xscale("log")
        _mark_points(axes, plot)
    if plot.ticks:
        axes.set_xticks(range(len(plot.ticks)), plot.ticks)
    if plot.chance is not None:
        axes.axhline(plot.chance, color="#BBBBBB", linewidth=1, linestyle="--", zorder=0)
    axes.set(title=plot.title, xlabel=plot.x_label, ylabel=plot.y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def styles(lines: Sequence[Series]) -> list[dict[str, str]]:
    """A colour and a mark for every line: a known model's own, else the next that is free."""
    taken: list[int] = []
    for line in lines:
        model = line.label.split(" (")[0]
        first = KNOWN.index(model) if model in KNOWN else len(KNOWN)
        taken.append(next(slot for slot in count(first) if slot not in taken))
    return [{"color": COLOURS[slot % len(COLOURS)], "marker": MARKS[slot % len(MARKS)]} for slot in taken]


def _mark_points(axes: Any, plot: Plot) -> None:
    """Name the places of the points themselves where all lines share a few: powers of ten would fall beside them."""
    places = {tuple(point.x for point in series.points) for series in plot.series}
    if len(places) == 1 and 1 < len(shared := places.pop()) <= FEW_PLACES:
        axes.set_xticks(shared, [f"{x / 1e6:.1f} M" if x >= 1e5 else f"{x:,.0f}" for x in shared])
        axes.minorticks_off()


def _draw_series(axes: Any, series: Series, style: dict[str, str], *, shift: float) -> None:
    """A line with intervals; lines are moved a little to the side, so that bars do not hide each other."""
    across = [point.x + shift for point in series.points]
    up = [point.y for point in series.points]
    bars = [_reach(point) for point in series.points]
    axes.errorbar(
        across, up, yerr=list(zip(*bars, strict=True)), label=series.label, markersize=4, linewidth=1.2,
        elinewidth=0.8, alpha=0.85, **style,
    )  # fmt: skip


def _reach(point: Point) -> tuple[float, float]:
    """How far the interval goes below and above; never less than nothing, whatever rounding says."""
    low, high = point.interval or (point.y, point.y)
    return max(point.y - low, 0.0), max(high - point.y, 0.0)
