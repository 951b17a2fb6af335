"""One text on the page: links while typing, what is shown for strange texts, and Cancel."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect
from tests.browser.actions import ESSAY, area, links, paste, scored, select, sentences

HOSTILE = (
    "<script>document.title = 'taken'</script> He wrote <img src=x onerror=\"document.title='taken'\"> here. "
    "👩‍👩‍👧 The family came to town 🐝🐝. שלום לכולם, אמרה המורה. Zalgo t̷̢̛e̴̡͝x̵̨̛t̶̛̫ and é as e\u0301 are text. "
    "&lt;b&gt; is not bold. The end came soon."
)

# The textarea is as high as the mirror; without a height of its own it shows how high its text is.
HEIGHTS = """() => {
    const area = document.getElementById("text-area");
    area.style.height = "0";
    const found = [area.scrollHeight, document.getElementById("mirror").offsetHeight];
    area.style.height = "";
    return found;
}"""


def test_paste_edit_and_links_change(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, ESSAY)
    assert len(sentences(tab)) == 6
    before = links(tab)
    assert len(before) == 5 and before[0].startswith("Sentence 1 to 2: ")
    expect(tab.locator("#summary")).to_contain_text(re.compile(r"higher than \d+% of .*\. .*(link|break)s? found"))

    # Replace the intruder by typing: the links beside it change.
    count = scored(tab)
    start = ESSAY.index("My uncle")
    area(tab).evaluate(
        "(node, [start, end]) => { node.focus(); node.setSelectionRange(start, end) }", [start, start + 36]
    )
    tab.keyboard.type("Fruit grows around these seeds.")
    tab.wait_for_function("(before) => Number(document.body.dataset.scored) > before", arg=count)
    tab.wait_for_function("() => !document.querySelector('#links .stale')")
    after = links(tab)
    assert len(after) == len(before) and after[3] != before[3] and after[4] != before[4]
    caret = area(tab).evaluate("node => node.selectionStart")
    assert caret == start + len("Fruit grows around these seeds.")
    assert "Fruit grows around these seeds. Without bees" in area(tab).input_value()


def test_the_caret_stays_while_results_arrive(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, ESSAY)
    place = ESSAY.index("pollen")
    select(tab, place, place)
    tab.keyboard.type("golden yellow ", delay=70)  # slower than the pause, so that results arrive between the letters
    assert "the bee with golden yellow pollen." in area(tab).input_value()
    assert area(tab).evaluate("node => node.selectionStart") == place + len("golden yellow ")


def test_links_lie_under_the_ends_of_their_sentences(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, ESSAY)
    for number, node in enumerate(tab.locator("#links button").all()):
        box = node.bounding_box()
        rects = tab.evaluate(
            "number => [...document.querySelectorAll('#mirror span')[number].getClientRects()]"
            ".map(rect => [rect.right, rect.bottom])",
            number,
        )
        right, bottom = rects[-1]
        assert box is not None
        assert box["x"] <= right <= box["x"] + box["width"] + 2
        assert abs(box["y"] + box["height"] / 2 - bottom) < 8


def test_the_mirror_breaks_lines_where_the_text_does(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, ESSAY + "\n\n" + HOSTILE)
    for width in (1440, 800, 375):
        tab.set_viewport_size({"width": width, "height": 800})
        heights = tab.evaluate(HEIGHTS)
        assert heights[0] > 300 and abs(heights[0] - heights[1]) <= 2, width


def test_an_older_answer_never_replaces_a_newer_one(tab: Page, site: str) -> None:
    tab.goto(site)
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if not held:
            held.append(route)  # answered only after the second one
        else:
            route.continue_()

    tab.route("**/v1/score", hold_the_first)
    area(tab).fill("It rained all night. The street was wet.")
    tab.wait_for_timeout(300)
    assert len(held) == 1 and held[0].request.failure is None
    paste(tab, ESSAY)
    assert held[0].request.failure == "net::ERR_ABORTED"
    assert len(links(tab)) == 5


def test_hostile_text_is_shown_as_text(tab: Page, site: str) -> None:
    tab.goto(site)
    title = tab.title()
    paste(tab, HOSTILE)
    assert area(tab).input_value() == HOSTILE
    assert tab.locator("#mirror").text_content() == HOSTILE + "\u200b"
    assert tab.locator("#mirror script, #mirror img, #mirror b, #notes img, #reason img").count() == 0
    assert tab.title() == title
    # The service counts code points, the browser UTF-16 units: sentences must still begin at their first letters.
    found = sentences(tab)
    assert found[-1] == "The end came soon."
    assert any(sentence.startswith("שלום") for sentence in found)


def test_friendly_answers(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, "Only one sentence is here.")
    expect(tab.locator("#warnings [data-code=no-score]")).to_be_visible()
    expect(tab.get_by_role("button", name="Suggest an order")).to_be_disabled()

    paste(tab, "Der Hund bellt laut im Garten. Die Katze schläft auf dem Sofa. Es regnet seit dem Morgen.")
    expect(tab.locator("#warnings [data-code=not-english]")).to_contain_text("Do not use the score")
    expect(tab.locator("#summary")).to_be_empty()  # no percentile that somebody could quote, and no second warning

    paste(tab, "The bees flew on. " * 10_000)
    problem = tab.get_by_role("alert")
    expect(problem).to_contain_text("too many sentences")
    expect(problem).to_contain_text("10000 sentences")

    paste(tab, "")
    assert tab.get_by_role("alert").count() == 0
    expect(tab.get_by_role("heading", name="See how well the sentences of a text fit together")).to_be_visible()


def test_long_text_draws_only_the_links_in_sight(tab: Page, site_with_breaks: str) -> None:
    tab.goto(site_with_breaks)
    paste(tab, "\n\n".join("The bees flew home. The bees slept well. It rained." for _ in range(130)))
    drawn = tab.locator("#links button").count()
    assert 20 < drawn < 300
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(tab.get_by_role("button", name=re.compile("^Sentence 389 to 390"))).to_be_visible()


def test_cancel_stops_a_slow_request(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, ESSAY)
    tab.route("**/v1/order", lambda route: None)  # never answered
    tab.get_by_role("button", name="Suggest an order").click()
    tab.get_by_role("button", name="Cancel").click()
    expect(tab.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(tab.locator("#panel")).to_be_hidden()
    tab.unroute("**/v1/order")
    tab.get_by_role("button", name="Suggest an order").click()
    expect(tab.get_by_role("heading", name="Suggested order")).to_be_visible()


def test_the_address_never_has_the_text(tab: Page, site: str) -> None:
    addresses: list[str] = []
    tab.on("request", lambda request: addresses.append(request.url))
    tab.goto(site)
    paste(tab, "Quokkas sleep by day. Quokkas eat at night.")
    tab.get_by_role("button", name="Compare").click()
    assert tab.url == f"{site}#compare"
    assert not [address for address in addresses if "uokka" in address or not address.startswith((site, "blob:"))]


def test_a_service_that_has_stopped_is_named(tab: Page, site: str) -> None:
    tab.goto(site)
    tab.route("**/v1/score", lambda route: route.abort("connectionrefused"))
    paste(tab, ESSAY)
    expect(tab.get_by_role("alert")).to_contain_text("The service does not answer. Check that")
    assert area(tab).input_value() == ESSAY


def test_the_reason_follows_the_text(tab: Page, site: str) -> None:
    """The pointer rests on a link while the text changes: the box says what the new score says, or disappears."""
    tab.goto(site)
    paste(tab, ESSAY)
    box, nodes = tab.locator("#reason"), tab.locator("#links button")
    nodes.nth(3).hover()
    expect(box).to_contain_text("between sentences 4 and 5")
    paste(tab, "One short text. It has two sentences.")
    expect(nodes).to_have_count(1)
    expect(box).to_be_hidden()
    nodes.first.hover()
    expect(box).to_contain_text("between sentences 1 and 2")
    paste(tab, "")
    expect(box).to_be_hidden()


def test_undo_by_key_after_accepting_a_move(tab: Page, site: str) -> None:
    """Accept moves the focus away from the text; Ctrl+Z still takes the move back, and Undo has no empty step."""
    tab.goto(site)
    given = (
        "It feeds the hive in winter. Bees visit flowers to drink nectar. They carry the nectar home. "
        "There it becomes honey."
    )
    paste(tab, given)
    tab.get_by_role("button", name="Suggest an order").click()
    tab.locator(".moves li").first.get_by_role("button", name=re.compile("^Accept")).click()
    expect(area(tab)).not_to_have_value(given)
    tab.keyboard.press("Control+z")
    expect(area(tab)).to_have_value(given)
    expect(tab.get_by_role("button", name="Undo", exact=True)).to_be_hidden()


def test_undo_keeps_the_focus(tab: Page, site: str) -> None:
    """The panel is drawn again, and the button Undo disappears: whoever uses the keyboard stays where they were."""
    tab.goto(site)
    given = "It feeds the hive. Bees visit flowers to drink nectar. They carry the nectar home. There it becomes honey."
    paste(tab, given)
    for undo in ("Control+z", "Take back", "Undo"):
        tab.get_by_role("button", name="Suggest an order").click()
        tab.locator(".moves li").first.get_by_role("button", name=re.compile("^Accept")).focus()
        tab.keyboard.press("Enter")
        expect(area(tab)).not_to_have_value(given)
        if undo == "Control+z":
            tab.keyboard.press(undo)
        else:
            tab.get_by_role("button", name=undo, exact=True).focus()
            tab.keyboard.press("Enter")
        expect(area(tab)).to_have_value(given)
        assert tab.evaluate("document.activeElement.closest('#panel') !== null || document.activeElement.id") in (
            True,
            "text-area",
        )
        tab.get_by_role("button", name="Close").click()
