"""Draw the plots of docs/results.md as SVG files; the same results give the same files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from weft.report.figure_files import new_figure, save_figure
from weft.report.plot_data import Plot, Point, Series

WIDTH, HEIGHT = 7.5, 4.2  # inches
# Okabe & Ito (2008): colours that colour-blind readers can distinguish; marks repeat the distinction in print.
# The last three are for plots with more than eight models.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C",
    "#7F3C8D", "#8A8D00", "#6B4C2A",
)  # fmt: skip
# Models that keep their colour and mark in every plot.
KNOWN = (
    "vlv-gm", "seq2seq", "hmm-lda-gm", "discriminative-pair", "weft-small", "foltz-embedding", "entity-grid",
    "discriminative",
)  # fmt: skip
FEW_PLACES = 6  # tick labels that fit side by side
MARKS = "osD^vPX"  # 7 marks and 11 colours have no common divisor, so the first 77 styles differ


def draw_plots(plots: Sequence[Plot], folder: str | Path) -> list[Path]:
    """Write every plot as an SVG file and return the paths.

    Raises:
        CorpusError: matplotlib is not installed, or the folder cannot be written.
    """
    return [save_figure(draw_plot(plot), Path(folder) / f"{plot.name}.svg", letters=True) for plot in plots]


def draw_plot(plot: Plot) -> Any:
    """Return a plot as a matplotlib figure."""
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
    """Return a colour and a mark for every line: that of a known model, else the next free one."""
    taken: list[int] = []
    for line in lines:
        model = line.label.split(" (")[0]
        first = KNOWN.index(model) if model in KNOWN else len(KNOWN)
        taken.append(next(slot for slot in count(first) if slot not in taken))
    return [{"color": COLOURS[slot % len(COLOURS)], "marker": MARKS[slot % len(MARKS)]} for slot in taken]


def _mark_points(axes: Any, plot: Plot) -> None:
    """Put the ticks at the points if all lines have the same few; powers of ten would be elsewhere."""
    places = {tuple(point.x for point in series.points) for series in plot.series}
    if len(places) == 1 and 1 < len(shared := places.pop()) <= FEW_PLACES:
        axes.set_xticks(shared, [f"{x / 1e6:.1f} M" if x >= 1e5 else f"{x:,.0f}" for x in shared])
        axes.minorticks_off()


def _draw_series(axes: Any, series: Series, style: dict[str, str], *, shift: float) -> None:
    """Draw a line with intervals, shifted a little so that its bars do not hide those of others."""
    across = [point.x + shift for point in series.points]
    up = [point.y for point in series.points]
    bars = [_reach(point) for point in series.points]
    axes.errorbar(
        across, up, yerr=list(zip(*bars, strict=True)), label=series.label, markersize=4, linewidth=1.2,
        elinewidth=0.8, alpha=0.85, **style,
    )  # fmt: skip


def _reach(point: Point) -> tuple[float, float]:
    """Return the lengths of the interval below and above a point; rounding never makes them negative."""
    low, high = point.interval or (point.y, point.y)
    return max(point.y - low, 0.0), max(high - point.y, 0.0)
