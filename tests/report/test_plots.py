from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.published_results import published_results

from weft.evaluation.result import Key, Result
from weft.report.model_facts import ModelFacts, load_facts
from weft.report.plot_data import LINES, Plot, Point, Series, chosen, make_plots
from weft.report.plots import KNOWN, styles

ROOT = Path(__file__).parents[2]


def result(task: str, model: str, variant: str = "", value: float = 0.8, **changes: Any) -> Result:
    """Six documents of 16 or 20 sentences; the longer ones are all right."""
    parts = {"numerators": [value * 10] * 3 + [10.0] * 3, "denominators": [10.0] * 6}
    metrics = dict.fromkeys(("accuracy", "tau", "neighbours", "swaps_1", "swaps_8"), (value + 1) / 2)
    made = Result(
        task, model, variant, metrics, {"accuracy": [0.7, 0.9]}, 6, 60, 0, 0, 1, "exact", "d", "h", "n", "",
        documents=list("abcdef"), per_document={"accuracy": parts, "tau": parts},
    )  # fmt: skip
    return replace(made, **changes)


def by_key(*results: Result) -> dict[Key, Result]:
    return {(one.task, one.model, one.variant): one for one in results}


LENGTHS: dict[str, Any] = {"lengths": [16, 16, 16, 20, 20, 20]}


def plot_of(plots: list[Plot], name: str) -> Plot:
    return next(plot for plot in plots if plot.name == name)


def test_nothing_is_drawn_of_nothing() -> None:
    plots, missing = make_plots({})
    assert plots == []
    assert set(missing) == {
        "accuracy-by-length", "accuracy-by-swaps", "tau-by-length", "learning-curve", "accuracy-by-parameters",
    }  # fmt: skip


def test_lengths_come_from_any_result_on_the_same_data() -> None:
    old = result("wikipedia-pairs", "one")
    assert make_plots(by_key(old))[0] == []  # nobody knows how long the documents are
    new = result("wikipedia-order", "two", **LENGTHS)
    plot = plot_of(make_plots(by_key(old, new))[0], "accuracy-by-length")
    (series,) = plot.series
    assert [(plot.ticks[int(point.x)], point.y) for point in series.points] == [("16", 0.8), ("20–22", 1.0)]
    other = result("wikipedia-order", "two", data_sha256="other", **LENGTHS)
    assert "accuracy-by-length" in make_plots(by_key(old, other))[1]


def test_one_variant_stands_for_a_model_and_yardsticks_are_left_out() -> None:
    results = by_key(
        *(result("wikipedia-pairs", "one", way) for way in ("bi", "mmi", "uni", "shards-5")),
        result("wikipedia-pairs", "random", value=0.5),
        result("wikipedia-pairs", "two", "glove-6b-100d", value=0.9),
        *(result("wikipedia-pairs", f"weak{n}", value=0.1) for n in range(10)),
    )
    found = [(one.model, one.variant) for one in chosen(results, "wikipedia-pairs", "accuracy")]
    assert found[:2] == [("two", "glove-6b-100d"), ("one", "mmi")]
    assert len(found) == LINES


def test_orders_by_more_than_transitions_are_named_as_in_table_3() -> None:
    variants = (("seq2seq", "mmi"), ("vlv-gm", "mmi-coherence"), ("foltz-sif", ""))
    plots, _ = make_plots(by_key(*(result("wikipedia-order", *names, **LENGTHS) for names in variants)))
    labels = {series.label for series in plot_of(plots, "tau-by-length").series}
    assert labels == {"seq2seq (mmi) and precedence", "vlv-gm (mmi-coherence)", "foltz-sif"}
    (series,) = plot_of(
        make_plots(by_key(result("wikipedia-pairs", "seq2seq", "mmi", **LENGTHS)))[0], "accuracy-by-length"
    ).series
    assert series.label == "seq2seq (mmi)"  # precedence is for ordering


def test_seeds_are_drawn_as_one_model() -> None:
    seeds = [result("wikipedia-pairs", "one", f"seed-{n}", value=n / 4, **LENGTHS) for n in (1, 3)]
    plots, _ = make_plots(by_key(*seeds))
    (series,) = plot_of(plots, "accuracy-by-length").series
    assert series.label == "one"
    assert series.points[0].y == pytest.approx(0.5)


def test_the_learning_curve_goes_by_sentences() -> None:
    runs = [
        result("wikipedia-pairs", "seq2seq", f"mmi-shards-{n}", n / 10, training={"sentences": n * 1000})
        for n in (5, 1, 2)
    ]
    (series,) = plot_of(make_plots(by_key(*runs))[0], "learning-curve").series
    assert series.label == "seq2seq (mmi)"
    assert [point.x for point in series.points] == [1000, 2000, 5000]
    assert "learning-curve" in make_plots(by_key(runs[0]))[1]  # one point is no curve


def test_parameters_are_those_of_the_record() -> None:
    facts = [ModelFacts("one", "one", 1234, 5000, None, [], 0, "print", "weft train", None, None)]
    trained = result("wikipedia-pairs", "one", training={"data_fingerprint": "print"})
    found = by_key(trained, result("wikipedia-pairs", "two"))
    (series,) = plot_of(make_plots(found, facts)[0], "accuracy-by-parameters").series
    assert (series.label, series.points[0].x) == ("one", 1234)


def test_swaps_are_drawn_kind_by_kind() -> None:
    plots, _ = make_plots(by_key(result("wikipedia-swaps", "one")))
    plot = plot_of(plots, "accuracy-by-swaps")
    assert plot.ticks == ("neighbours", "1", "2", "4", "8")
    assert [point.x for point in plot.series[0].points] == [0, 1, 4]


def test_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from weft.report.plots import draw_plots

    plots, _ = make_plots(by_key(result("wikipedia-pairs", "one", **LENGTHS), result("wikipedia-swaps", "one")))
    first, second = draw_plots(plots, tmp_path / "a"), draw_plots(plots, tmp_path / "b")
    assert [path.name for path in first] == ["accuracy-by-length.svg", "accuracy-by-swaps.svg"]
    for one, other in zip(first, second, strict=True):
        text = one.read_text()
        assert text == other.read_text()
        assert "<svg" in text
        assert not re.search(r"\d{4}-\d{2}-\d{2}T", text)  # no date
    assert "accuracy" in first[0].read_text()


def test_bars_reach_from_the_lower_to_the_upper_end_of_an_interval() -> None:
    pytest.importorskip("matplotlib")
    from weft.report.plots import draw_plot

    points = (Point(1.0, 0.6, (0.5, 0.9)), Point(10.0, 0.7, (0.4, 0.75)), Point(100.0, 0.8))
    plot = Plot("p", "t", "x", "y", (Series("one", points),), logarithmic=True)
    (drawn,) = draw_plot(plot).axes[0].containers
    line, _, (bars,) = drawn.lines
    assert list(zip(*line.get_data(), strict=True)) == [(1.0, 0.6), (10.0, 0.7), (100.0, 0.8)]
    ends = [[*map(tuple, segment.tolist())] for segment in bars.get_segments()]
    for segment, (x, low, high) in zip(ends, ((1, 0.5, 0.9), (10, 0.4, 0.75), (100, 0.8, 0.8)), strict=True):
        assert segment == [pytest.approx((x, low)), pytest.approx((x, high))]


@pytest.fixture(scope="module")
def own_plots() -> list[Plot]:
    """Of the results of the repository."""
    return make_plots(published_results(), load_facts(ROOT / "results"))[0]


def drawn_heights(text: str, colour: str, width: str) -> list[float]:
    """Heights of the points of all lines in a picture that have a colour and a width."""
    style = rf"fill: none; stroke: {colour.lower()}; (?:stroke-opacity: [\d.]+; )?stroke-width: {width}"
    paths = re.findall(rf'<path d="([^"]*)" clip-path="[^"]*" style="{style}', text)
    return [float(height) for path in paths for height in re.findall(r"[ML] \S+ (\S+)", path)]


def test_the_numbers_in_the_pictures_of_the_docs_are_those_of_the_results(own_plots: list[Plot]) -> None:
    """Heights on paper are the numbers but for one scale and one place of zero, the same for all lines."""
    for plot in own_plots:
        text = (ROOT / "docs" / "pictures" / f"{plot.name}.svg").read_text(encoding="utf-8")
        known: list[float] = []
        shown: list[float] = []
        colours = [style["color"] for style in styles(plot.series)]
        for colour in dict.fromkeys(colours):
            drawn = (series for series, own in zip(plot.series, colours, strict=True) if own == colour)
            points = [point for series in drawn for point in series.points]
            known += [point.y for point in points]
            known += [end for point in points for end in (point.interval or (point.y, point.y))]
            shown += [*drawn_heights(text, colour, "1.2"), *drawn_heights(text, colour, "0.8")]
        assert len(known) == len(shown) > 10, plot.name
        scale, zero = np.polyfit(known, shown, 1)
        assert np.abs(np.polyval([scale, zero], known) - shown).max() < 0.0005 * abs(scale), plot.name


def test_a_model_looks_the_same_in_every_picture_and_no_two_look_alike(own_plots: list[Plot]) -> None:
    looks: dict[str, set[str]] = {}
    for plot in own_plots:
        found = [f"{style['color']} {style['marker']}" for style in styles(plot.series)]
        assert len(set(found)) == len(found), plot.name
        if plot.name != "learning-curve":  # three ways of one model
            for series, look in zip(plot.series, found, strict=True):
                looks.setdefault(series.label.split(" (")[0], set()).add(look)
    assert all(len(looks[model]) == 1 for model in KNOWN if model in looks)
    assert len(looks.keys() & set(KNOWN)) > 5


def test_the_pictures_in_the_docs_are_those_of_the_results(own_plots: list[Plot]) -> None:
    assert {plot.name for plot in own_plots} >= {"accuracy-by-length", "accuracy-by-swaps", "tau-by-length"}
    for plot in own_plots:
        text = (ROOT / "docs" / "pictures" / f"{plot.name}.svg").read_text(encoding="utf-8")
        assert plot.title in text
        for series in plot.series:
            assert series.label in text, (plot.name, series.label)
