"""Functions of the page by themselves, called in the browser: places of sentences, moves, tables and Markdown."""

from __future__ import annotations

import random
from typing import Any

from playwright.sync_api import Page

PARAGRAPHS = [["One.", "Two."], ["Three."], ["Four.", "Five.", "Six."]]


def call(tab: Page, module: str, function: str, *given: Any) -> Any:
    """Return what a function of a module of the page returns."""
    return tab.evaluate(
        "async ([module, name, given]) => (await import(`/script/shared/${module}.js`))[name](...given)",
        [module, function, given],
    )


def written(paragraphs: list[list[str]]) -> tuple[str, list[dict[str, int]]]:
    """A text of paragraphs and the places of its sentences."""
    text = "\n\n".join(" ".join(sentences) for sentences in paragraphs)
    spans, place = [], 0
    for sentence in (sentence for sentences in paragraphs for sentence in sentences):
        place = text.index(sentence, place)
        spans.append({"start": place, "end": place + len(sentence)})
    return text, spans


def test_a_moved_sentence_leaves_no_gap(tab: Page, site_with_breaks: str) -> None:
    tab.goto(site_with_breaks)
    text, spans = written(PARAGRAPHS)
    sentences = [sentence for paragraph in PARAGRAPHS for sentence in paragraph]
    for sentence in range(6):
        for after in [None, *(place for place in range(6) if place != sentence)]:
            moved = call(tab, "text", "moveSentence", text, spans, sentence, after)
            rest = [one for one in sentences if one != sentences[sentence]]
            place = 0 if after is None else rest.index(sentences[after]) + 1
            assert moved.split() == [*rest[:place], sentences[sentence], *rest[place:]], (sentence, after)
            assert moved == moved.strip() and "  " not in moved and "\n\n\n" not in moved and " \n" not in moved
            # Only the paragraph of one sentence can disappear.
            assert moved.count("\n\n") == (1 if sentence == 2 else 2), (sentence, after, moved)


def test_edits_shift_the_places_of_sentences(tab: Page, site_with_breaks: str) -> None:
    tab.goto(site_with_breaks)
    chance = random.Random(3)
    text, spans = written(PARAGRAPHS)
    for _ in range(60):
        start = chance.randrange(len(text))
        end = min(len(text), start + chance.randrange(4))
        edited = text[:start] + "xy"[: chance.randrange(3)] + text[end:]
        edit = call(tab, "text", "smallestEdit", text, edited)
        assert text[: edit["start"]] + edit["inserted"] + text[edit["end"] :] == edited
        for span in call(
            tab, "text", "shiftSpans", [{**one, "text": text[one["start"] : one["end"]]} for one in spans], edit
        ):
            kept = edited[span["start"] : span["end"]]
            assert kept == span["text"] or span["stale"], (text, edited, span)


def test_tables_and_markdown(tab: Page, site_with_breaks: str) -> None:
    tab.goto(site_with_breaks)
    table = '\ufeffname,text\r\nAda,"One, ""two"".\nThree."\r\n\r\nBen,Four.\r\n'
    assert call(tab, "files", "parseTable", table) == [
        ["name", "text"],
        ["Ada", 'One, "two".\nThree.'],
        ["Ben", "Four."],
    ]
    assert call(tab, "files", "fromTable", "a\tremark\n1\tA long text. It goes on.\n", "t") == [
        {"id": "t 1", "text": "A long text. It goes on."}
    ]
    assert call(tab, "files", "fromLines", '{"sentences": ["A.", "B."], "id": 7}\n\n{"text": "C."}', "x") == [
        {"id": "7", "text": "A. B.", "spans": [{"start": 0, "end": 2}, {"start": 3, "end": 5}]},
        {"id": "x 2", "text": "C."},
    ]
    paragraphs = '{"paragraphs": [["A.", "B."], ["C."]], "text": "x"}\n"D. E."'
    assert [one["text"] for one in call(tab, "files", "fromLines", paragraphs, "x")] == ["A. B.\n\nC.", "D. E."]
    markdown = "---\ntitle: x\n---\n# Head\n\nSee [the page](http://a.b) and **this**. ![p](q.png)\n"
    assert call(tab, "files", "withoutMarkdown", markdown) == "See the page and this."
