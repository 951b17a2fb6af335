"""Reports in Chromium: hostile text stays text, nothing overflows, and axe-core finds no serious violation."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import axe_core_python
import pytest
from playwright.sync_api import Browser

import weft

TEXTS = (
    "<script>document.title = 'changed'</script> is here. <img src=x onerror=alert(1)> came next. It ended.",
    "הילד הלך לבית הספר. \u202eThis is turned around.\u202c 👩\u200d👧 went home. Z\u0301\u0303algo followed them.",
    f"A word with {'x' * 400} letters was written. It rained. {'The rain went on. ' * 4}",
    "Der Hund bellt laut. Die Katze schläft auf dem Sofa. " * 4,  # two warnings
    "One sentence.",
    "",
)
NARROW, PAPER = 375, 673  # pixels of a phone, and of A4 between the margins of the stylesheet


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of texts of all kinds."""
    named = [
        weft.Document(f"essay of the second term, number {number}", weft.split_sentences(text))
        for number, text in enumerate(TEXTS)
    ]
    return weft.write_report(named, tmp_path_factory.mktemp("report") / "report.html")


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", NARROW), ("dark", 1440)])
def test_a_report_is_safe_fits_and_is_accessible(
    browser: Browser, report: Path, scheme: Literal["light", "dark"], width: int
) -> None:
    asked, faults = list[str](), list[str]()
    with browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme) as context:
        tab = context.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("dialog", lambda dialog: faults.append(dialog.message))
        tab.goto(report.as_uri())
        assert asked == [report.as_uri()] and faults == []
        assert tab.title() == "Coherence report"
        assert "<script>document.title = 'changed'</script> is here." in tab.locator("main").inner_text()
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        tab.evaluate((Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
        found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


@pytest.mark.slow
def test_no_column_of_the_ranking_is_cut_off_on_paper(browser: Browser, report: Path) -> None:
    with browser.new_context(viewport={"width": PAPER, "height": 900}) as context:
        tab = context.new_page()
        tab.emulate_media(media="print")
        tab.goto(report.as_uri())
        assert tab.locator(".ranking").evaluate("table => table.getBoundingClientRect().right") <= PAPER
