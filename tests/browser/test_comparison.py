"""Which versions the view Compare shows, and that a verdict is never about other texts."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from tests.browser.actions import ESSAY, area, paste, select

FIRST = "In return, the flower dusts the bee with pollen. Bees visit flowers to drink nectar. Rates rose in March."
SECOND = "Bees visit flowers to drink nectar. In return, the flower dusts the bee with pollen. The bee flies on."


def versions(tab: Page) -> list[str]:
    """The two versions in the text areas."""
    return [tab.locator(f"#{side}").input_value() for side in ("first", "second")]


def compare(tab: Page, first: str, second: str) -> None:
    """Fill in two versions and compare them."""
    tab.get_by_role("textbox", name="First version").fill(first)
    tab.get_by_role("textbox", name="Second version").fill(second)
    tab.locator("#compare-run").click()
    expect(tab.locator("#compare-summary")).to_contain_text("score")


def test_a_text_replaces_versions_of_another_one_and_undo_brings_them_back(tab: Page, site: str) -> None:
    tab.goto(f"{site}#compare")
    compare(tab, FIRST, SECOND)
    tab.goto(f"{site}#text")
    paste(tab, ESSAY)
    tab.locator("#to-compare").click()
    assert versions(tab) == [ESSAY, ESSAY]
    expect(tab.locator("#compare-summary")).to_be_empty()
    expect(tab.locator("#compare-result")).to_be_hidden()
    tab.locator("#compare-undo").click()
    assert versions(tab) == [FIRST, SECOND]
    expect(tab.locator("#compare-undo")).to_be_hidden()


def test_an_edit_drops_the_verdict(tab: Page, site: str) -> None:
    tab.goto(f"{site}#compare")
    compare(tab, FIRST, SECOND)
    tab.get_by_role("button", name="Edit the texts").click()
    tab.get_by_role("textbox", name="Second version").press_sequentially("So")
    expect(tab.locator("#compare-summary")).to_be_empty()


def test_the_version_that_was_pasted_stands_beside_the_current_one(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, FIRST)
    end = len(FIRST)
    select(tab, end, end)
    tab.keyboard.type(" The bank is closed.")
    tab.wait_for_function("() => !document.querySelector('#links .stale')")
    tab.locator("#to-compare").click()
    assert versions(tab) == [FIRST, f"{FIRST} The bank is closed."]
    tab.go_back()
    paste(tab, ESSAY)  # another text has a beginning of its own
    tab.locator("#to-compare").click()
    assert versions(tab) == [ESSAY, ESSAY]
    tab.get_by_role("textbox", name="Second version").fill(SECOND)
    tab.go_back()
    tab.locator("#to-compare").click()
    assert versions(tab) == [ESSAY, SECOND]  # a second version that was written here stays


def test_a_typed_text_has_no_earlier_version(tab: Page, site: str) -> None:
    tab.goto(site)
    area(tab).press_sequentially("It rained. The street was wet. He slept.")
    expect(tab.locator("#links button")).to_have_count(2)
    tab.locator("#to-compare").click()
    assert versions(tab) == ["It rained. The street was wet. He slept."] * 2


def test_an_example_can_be_undone(tab: Page, site: str) -> None:
    tab.goto(f"{site}#compare")
    compare(tab, FIRST, SECOND)
    tab.get_by_role("button", name="Edit the texts").click()
    tab.get_by_role("button", name="Try an example").click()
    expect(tab.locator("#compare-result")).to_be_visible()
    tab.locator("#compare-undo").click()
    assert versions(tab) == [FIRST, SECOND]
    expect(tab.get_by_role("textbox", name="First version")).to_be_focused()
    expect(tab.locator("#compare-summary")).to_be_empty()
