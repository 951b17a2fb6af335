"""Suggest an order, accept and undo moves; continue a text; breaks of a model that knows them."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from tests.browser.actions import area, links, paste, resting, select, sentences
from tests.browser.known_breaks import BEES

HOW_TO = (
    "Pump up the tyre to the pressure that is printed on its side. First, turn the bicycle upside down and take the "
    "wheel off. Mark the hole with chalk, let the air out and roughen the rubber around it.\n\nOnce the wheel is off, "
    "lever the tyre over the rim and pull out the inner tube. Push the tube back under the tyre and make sure that it "
    "is not twisted. Blow some air into the tube and hold it under water to find the hole."
)

ORDER = (
    "text => fetch('/v1/order', {method: 'POST', headers: {'Content-Type': 'application/json'}, "
    "body: JSON.stringify({text})}).then(answer => answer.json())"
)


def test_order_accept_one_and_undo(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, HOW_TO)
    before = sentences(tab)
    tab.get_by_role("button", name="Suggest an order").click()
    moves = tab.locator(".moves li")
    expect(tab.get_by_role("heading", name="Suggested order")).to_be_visible()
    assert moves.count() >= 2
    name = moves.first.locator(".move-name").inner_text()
    number = int(re.findall(r"Move sentence (\d+)", name)[0])

    moves.first.get_by_role("button", name=re.compile("^Accept")).click()
    expect(moves.first).to_contain_text("Moved")
    after = sentences(tab)
    assert after != before and sorted(after) == sorted(before)
    without = [sentence for sentence in before if sentence != before[number - 1]]
    assert [sentence for sentence in after if sentence != before[number - 1]] == without
    assert area(tab).input_value().count("\n\n") == 1  # paragraphs stay

    tab.get_by_role("button", name="Undo").click()
    expect(moves.first).to_contain_text(name)
    assert area(tab).input_value() == HOW_TO


def test_undo_takes_back_what_was_typed_before_the_move(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, HOW_TO)
    tab.get_by_role("button", name="Suggest an order").click()
    tab.locator(".moves button").first.click()
    expect(tab.locator(".moves li.accepted")).to_have_count(1)
    moved = area(tab).input_value()
    select(tab, 0, 0)
    tab.keyboard.type("Well now. ")
    assert area(tab).input_value() == f"Well now. {moved}"
    tab.get_by_role("button", name="Undo").click()
    assert area(tab).input_value() == moved
    tab.get_by_role("button", name="Undo").click()
    assert area(tab).input_value() == HOW_TO
    expect(tab.get_by_role("button", name="Undo")).to_be_hidden()
    expect(tab.locator(".moves li.accepted")).to_have_count(0)


def test_closing_the_panel_stops_the_writing(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, HOW_TO)
    tab.route("**/v1/generate/stream", lambda route: None)  # never answered
    tab.get_by_role("button", name="Continue").click()
    expect(tab.get_by_role("button", name="Stop")).to_be_visible()
    tab.get_by_role("button", name="Close").click()
    expect(tab.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(tab.locator("#details")).to_contain_text("sentences")


def test_all_moves_in_any_order_lead_to_the_suggested_order(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, HOW_TO)
    tab.get_by_role("button", name="Suggest an order").click()
    moves = tab.locator(".moves li")
    expect(tab.get_by_role("heading", name="Suggested order")).to_be_visible()
    order = tab.evaluate(ORDER, HOW_TO)["orders"][0]
    total = moves.count()
    assert total == len(order["moves"])
    for left in range(total, 0, -1):  # the last one first
        tab.locator(".moves li:not(.accepted)").last.get_by_role("button", name=re.compile("^Accept:")).click()
        expect(tab.locator(".moves li.accepted")).to_have_count(total - left + 1)
    assert [" ".join(sentence.split()) for sentence in sentences(tab)] == order["sentences"]


def test_moves_of_a_changed_text_are_not_made(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, HOW_TO)
    tab.get_by_role("button", name="Suggest an order").click()
    expect(tab.get_by_role("heading", name="Suggested order")).to_be_visible()
    paste(tab, f"A tyre can be flat. {HOW_TO}")
    expect(tab.locator(".moves")).to_have_count(0)
    expect(tab.get_by_role("button", name="Suggest again")).to_be_visible()
    paste(tab, HOW_TO)  # the moves are right again
    assert tab.locator(".moves li").count() >= 2


def test_accept_all_is_one_step_with_one_request_and_undo_takes_it_back(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, HOW_TO)
    tab.get_by_role("button", name="Suggest an order").click()
    expect(tab.get_by_role("heading", name="Suggested order")).to_be_visible()
    total = tab.locator(".moves li").count()
    order = tab.evaluate(ORDER, HOW_TO)["orders"][0]
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.route("**/v1/score", lambda route: None)  # the text changes before the service answers
    tab.get_by_role("button", name="Accept all").click()
    expect(tab.locator(".moves li.accepted")).to_have_count(total)
    assert [" ".join(sentence.split()) for sentence in sentences(tab)] == order["sentences"]
    assert len(asked) == 1
    tab.get_by_role("button", name="Undo").click()
    assert area(tab).input_value() == HOW_TO
    expect(tab.locator(".moves li.accepted")).to_have_count(0)


def test_a_small_gain_comes_with_a_caution(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, HOW_TO)
    answer = tab.evaluate(ORDER, HOW_TO)
    for gain, shown in ((0.001, 1), (9.0, 0)):
        answer["orders"][0]["value"] = answer["orders"][0]["input_value"] + gain
        tab.route("**/v1/order", lambda route: route.fulfill(json=answer))
        tab.get_by_role("button", name="Suggest an order").click()
        expect(tab.locator("#panel .notice")).to_have_count(shown)
        tab.get_by_role("button", name="Close").click()


def test_less_motion_moves_nothing(tab: Page, site: str) -> None:
    tab.emulate_media(reduced_motion="reduce")
    tab.goto(site)
    tab.evaluate(
        "new MutationObserver(changes => changes.forEach(change => change.addedNodes.forEach(node => {"
        "if (node.className === 'ghost') document.body.dataset.flew = 'yes' })))"
        ".observe(document.body, {childList: true})"
    )
    paste(tab, HOW_TO)
    for media, flew in (("reduce", None), ("no-preference", "yes")):
        tab.emulate_media(reduced_motion=media)  # type: ignore[arg-type]
        tab.get_by_role("button", name="Suggest an order").click()
        tab.locator(".moves button").first.click()
        expect(tab.locator(".moves li.accepted")).to_have_count(1)
        assert tab.evaluate("document.body.dataset.flew ?? null") == flew
        tab.get_by_role("button", name="Undo").click()
        tab.get_by_role("button", name="Close").click()
        resting(tab)


def test_continue_streams_candidates_of_which_one_is_used(tab: Page, site: str) -> None:
    tab.goto(site)
    text = "Bees visit flowers to drink nectar. In return, the flower dusts the bee with pollen."
    paste(tab, text)
    tab.get_by_role("button", name="Continue").click()
    candidate = tab.locator(".candidates li").first
    chosen = candidate.locator(".candidate").inner_text()  # the first is there before the others are written
    assert tab.locator(".candidates li").count() < 4
    candidate.get_by_role("button").click()
    assert area(tab).input_value() == f"{text} {chosen}"
    expect(tab.locator("#panel")).to_be_hidden()
    tab.get_by_role("button", name="Undo").click()
    assert area(tab).input_value() == text


def test_breaks_have_their_probability_and_reason(tab: Page, site_with_breaks: str) -> None:
    tab.goto(site_with_breaks)
    paste(tab, " ".join(BEES))
    expect(tab.locator("#summary")).to_have_text(
        "Scores higher than 87% of random orders of its own sentences. 2 breaks found."
    )
    marks = tab.locator("#links .marked")
    assert [node.inner_text() for node in marks.all()] == ["95%", "95%"]
    expect(tab.locator("#notes")).to_contain_text("weak links to all other sentences")  # reasons follow the links
    named = links(tab)
    assert named[1].startswith("Sentence 2 to 3: Break, 95% likely. Sentence 3 has weak links to all other sentences")
    assert named[4].startswith("Sentence 5 to 6: ") and "A break is 5% likely" in named[4]

    marks.first.hover()
    expect(tab.get_by_role("tooltip")).to_contain_text("weak links to all other sentences")
    tab.mouse.move(0, 0)
    expect(tab.get_by_role("tooltip")).to_be_hidden()
    marks.first.focus()
    expect(tab.get_by_role("tooltip")).to_contain_text("between sentences 2 and 3")
    tab.keyboard.press("ArrowRight")
    expect(tab.get_by_role("tooltip")).to_contain_text("between sentences 3 and 4")
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("tooltip")).to_be_hidden()

    paste(tab, " ".join(BEES[:2] + BEES[3:]))
    expect(tab.locator("#summary")).to_contain_text("No break found; the likeliest place")
