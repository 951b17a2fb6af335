"""What the view Class shows when something goes wrong, on all screens, and what it passes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.actions import area

SOUND = "Bees visit flowers to drink nectar. In return, the flower dusts the bee with pollen. The bee flies on."
BUSY = {
    "type": "urn:weft:problem:stopping",
    "title": "the service is stopping",
    "status": 503,
    "next_step": "send the request again",
}


@pytest.mark.parametrize("answer", ["none", "503"])
def test_a_failure_of_the_service_is_shown(tab: Page, site: str, answer: str) -> None:
    def fail(route: Route) -> None:
        if answer == "none":
            route.abort("connectionrefused")
        else:
            route.fulfill(status=503, json=BUSY, content_type="application/problem+json")

    tab.goto(f"{site}#class")
    tab.route("**/v1/score", fail)
    tab.get_by_role("button", name="Try the examples").click()
    wanted = "The service does not answer" if answer == "none" else "about to stop"
    expect(tab.locator("#view-class").get_by_role("alert")).to_contain_text(wanted)
    expect(tab.locator("#class-progress")).to_be_hidden()
    assert "…" not in tab.locator("#class-table td").all_inner_texts()
    tab.unroute("**/v1/score")
    tab.get_by_role("button", name="Try the examples").click()
    expect(tab.locator("#class-summary")).to_contain_text("6 texts. ")
    expect(tab.locator("#view-class").get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 1024, 375])
def test_the_table_fits_its_place(tab: Page, site: str, tmp_path: Path, width: int) -> None:
    (tmp_path / "a.txt").write_text("It is, late. " * 60)
    (tmp_path / "b.txt").write_bytes("Café. Thé.".encode("latin-1"))
    (tmp_path / "c.txt").write_text(f"{SOUND} " * 3)
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(f"{site}#class")
    tab.locator("#file").set_input_files(sorted(tmp_path.glob("*.txt")))
    expect(tab.locator("#class-summary")).to_contain_text("3 texts. ")
    place = tab.locator("#class-table")
    assert place.evaluate("node => node.scrollWidth - node.clientWidth") <= 0
    assert place.get_attribute("tabindex") is None  # it does not scroll
    expect(tab.get_by_role("cell", name="repetition").first).to_be_visible()
    expect(tab.get_by_role("row")).to_have_count(4)  # cards are rows too
    unread = tab.locator("#class-table tbody tr").nth(1)
    box = unread.bounding_box()
    assert box is not None and box["height"] < 200


def test_a_table_that_scrolls_is_reached_by_the_keyboard(tab: Page, site: str) -> None:
    tab.goto(f"{site}#class")
    tab.get_by_role("button", name="Try the examples").click()
    expect(tab.locator("#class-summary")).to_contain_text("6 texts. ")
    tab.evaluate("document.getElementById('class-table').style.width = '20rem'")  # as with very large letters
    region = tab.get_by_role("region", name="Texts and their scores")
    expect(region).to_have_attribute("tabindex", "0")


def test_a_bad_line_does_not_stop_a_file(tab: Page, site: str, tmp_path: Path) -> None:
    lines = tmp_path / "answers.jsonl"
    lines.write_text("\n".join([json.dumps({"id": "a", "text": SOUND}), "", "{oops", '{"id": "c", "text": "A. B."}']))
    tab.goto(f"{site}#class")
    tab.locator("#file").set_input_files(lines)
    expect(tab.locator("#class-summary")).to_contain_text("3 texts. ")
    rows = tab.locator("#class-table tbody tr")
    expect(rows.nth(1)).to_contain_text("Line 3 of “answers” is not JSON. Write one object per line")
    assert rows.nth(0).locator("td").first.inner_text() not in ("–", "…")
    lines.write_text("{oops\nand so on")
    tab.locator("#file").set_input_files(lines)
    expect(tab.locator("#view-class").get_by_role("alert")).to_contain_text("Line 1 of “answers” is not JSON")
    expect(rows).to_have_count(0)
    expect(tab.get_by_role("button", name="Download JSON")).to_be_hidden()


def test_a_text_is_opened_with_the_genre_of_the_class(tab: Page, site: str) -> None:
    tab.goto(f"{site}#class")
    tab.locator("#class-genre").select_option("essay")
    tab.get_by_role("button", name="Try the examples").click()
    expect(tab.locator("#class-summary")).to_contain_text("6 texts. ")
    tab.get_by_role("button", name="Sound essay").click()
    expect(tab.locator("#genre")).to_have_value("essay")
    expect(tab.locator("#summary")).to_contain_text("essay")
    expect(tab.locator("#summary")).not_to_contain_text("guessed")
    assert area(tab).input_value().startswith("Bread begins")


def test_a_problem_speaks_to_the_person_at_the_page(tab: Page, site: str, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("word " * 1_200_000)
    (tmp_path / "short.txt").write_text(SOUND)
    tab.goto(f"{site}#class")
    tab.locator("#file").set_input_files(sorted(tmp_path.glob("*.txt")))
    expect(tab.locator("#class-summary")).to_contain_text("2 texts. ")
    row = tab.locator("#class-table tbody tr").first
    expect(row).to_contain_text("too large")
    assert not any(word in row.inner_text() for word in ("/v1/", "request", "--"))


def test_without_a_writer_there_is_nothing_to_try_again(tab: Page, site: str) -> None:
    tab.goto(site)
    tab.get_by_role("button", name="Sound essay").click()
    expect(tab.locator("#continue")).to_be_enabled()
    problem = {**BUSY, "type": "urn:weft:problem:no-writer", "status": 422, "next_step": "pip install torch"}
    tab.route("**/v1/generate/stream", lambda route: route.fulfill(status=422, json=problem))
    tab.locator("#continue").click()
    expect(tab.locator("#panel").get_by_role("alert")).to_contain_text("cannot continue texts")
    assert "pip" not in tab.locator("#panel").inner_text()
    assert tab.locator("#panel button").all_inner_texts() == ["Close"]
