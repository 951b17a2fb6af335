"""What axe-core finds, the keyboard, small screens, and the pictures of the documentation."""

from __future__ import annotations

from pathlib import Path

import axe_core_python
import pytest
from playwright.sync_api import Page, expect
from tests.browser.actions import ESSAY, area, paste

WIDTHS = (375, 1440)
SCHEMES = ("light", "dark")


def violations(tab: Page) -> list[str]:
    """The serious and critical violations that axe-core reports, each with the first element."""
    script = Path(axe_core_python.__file__).parent / "axe.min.js"
    # Scripts of a driver are not bound by the policy of the page, which forbids foreign ones.
    tab.evaluate(script.read_text(encoding="utf-8"))
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['target']} {one['nodes'][0]['failureSummary']}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("scheme", "width"), list(zip(SCHEMES, WIDTHS, strict=True)))
def test_axe_finds_no_serious_violation(tab: Page, site: str, scheme: str, width: int) -> None:
    tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    tab.set_viewport_size({"width": width, "height": 800})
    tab.goto(site)
    assert violations(tab) == []
    paste(tab, f"{ESSAY} {ESSAY}")  # with the warning of a repetition
    tab.locator("#links button").first.focus()
    assert violations(tab) == []
    tab.get_by_role("button", name="Suggest an order").click()
    expect(tab.get_by_role("heading", name="Suggested order")).to_be_visible()
    assert violations(tab) == []
    tab.goto(f"{site}#compare")
    tab.get_by_role("button", name="Try an example").click()
    expect(tab.get_by_role("article", name="Second version")).to_be_visible()
    assert violations(tab) == []
    tab.goto(f"{site}#class")
    tab.get_by_role("button", name="Try the examples").click()
    expect(tab.locator("#class-progress")).to_be_hidden()
    assert violations(tab) == []


def test_nothing_is_wider_than_a_phone(tab: Page, site: str) -> None:
    tab.set_viewport_size({"width": 375, "height": 740})
    tab.goto(site)
    paste(tab, ESSAY + " " + "x" * 200 + " ends here.")
    for view in ("text", "compare", "class"):
        tab.goto(f"{site}#{view}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 375, view


SMALL_TARGETS = """
[...document.querySelectorAll('a, button, select, input, textarea')]
  .filter((node) => node.checkVisibility() && !node.closest('.quiet, .skip'))
  .map((node) => [node.id || node.textContent || node.className, node.getBoundingClientRect()])
  .filter(([, { width, height }]) => Math.min(width, height) < 24)
  .map(([name, { width, height }]) => `${name} ${width} x ${height}`)
"""


def test_targets_are_large_enough_for_a_finger(tab: Page, site: str) -> None:
    tab.set_viewport_size({"width": 375, "height": 740})
    tab.goto(site)
    assert tab.evaluate(SMALL_TARGETS) == []
    paste(tab, ESSAY)
    tab.get_by_role("button", name="Suggest an order").click()
    expect(tab.get_by_role("heading", name="Suggested order")).to_be_visible()
    assert tab.evaluate(SMALL_TARGETS) == []
    tab.goto(f"{site}#compare")
    tab.get_by_role("button", name="Try an example").click()
    expect(tab.get_by_role("article", name="Second version")).to_be_visible()
    assert tab.evaluate(SMALL_TARGETS) == []
    tab.goto(f"{site}#class")
    tab.get_by_role("button", name="Try the examples").click()
    expect(tab.locator("#class-progress")).to_be_hidden()
    assert tab.evaluate(SMALL_TARGETS) == []


def test_the_keyboard_reaches_everything_in_order(tab: Page, site_with_breaks: str) -> None:
    tab.goto(site_with_breaks)
    paste(tab, ESSAY)
    tab.locator(".skip").focus()
    reached = []
    for _ in range(14):
        tab.keyboard.press("Tab")
        reached.append(
            tab.evaluate(
                "document.activeElement.id || document.activeElement.className || document.activeElement.textContent"
            )
        )
    wanted = ["suggest", "continue", "to-compare", "download", "text-area", "link", "note", "open"]
    places = [next((n for n, name in enumerate(reached) if name.startswith(one)), -1) for one in wanted]
    assert -1 not in places, reached
    assert places == sorted(places), reached


def test_every_view_has_a_heading_and_a_target_of_the_skip_link(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, ESSAY)
    for view, target in (("text", "text-area"), ("compare", "first"), ("class", "class-open")):
        tab.goto(f"{site}#{view}")
        expect(tab.get_by_role("heading", level=1)).to_have_count(1)
        tab.locator(".skip").focus()
        tab.keyboard.press("Enter")
        assert tab.evaluate("document.activeElement.id") == target


def test_screen_readers_hear_the_result(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, ESSAY)
    expect(tab.get_by_role("status")).to_contain_text("Scores higher than")
    assert area(tab).get_attribute("aria-describedby") == "summary"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_pictures_for_the_documentation(picture: Path, tab: Page, site: str, scheme: str, width: int) -> None:
    tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    tab.set_viewport_size({"width": width, "height": 780 if width > 1000 else 812})
    tab.goto(site)
    tab.get_by_role("button", name="Essay with an intruder").click()
    expect(tab.locator("#notes .note")).not_to_have_count(0)
    tab.wait_for_function("() => Number(document.body.dataset.scored) > 1")  # the reasons follow the links
    tab.screenshot(path=picture / f"page-{width}-{scheme}.png")
