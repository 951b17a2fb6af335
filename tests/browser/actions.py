"""What a person does on the page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

ESSAY = (
    "Bees visit flowers to drink nectar. In return, the flower dusts the bee with pollen. The bee carries this pollen "
    "to the next flower. There the pollen helps the flower to make seeds.\n\n"
    "My uncle bought a motorbike in 1987. Without bees, many plants would make no seeds at all."
)


def paste(tab: Page, text: str) -> None:
    """Put a text into the text area in one step, and wait for what the service says about it."""
    before = scored(tab)
    area(tab).fill(text)
    tab.wait_for_function("(before) => Number(document.body.dataset.scored ?? 0) > before", arg=before)


def scored(tab: Page) -> int:
    """Number of results that the page has shown."""
    return int(tab.evaluate("document.body.dataset.scored ?? 0"))


def area(tab: Page) -> Locator:
    return tab.get_by_role("textbox", name="Your text")


def select(tab: Page, start: int, end: int) -> None:
    """Select a part of the text, as with the mouse."""
    area(tab).evaluate("(node, place) => { node.focus(); node.setSelectionRange(...place) }", [start, end])


def links(tab: Page) -> list[str]:
    """What a screen reader says about each link."""
    return [node.get_attribute("aria-label") or "" for node in tab.locator("#links button").all()]


def sentences(tab: Page) -> list[str]:
    """The sentences as the page marks them."""
    return tab.locator("#mirror span").all_text_contents()


def resting(tab: Page) -> None:
    """Wait until nothing is under way."""
    tab.wait_for_function("!document.body.classList.contains('busy')")
