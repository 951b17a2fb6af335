"""A scored text as HTML: its links have one scale, its colours can be told apart, and any text stays text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.parsed_html import ParsedHtml

from weft.document import Document, Score, TextWarning
from weft.markup.link_scale import COLOURS, DARK_BACKGROUND, LIGHT_BACKGROUND, colour_step, width_step
from weft.markup.scored_text import shown_text, text_html

TEXT = Document("t", ("One.", "Two.", "Three.", "Four."), paragraph_starts=(0, 2))


def luminance(colour: str) -> float:
    """WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("background", [LIGHT_BACKGROUND, DARK_BACKGROUND])
def test_links_can_be_seen_on_both_backgrounds(background: str) -> None:
    for colour in COLOURS:
        dark, light = sorted((luminance(colour), luminance(background)))
        assert (light + 0.05) / (dark + 0.05) >= 3


def test_a_link_stands_after_every_sentence_but_the_last_and_says_what_it_is() -> None:
    score = Score(
        0.5, (0.9, -0.5, 0.1), document=TEXT, breaks=(1,), break_probabilities=(0.1, 0.724, 0.2),
        link_percentiles=(95.0, 0.4, 50.0), break_threshold=0.5,
    )  # fmt: skip
    page = ParsedHtml(text_html(score, {1: "A reason <here>."}))
    links = page.of_class("weft-link")
    assert [link["class"] for link in links] == [
        "weft-link weft-c5", "weft-link weft-c1 weft-marked", "weft-link weft-c3",
    ]  # fmt: skip
    assert all(link["tabindex"] == "0" and link["role"] == "img" for link in links)
    assert links[1]["aria-label"] == (
        "Sentences 2 and 3: −0.50, lower than nearly all reference texts, probability of a break 72%, marked as a "
        "break. A reason <here>."
    )
    assert links[1]["aria-label"] in page.texts and "break 72%" in page.texts
    assert len(page.named("p")) == 2 and [bar["class"] for bar in page.of_class("weft-bar")][1] == "weft-bar weft-w1"


def test_the_scale_does_not_depend_on_the_text() -> None:
    low, high = (ParsedHtml(text_html(Score(0.0, values, document=TEXT))) for values in ((0.0, 0.1), (0.0, 3.0)))
    assert low.of_class("weft-link")[0]["class"] == high.of_class("weft-link")[0]["class"]
    assert (colour_step(1.0), width_step(1.0)) == (5, 20)


@pytest.mark.parametrize(
    ("sentence", "direction"), [("הילד הלך.", "rtl"), ("«سلام»", "rtl"), ("1. A", None), ("!", None)]
)
def test_paragraphs_run_in_the_direction_of_their_letters(sentence: str, direction: str | None) -> None:
    page = ParsedHtml(text_html(Score(None, document=Document("d", (sentence,)))))
    assert page.named("p")[0].get("dir") == direction
    assert sentence in page.texts


def test_joined_emoji_stay_joined_and_controls_are_shown_as_a_sign() -> None:
    family = "👩\N{ZERO WIDTH JOINER}👧 e\N{COMBINING ACUTE ACCENT}"
    assert shown_text(family) == family
    assert shown_text("a\x00b\x1bc\ud800\td") == "a�b�c� d"


@settings(max_examples=30, deadline=None)
@given(st.text(min_size=1).filter(lambda text: bool(text.strip())))
def test_any_sentence_stays_text(sentence: str) -> None:
    score = Score(0.1, (0.1,), document=Document(sentence, (sentence, "B.")), warnings=(TextWarning("x", sentence),))
    for html in (text_html(score), score._repr_html_()):
        html.encode()
        page = ParsedHtml(html)
        assert {tag for tag, _ in page.elements} <= {"div", "p", "span", "sup", "bdi", "i", "b", "style"}
