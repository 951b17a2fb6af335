"""The report: self-contained, safe for any text, true to the scores, readable in light, dark and print."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.helpers.parsed_html import ParsedHtml
from tests.helpers.zoo_models import WEFT_SMALL

import weft
from weft.document import Document, Score
from weft.markup.scored_text import link_words
from weft.models.topic.hmm_lda import HmmLda, HmmLdaSettings
from weft.models.trivial import RandomModel
from weft.ordering.break_reasons import break_reasons
from weft.report.html.latent_html import latent_html
from weft.report.html.overview import histogram
from weft.report.html.page import report_page
from weft.report.html.pair_matrix import MOST_SENTENCES, matrix_html, read_matrix
from weft.report.html.text_section import section_html
from weft.scoring.score_warnings import ONE_SENTENCE
from weft.service.bodies.given_texts import GivenText
from weft.service.bodies.views import score_body

ROOT = Path(__file__).parents[3]
HOSTILE = (
    "<script>document.title='changed'</script> is here.",
    'An <img src=x onerror=alert(1)> & "quotes" </section></style>.',
    "👩\N{ZERO WIDTH JOINER}👧 went home.",
    "הילד הלך לבית הספר.",
    "Z\N{COMBINING ACUTE ACCENT}\N{COMBINING TILDE}a\N{RIGHT-TO-LEFT OVERRIDE}lgo.",
)


def page_of(scores: list[Score], model: str = "foltz-sif", **options: Any) -> str:
    return "".join(report_page(scores, weft.load(model).inner, name=model, **options))


@pytest.fixture(scope="module")
def essays() -> list[Score]:
    """Six essays, scored by a light model."""
    texts = [json.loads(line) for line in (ROOT / "examples" / "essays.jsonl").read_text().splitlines()[:6]]
    documents = [Document(text["id"], weft.split_sentences(text["text"])) for text in texts]
    return [*weft.score(documents, model="foltz-sif"), weft.score(Document("short", ("One.",)), model="foltz-sif")]


# Safety ---------------------------------------------------------------------------------------------------------------


def test_hostile_text_is_shown_as_text_and_nothing_is_loaded() -> None:
    score = weft.score(Document("<b>name</b>", HOSTILE, "<i>title</i>", (0, 3)), model="foltz-sif")
    html = page_of([score, score], title="<u>Report</u>")
    page = ParsedHtml(html)
    for text in (*HOSTILE, "<b>name</b>", "<i>title</i>", "<u>Report</u>"):
        assert text in page.texts
    assert {"img", "u", "link", "iframe"}.isdisjoint(tag for tag, _ in page.elements)
    names = {name for _, attributes in page.elements for name in attributes}
    assert not names & {"src", "srcset", "style", "action"} and not any(name.startswith("on") for name in names)
    assert all((link["href"] or "").startswith("#") for link in page.named("a"))
    assert "http" not in html.replace("http-equiv", "") and "url(" not in html


def test_the_policy_allows_the_style_and_the_script_of_the_report_and_nothing_else(essays: list[Score]) -> None:
    html = page_of(essays)
    (policy,) = (meta["content"] for meta in ParsedHtml(html).named("meta") if "http-equiv" in meta)
    assert policy is not None and policy.startswith("default-src 'none';") and "unsafe" not in policy
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


# Content --------------------------------------------------------------------------------------------------------------


def test_the_ranking_has_all_texts_and_those_without_a_score_last(essays: list[Score]) -> None:
    page = ParsedHtml(page_of(essays))
    links = [link["href"] for link in page.named("a") if (link["href"] or "").startswith("#text-")][1:]
    expected = sorted(range(6), key=lambda number: -(essays[number].value or 0))
    assert links == [f"#text-{number + 1}" for number in (*expected, 6)]
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {(link["href"] or "")[1:] for link in page.named("a")} <= ids
    assert str(ONE_SENTENCE) in page.texts


def test_the_distribution_counts_every_scored_text(essays: list[Score]) -> None:
    found = histogram(essays)
    assert found is not None and sum(found.counts) == 6 and found.what == "score"
    placed = histogram([replace(score, percentile=100.0 * n / 6) for n, score in enumerate(essays)])
    assert placed is not None and (placed.low, placed.high) == (0, 100) and sum(placed.counts) == 7
    close = histogram([Score(0.5), Score(0.5001), Score(0.5002)])
    assert close is not None and len({close.edge(number) for number in range(11)}) == 11
    assert histogram(essays[:1]) is None and histogram([Score(0.5)] * 3) is not None


def test_one_text_has_no_ranking_and_an_open_matrix(essays: list[Score]) -> None:
    page = ParsedHtml(page_of(essays[:1]))
    assert not page.of_class("ranking") and "open" in page.named("details")[0]
    assert all("open" not in details for details in ParsedHtml(page_of(essays)).named("details"))
    assert not ParsedHtml(page_of(essays, details=False)).named("details")
    assert weft.load("foltz-sif").card.meaning in page.texts


def test_headings_do_not_skip_levels_and_regions_have_names(essays: list[Score]) -> None:
    page = ParsedHtml(page_of(essays))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels))
    assert all(picture.get("aria-label") for _, picture in page.elements if picture.get("role") == "img")
    assert all(region.get("aria-label") for _, region in page.elements if region.get("role") in ("region", "group"))


def test_the_matrix_holds_the_pairs_of_the_model(essays: list[Score]) -> None:
    model, score = weft.load("foltz-sif").inner, essays[0]
    found = read_matrix(model, score)
    assert found is not None and score.document is not None
    size = len(score.document)
    assert np.allclose([found.values[n, n + 1] for n in range(size - 1)], score.transitions, atol=1e-6)
    page = ParsedHtml(matrix_html(found))
    assert len(page.of_class("own")) == size - 1 and len(page.named("td")) == 1 + size * size
    assert read_matrix(model, essays[-1]) is None
    long = Document("long", tuple(f"Cat number {n}." for n in range(MOST_SENTENCES + 1)))
    assert read_matrix(model, weft.score(long, model="foltz-sif")) is None


def test_links_and_matrix_of_a_calibrated_model_have_one_scale() -> None:
    model = weft.load(WEFT_SMALL)
    score = model.score("Bees visit flowers. They drink nectar. Rates rose. The nectar becomes honey.")
    found = read_matrix(model.inner, score)
    assert found is not None
    assert [found.shares[n, n + 1] * 100 for n in range(3)] == pytest.approx(score.link_percentiles, abs=0.01)


# Reasons --------------------------------------------------------------------------------------------------------------


def test_reasons_stand_in_the_note_of_a_link_and_in_the_list() -> None:
    table = np.full((6, 6), 0.8) + 0.01 * np.arange(6)
    table[3], table[:, 3] = 0.05, 0.05
    text = Document("d", tuple("ABCDEF"))
    score = Score(0.5, tuple(np.diagonal(table, 1)), document=text, breaks=(2,), bar_range=(0.0, 1.0))
    expected = f"{link_words(score, 2)} Sentence 4 has weak links to all other sentences."
    page = ParsedHtml(section_html(score, 1, Table(table), unfolded=True))
    assert page.of_class("weft-marked")[0]["aria-label"] == expected and page.texts.count(expected) == 2
    assert expected not in ParsedHtml(section_html(score, 1, None, unfolded=True)).texts
    # The page of `weft serve` gives the same reasons, on whatever scale the links are shown.
    same = replace(score, bar_range=(-1.0, 0.1))
    served = score_body(same, GivenText(text, None), break_reasons(Table(table), text, (2,)))
    reason = served.view.links[2].reason
    assert reason is not None and reason.text[1:] in section_html(same, 1, Table(table), unfolded=True)


class Table(RandomModel):
    """A model whose table of pairs is given."""

    def __init__(self, table: npt.NDArray[np.float64]) -> None:
        super().__init__()
        self.table = table

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        return self.table


# Topics and latent variables ------------------------------------------------------------------------------------------


def test_topics_are_a_table() -> None:
    words = ("cat dog paw", "stock bond fund", "rain snow wind")
    rows = [Document(str(n), tuple(" ".join(np.roll(words[n % 3].split(), k)) for k in range(3))) for n in range(30)]
    model = HmmLda(HmmLdaSettings(topics=3, drop_top=0, rarest=1, prior_words=1.0)).fit(rows)
    page = ParsedHtml(latent_html(model, Document("t", ("cat dog", "<stock> fund", "rain"))))
    assert "<stock> fund" in page.texts and len(page.of_class("topics")) == 1
    cells = [text for text in page.texts if re.fullmatch(r"\d+%", text)]
    assert len(cells) % 3 == 0 and all(
        99 <= sum(int(c[:-1]) for c in row) <= 101 for row in np.split(np.array(cells), 3)
    )
    assert latent_html(model, Document("t", ("cat dog",))) == ""
    assert read_matrix(model, Score(0.1, (0.1, 0.1), document=rows[0])) is None  # it has no table of pairs
    assert latent_html(weft.load("foltz-sif").inner, Document("t", ("cat", "dog"))) == ""


def test_a_latent_path_has_a_point_for_every_sentence_but_the_first() -> None:
    torch = pytest.importorskip("torch")
    from weft.corpora.text.tokenizers import BpeTokenizer
    from weft.models.vlv.vlv_gm import VlvGm, VlvGmSettings

    text = Document("t", ("a cat", "a <dog>", "the fox", "rain"))
    tokenizer = BpeTokenizer.train(text.sentences * 3, vocabulary_size=300)
    made = VlvGm(VlvGmSettings(dimensions=8, hidden=12, layers=1, latent=4, width=10, precision="float32"))
    torch.manual_seed(1)
    model = made.assemble({part: made.new_network(part, tokenizer) for part in made.parts}, tokenizer)
    page = ParsedHtml(latent_html(model, text))
    assert len(page.named("circle")) == 3 and len(page.named("line")) == 2 and "2 a <dog>" in page.texts
    width, height = map(float, (page.named("svg")[0]["viewbox"] or "").split()[2:])
    assert all(0 < float(dot["cx"] or 0) < width and 0 < float(dot["cy"] or 0) < height for dot in page.named("circle"))


# Colours --------------------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_text_has_enough_contrast(theme: str, essays: list[Score]) -> None:
    style = page_of(essays[:1]).split("<style>")[1].split("</style>")[0]
    blocks = [
        dict(re.findall(r"--([\w-]+):(#\w+)", block)) for block in re.findall(r":root\{(.*?)\}", style, re.DOTALL)
    ]
    light_page, dark_page, light, dark, printed = blocks
    colours = {
        **light_page,
        **light,
        **({} if theme == "light" else {**dark_page, **dark} if theme == "dark" else printed),
    }
    backgrounds = ["page", "shade", "t1", "t2", "t3", "t4", "t5", "q2", "q3", "q4", "q5"]
    pairs = [("ink", name) for name in backgrounds] + [("soft", "page"), ("soft", "shade"), ("link", "page")]
    for text, background in [*pairs, ("warn", "warn-back")]:
        assert contrast(colours[text], colours[background]) >= 4.5, (text, background)
