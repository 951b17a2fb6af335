"""Compare, the class view, files and downloads."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.actions import ESSAY, area, paste, sentences

SHUFFLED = "In return, the flower dusts the bee with pollen. Bees visit flowers to drink nectar. Rates rose in March."
SOUND = "Bees visit flowers to drink nectar. In return, the flower dusts the bee with pollen. The bee flies on."


def save(tab: Page, action: str, folder: Path) -> Path:
    """Press a button that downloads a file, and return the file."""
    with tab.expect_download() as found:
        tab.get_by_role("button", name=action, exact=True).click()
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def names(tab: Page) -> list[str]:
    """The texts of the class, in the order of the table."""
    return tab.locator("#class-table tbody th button").all_inner_texts()


def test_compare_shows_what_changed(tab: Page, site: str) -> None:
    tab.goto(f"{site}#compare")
    tab.get_by_label("First version").fill(SHUFFLED)
    tab.get_by_label("Second version").fill(SOUND)
    tab.get_by_role("button", name="Compare").click()
    expect(tab.locator("#compare-summary")).to_contain_text("The second version has the higher score")
    first, second = tab.get_by_role("article", name="First version"), tab.get_by_role("article", name="Second version")
    expect(first.locator(".kind-removed")).to_contain_text("Rates rose in March.")
    expect(second.locator(".kind-added")).to_contain_text("The bee flies on.")
    assert first.locator(".kind-moved").count() == second.locator(".kind-moved").count() == 1
    assert first.locator(".inline-link").count() == 2
    tab.get_by_role("button", name="Edit the texts").click()
    assert tab.get_by_role("textbox", name="Second version").input_value() == SOUND


def test_a_sentence_that_was_moved_and_changed_is_both(tab: Page, site: str) -> None:
    tab.goto(f"{site}#compare")
    tab.get_by_label("First version").fill(f"{SOUND} Rates rose in March.")
    tab.get_by_label("Second version").fill(f"Rates rose fast in March. {SOUND}")
    tab.get_by_role("button", name="Compare").click()
    for side in ("First", "Second"):
        moved = tab.get_by_role("article", name=f"{side} version").locator(".kind-moved")
        expect(moved).to_contain_text("moved and changed: Rates rose")
        expect(moved.locator(".sign")).to_have_text("↕~")


def test_the_text_becomes_the_first_version(tab: Page, site: str) -> None:
    tab.goto(site)
    paste(tab, SHUFFLED)
    tab.get_by_role("button", name="Compare").click()
    assert tab.get_by_label("First version").input_value() == SHUFFLED
    tab.go_back()
    expect(area(tab)).to_be_visible()
    assert area(tab).input_value() == SHUFFLED


def test_class_view_sorts_opens_and_downloads(tab: Page, site: str, tmp_path: Path) -> None:
    table = tmp_path / "class.csv"
    texts = {"Ada": SOUND, "Ben": SHUFFLED, '=Cy "C"': "One sentence.", "Dee": f"{SOUND}\n\nIt is, late."}
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows([("name", "essay"), *texts.items()])
    tab.goto(f"{site}#class")
    tab.get_by_label("Open files").set_input_files(table)
    expect(tab.locator("#class-summary")).to_contain_text("4 texts. ")
    assert names(tab) == ["Ada", "Ben", '=Cy "C"', "Dee"]

    tab.get_by_role("button", name="Score").click()
    falling = names(tab)
    assert falling.index("Ada") < falling.index("Ben") and falling[-1] == '=Cy "C"'
    assert tab.get_by_role("columnheader", name="Score").get_attribute("aria-sort") == "descending"
    expect(tab.get_by_role("button", name="Score")).to_be_focused()
    tab.get_by_role("button", name="Score").click()
    assert names(tab) == [*reversed(falling[:-1]), '=Cy "C"']  # texts without a score stay last

    records = json.loads(save(tab, "Download JSON", tmp_path).read_text(encoding="utf-8"))
    assert [record["id"] for record in records] == ["Ada", "Ben", '=Cy "C"', "Dee"]
    assert records[2]["value"] is None and records[3]["paragraphs"][-1] == 1
    with save(tab, "Download CSV", tmp_path).open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert found[2]["id"] == '\'=Cy "C"' and found[2]["remarks"] == "no-score"
    assert float(found[0]["value"]) == records[0]["value"]

    tab.get_by_role("button", name="Ben").click()
    assert area(tab).input_value() == SHUFFLED


def test_one_bad_text_does_not_stop_a_class(tab: Page, site: str, tmp_path: Path) -> None:
    lines = tmp_path / "answers.jsonl"
    texts = [SOUND, "Too long. " * 3000, SHUFFLED]
    lines.write_text("".join(json.dumps({"id": f"a{n}", "text": text}) + "\n" for n, text in enumerate(texts)))
    tab.goto(site)
    tab.get_by_label("Open files").set_input_files(lines)
    expect(tab.locator("#class-summary")).to_contain_text("3 texts. ")
    rows = tab.locator("#class-table tbody tr")
    expect(rows.nth(1)).to_contain_text("too many sentences")
    assert [rows.nth(n).locator("td").first.inner_text() for n in (0, 2)] != ["–", "–"]


def test_an_unreadable_file_does_not_stop_a_class(tab: Page, site: str, tmp_path: Path) -> None:
    good, bad, other = (tmp_path / name for name in ("anna.txt", "ben.txt", "cleo.txt"))
    good.write_text(SOUND)
    bad.write_bytes("Café. Thé.".encode("latin-1"))
    other.write_text(SHUFFLED)
    tab.goto(f"{site}#class")
    tab.get_by_label("Open files").set_input_files([good, bad, other])
    expect(tab.locator("#class-summary")).to_contain_text("3 texts. ")
    assert names(tab) == ["anna", "cleo"]
    expect(tab.locator("#class-table tbody tr").nth(1)).to_contain_text("“ben.txt” is not a text in UTF-8")
    tab.get_by_label("Genre").last.select_option("essay")  # all are scored again
    expect(tab.locator("#class-table tbody tr").nth(1)).to_contain_text("UTF-8")
    tab.get_by_label("Open files").set_input_files(bad)
    expect(tab.locator("#view-class").get_by_role("alert")).to_contain_text("“ben.txt” is not a text in UTF-8")
    expect(tab.locator("#view-class")).to_be_visible()


def test_sentences_of_a_file_stay_as_they_are_until_they_are_edited(tab: Page, site: str, tmp_path: Path) -> None:
    lines = tmp_path / "notes.jsonl"
    given = [["bees visit flowers", "they drink nectar 🐝", "Dr. Who makes honey of it"], ["honey feeds the hive"]]
    lines.write_text(json.dumps({"id": "n", "paragraphs": given}) + "\n" + json.dumps({"id": "o", "text": SOUND}))
    tab.goto(site)
    tab.get_by_label("Open files").set_input_files(lines)
    expect(tab.locator("#class-table tbody tr").first.locator("td").nth(5)).to_have_text("4")
    tab.get_by_role("button", name="n", exact=True).click()
    expect(tab.locator("#links button")).to_have_count(3)
    assert sentences(tab) == [sentence for paragraph in given for sentence in paragraph]
    assert area(tab).input_value() == "\n\n".join(map(" ".join, given))
    tab.get_by_role("button", name="Suggest an order").click()
    expect(tab.get_by_role("heading", name="Suggested order")).to_be_visible()
    assert area(tab).evaluate("node => document.querySelectorAll('#mirror span').length") == 4
    area(tab).press("End")
    tab.keyboard.type(" now.")
    tab.wait_for_function("() => !document.querySelector('#links .stale')")
    expect(tab.locator("#mirror span")).not_to_have_count(4)  # split by the service like any other text


def test_files_open_as_text(tab: Page, site: str, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text(
        f"# A heading\n\n{SOUND.replace('nectar', '**nectar**')}\n\n```\ncode. code.\n```\n", encoding="utf-8"
    )
    tab.goto(site)
    tab.get_by_label("Open files").set_input_files(note)
    expect(tab.locator("#links button")).to_have_count(2)
    assert area(tab).input_value() == SOUND
    binary = tmp_path / "picture.txt"
    binary.write_bytes(b"\xff\xd8\xff\xe0")
    tab.get_by_label("Open files").set_input_files(binary)
    expect(tab.get_by_role("alert")).to_contain_text("not a text in UTF-8")


def test_a_dropped_file_is_read(tab: Page, site: str) -> None:
    tab.goto(site)
    tab.evaluate(
        "text => { const data = new DataTransfer();"
        "data.items.add(new File([text], 'essay.txt', {type: 'text/plain'}));"
        "for (const type of ['dragenter', 'dragover', 'drop']) document.body.dispatchEvent("
        "new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true})) }",
        SOUND,
    )
    expect(tab.locator("#links button")).to_have_count(2)
    assert area(tab).input_value() == SOUND
    expect(tab.locator("#drop")).to_be_hidden()


def test_downloads_of_a_text(tab: Page, site: str, tmp_path: Path) -> None:
    tab.goto(site)
    text = ESSAY.replace("My uncle", '<b>My "uncle"</b>')
    paste(tab, text)
    files = {}
    for name in ("JSON", "CSV", "HTML", "PNG"):
        tab.get_by_role("button", name="Download", exact=True).click()
        files[name] = save(tab, name, tmp_path)
    record = json.loads(files["JSON"].read_text(encoding="utf-8"))
    assert record["text"] == text and len(record["transitions"]) == 5 and record["model"] == "weft-reader"
    rows = list(csv.DictReader(io.StringIO(files["CSV"].read_bytes().decode())))
    assert [float(row["value"]) for row in rows] == record["transitions"]
    assert rows[4]["left_sentence"] == '<b>My "uncle"</b> bought a motorbike in 1987.'
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")
    page = files["HTML"].read_text(encoding="utf-8")
    assert "<script" not in page and "<b>" not in page and "&lt;b&gt;My" in page
    tab.goto(files["HTML"].as_uri())  # the file stands alone
    expect(tab.locator("body")).to_contain_text('<b>My "uncle"</b> bought a motorbike')
    assert tab.locator("meter").count() == 5


def test_a_picture_says_what_its_links_mean(tab: Page, site: str, tmp_path: Path) -> None:
    tab.add_init_script(
        "window.drawn = []; const draw = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (...given) { drawn.push(given);"
        " draw.apply(this, given) }"
    )
    tab.goto(site)
    paste(tab, ESSAY)
    tab.get_by_role("button", name="Download", exact=True).click()
    save(tab, "PNG", tmp_path)
    words = [(given[0], given[2]) for given in tab.evaluate("drawn")]
    weak, strong, torn = ([word for word in words if word[0] == name][-1] for name in ("weak", "strong", "break"))
    scale = words[-1]
    assert weak[1] == strong[1] == torn[1] < scale[1] and scale[0].startswith("weft")


def test_cancel_stops_a_class(tab: Page, site: str) -> None:
    tab.goto(f"{site}#class")
    tab.route("**/v1/score", lambda route: None)  # never answered
    tab.get_by_role("button", name="Try the examples").click()
    tab.get_by_role("button", name="Cancel").click()
    expect(tab.locator("#class-progress")).to_be_hidden()
    tab.unroute("**/v1/score")
    tab.get_by_role("button", name="Try the examples").click()
    expect(tab.locator("#class-summary")).to_contain_text("6 texts. ")


def test_a_service_with_a_key_asks_for_it(tab: Page, site_with_key: tuple[str, str]) -> None:
    site, key = site_with_key
    tab.goto(site)
    refusal = tab.locator("#key-wrong")
    expect(tab.get_by_role("dialog")).to_be_visible()
    expect(refusal).to_be_hidden()
    for given, refused in (("wrong", True), (key, False)):  # a wrong key is said to be wrong, and asked for again
        tab.get_by_role("textbox", name="Key").fill(given)
        tab.get_by_role("button", name="Use it").click()
        expect(refusal).to_be_visible(visible=refused)
    expect(tab.get_by_role("dialog")).to_be_hidden()
    paste(tab, SOUND)
    expect(tab.locator("#links button")).to_have_count(2)
    assert key not in tab.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
