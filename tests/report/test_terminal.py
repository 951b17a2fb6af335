"""Bars of transitions: one scale for all texts, and marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers.zoo_models import WEFT_SMALL

from weft.document import Document, Score
from weft.loaded_model import load
from weft.markup.link_scale import link_shares
from weft.markup.scored_text import mark_words
from weft.report.terminal import BAR_WIDTH, column_notes, explain_lines

TEXT = Document("d", ("One.", "Two.", "Three."))


def bars(score: Score) -> list[int]:
    """The lengths of the bars of a text."""
    return [line.plain.count("█") for line in explain_lines(TEXT, score) if "█" in line.plain]


def test_a_transition_has_the_same_bar_in_any_text() -> None:
    low, high = Score(0.0, (0.0, 0.1)), Score(1.0, (0.0, 3.0))
    assert bars(low)[0] == bars(high)[0] == BAR_WIDTH // 2
    assert bars(high)[1] == BAR_WIDTH
    assert bars(Score(0.0, (0.0, 0.1), bar_range=(0.0, 1.0))) == [1, round(0.1 * BAR_WIDTH)]


def test_values_outside_the_range_have_an_empty_or_a_full_bar() -> None:
    assert link_shares(Score(0.0, (-99.0, 99.0)))[0] == [0.0, 1.0]
    assert link_shares(Score(None)) == ([], "")


def test_bars_of_a_calibrated_model_are_percentiles() -> None:
    score = Score(0.5, (-9.0, 9.0), percentile=50.0, reference="essays", link_percentiles=(50.0, 75.0))
    assert bars(score) == [BAR_WIDTH // 2, 3 * BAR_WIDTH // 4]
    assert "bars: percentile of essays" in [line.plain for line in explain_lines(TEXT, score)]
    assert "bars: percentile of essays" in score._repr_html_()


def test_bars_stand_between_their_sentences_with_two_decimals() -> None:
    lines = [line.plain for line in explain_lines(TEXT, Score(0.5, (0.123, -1.0), breaks=(1,)))]
    assert lines[-5:] == [
        "   1  One.",
        f"   │  {'█' * 12}{'░' * 12}   0.12",
        "   2  Two.",
        f"   │  {'█' * 8}{'░' * 16}  -1.00  ← weak link",
        "   3  Three.",
    ]


def test_a_text_without_a_mark_says_so() -> None:
    assert explain_lines(TEXT, Score(0.5, (0.1, 0.1)))[-1].plain == "no weak link found"
    found = Score(0.5, (0.1, 0.1), break_probabilities=(0.1, 0.41), break_threshold=0.8)
    nearest = "no break found; the likeliest place is between sentences 2 and 3 (41%; marked above 80%)"
    assert explain_lines(TEXT, found)[-1].plain == nearest
    assert explain_lines(TEXT, Score(None))[-1].plain == "   3  Three."


@pytest.mark.parametrize(("probability", "shown"), [(0.706, "71%"), (0.974, "97%"), (0.9985, "99%")])
def test_the_terminal_and_the_report_round_a_probability_alike(probability: float, shown: str) -> None:
    found = Score(0.5, (0.1, 0.1), breaks=(1,), break_probabilities=(0.1, probability), break_threshold=0.7)
    assert mark_words(found, 1) == f"break {shown}"
    assert any(line.plain.endswith(f"← break ({shown})") for line in explain_lines(TEXT, found))


def test_the_texts_of_an_own_calibration_are_named() -> None:
    own = Score(0.5, (0.5,), document=TEXT, percentile=40.0, shuffles_beaten=0.5, reference="essays of my classes")
    assert column_notes([own]) == [
        "percentile: percentage of the texts “essays of my classes” of similar length that score lower"
    ]


@pytest.mark.parametrize(("model", "combine", "expected"), [
    ("foltz-sif", None, (0.0, 1.0)), (WEFT_SMALL, "bi", (-8.0, 0.0)), (WEFT_SMALL, None, (-3.0, 3.0)),
    ("weft-reader", None, (-3.0, 3.0)),
])  # fmt: skip
def test_the_range_belongs_to_the_model(model: str | Path, combine: str | None, expected: tuple[float, float]) -> None:
    assert load(model).score("A cat sat. It slept. Rain fell.", combine=combine).bar_range == expected
