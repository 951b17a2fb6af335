"""Wikipedia: a small dump in the real format, its markup, and WikiExtractor's output."""

from __future__ import annotations

import bz2
import gc
import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

import pytest

from weft.corpora.readers import wikipedia
from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.corpora.readers.wikitext import plain_paragraphs
from weft.document import Document
from weft.errors import CorpusError

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="0.11" xml:lang="en">
  <siteinfo><sitename>Wikipedia</sitename><namespaces><namespace key="0" /></namespaces></siteinfo>
"""
FOOT = "</mediawiki>\n"
RAIN = """{{Short description|Water}}{{Infobox weather
| name = Rain
| list =
* one
* two
}}
[[File:Rain.jpg|thumb|A [[puddle]] in the rain. It is wet.]]
'''Rain''' is [[water]] in ''[[drop (liquid)|drops]]''.<ref name="a">A book. P. 3.</ref> It falls from
[[cloud]]s &amp; is wet.<ref name="a" /> It fell {{convert|5|km|mi}} away ({{lang-la|pluvia}}).<!-- hidden. -->

Too short. Dropped.
== History ==
{| class="wikitable"
! Year !! Rain
|-
| 1900 || Much. Very much. Too much.
|}
Nobody knew why. They asked [https://example.org the priest]. He did not know. __NOTOC__
* A list. Of things. That are not prose.
# Another. List. Here.

[[Category:Weather]]
[[de:Regen]]
"""


def page(title: str, text: str, number: int = 1, namespace: int = 0, extra: str = "") -> str:
    return f"""  <page>
    <title>{escape(title)}</title><ns>{namespace}</ns><id>{number}</id>{extra}
    <revision><id>99{number}</id><timestamp>2024-01-01T00:00:00Z</timestamp>
      <contributor><username>U</username><id>5</id></contributor><model>wikitext</model>
      <text bytes="1" xml:space="preserve">{escape(text)}</text><sha1>x</sha1></revision>
  </page>
"""


PROSE = "One here. Two here. Three here."
DUMP = (
    HEAD
    + page("Rain & snow", RAIN, 12)
    + page("Talk:Rain", PROSE, 13, 1)
    + page("Precipitation", "#REDIRECT [[Rain]] " + PROSE, 14, extra='<redirect title="Rain" />')
    + page("Template:Rain", PROSE, 15, 10)
    + page("Stub", "Only one sentence.", 16)
    + page("Empty", "", 17)
    + page("Last", PROSE, 18)
    + FOOT
)
EXPECTED = [
    Document(
        "12",
        (
            "Rain is water in drops.",
            "It falls from clouds & is wet.",
            "It fell 5 km away.",
            "Nobody knew why.",
            "They asked the priest.",
            "He did not know.",
        ),
        "Rain & snow",
        (0, 3),
    ),
    Document("18", ("One here.", "Two here.", "Three here."), "Last"),
]


def read(path: Path, **options: object) -> list[Document]:
    return list(read_documents(path, ReadOptions(**options)))  # type: ignore[arg-type]


def write(tmp_path: Path, data: bytes | str, name: str = "enwiki-pages-articles.xml.bz2") -> Path:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_a_dump_gives_the_prose_of_its_articles(tmp_path: Path) -> None:
    assert read(write(tmp_path, DUMP, "dump.xml")) == EXPECTED


def test_a_multistream_dump(tmp_path: Path) -> None:
    pieces = [bz2.compress(DUMP[start : start + 700].encode()) for start in range(0, len(DUMP), 700)]
    assert read(write(tmp_path, b"".join(pieces))) == EXPECTED


def test_short_paragraphs_on_request(tmp_path: Path) -> None:
    documents = read(write(tmp_path, DUMP, "dump.xml"), min_sentences=1)
    assert "Too short." in documents[0].sentences
    assert [document.title for document in documents] == ["Rain & snow", "Stub", "Last"]


def test_old_dumps_have_other_namespaces_or_none(tmp_path: Path) -> None:
    for old in ("http://www.mediawiki.org/xml/export-0.3/", ""):
        text = DUMP.replace("http://www.mediawiki.org/xml/export-0.11/", old)
        assert read(write(tmp_path, text, "dump.xml")) == EXPECTED


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (DUMP[:3000], "malformed or ends too early"),
        (DUMP.replace("</revision>", "</revisio>", 1), "line 3"),
        ("<html><body/></html>", "not a MediaWiki dump"),
        ("plain text", "malformed"),
        ("", "malformed"),
        ('<?xml version="1.0" encoding="x-none"?><mediawiki/>', "malformed"),
        (bz2.compress(DUMP.encode())[:-50], "compressed file ends too early"),
        (HEAD + FOOT, "no text in"),
    ],
)
def test_broken_dumps(tmp_path: Path, data: str | bytes, said: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(write(tmp_path, data))
    error = caught.value
    assert said in str(error)
    assert all((error.seen, error.allowed, error.next_step))


def test_articles_before_the_damage_are_given(tmp_path: Path) -> None:
    documents = read_documents(write(tmp_path, DUMP[:3000], "dump.xml"))
    assert next(documents) == EXPECTED[0]


def test_a_page_that_cannot_be_parsed_is_counted_and_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_on_rain(text: str) -> list[str]:
        if "Rain" in text:
            raise RuntimeError("no")
        return plain_paragraphs(text)

    monkeypatch.setattr(wikipedia, "plain_paragraphs", fail_on_rain)
    with caplog.at_level(logging.WARNING):
        assert read(write(tmp_path, DUMP, "dump.xml")) == EXPECTED[1:]
    assert "page 12 (Rain & snow) is omitted" in caplog.text
    assert "1 pages are omitted" in caplog.text


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    def elements() -> int:
        return sum(type(item) is Element for item in gc.get_objects())

    body = "".join(page(f"Talk:P{number}", "x", number, 1) for number in range(3000)) + page("Last", PROSE)
    before = elements()  # whoever runs the tests may have some
    documents = read_documents(write(tmp_path, HEAD + body + FOOT, "dump.xml"))
    assert next(documents).title == "Last"
    # The parser works ahead by a few pages; a root that kept even an emptied element of each would have 3,000.
    assert elements() - before < 1500
    documents.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("markup", "plain"),
    [
        ("a [[b]] [[c|d]] [[:Category:e]]", ["a b d Category:e"]),
        ("a [[CSI: Miami]] [[image:x.png|a [[b]] c]]", ["a CSI: Miami"]),
        ("a {{x|{{y|z}}}} b.", ["a  b."]),
        ("a {{x}}, b (; ) c", ["a, b  c"]),
        ("a<br>b<p>c</p>d", ["a\nb", "c", "d"]),
        ("a <code>b</code> <math>c</math> <nowiki>[[d]]</nowiki>", ["a b  [[d]]"]),
        ("=h=\na\n==h==\nb", ["a", "b"]),
        ("a\n: b\n; c\n\nd", ["a", "d"]),
        ("{{unclosed [[ <ref> a", ["{{unclosed [[ <ref> a"]),
        ("{{Nowrap|a b}} {{lang|fr|c}} {{cvt|1|m|ft|abbr=on}}", ["a b c 1 m"]),
        ("&nbsp;&eacute;&#65;", ["éA"]),
    ],
)
def test_markup(markup: str, plain: list[str]) -> None:
    assert plain_paragraphs(markup) == plain


def test_thousands_of_templates_are_no_problem() -> None:
    text = "A [[b]] {{c|d=[[e]]}}<ref>f</ref>. " * 4000
    assert len(plain_paragraphs(text)[0].split("A b")) == 4001


# ---- WikiExtractor ----

TAGGED = """<doc id="12" url="https://en.wikipedia.org/wiki?curid=12" title="The "Rain"">
The "Rain"

It fell. It stopped.
AT&amp;T &lt;knew&gt; why.

</doc>
<doc id="13" revid="7" url="u" title="Snow">
Cold.
</doc>
"""
PAGES = [
    Document("12", ("It fell.", "It stopped.", "AT&T <knew> why."), 'The "Rain"', (0, 2)),
    Document("13", ("Cold.",), "Snow"),
]


def json_pages() -> Iterator[str]:
    yield json.dumps(
        {"id": "12", "url": "u", "title": 'The "Rain"', "text": "It fell. It stopped.\nAT&amp;T <knew> why."}
    )
    yield json.dumps({"id": "13", "revid": "7", "title": "Snow", "text": "Cold."})


def test_both_shapes_of_extracted_files(tmp_path: Path) -> None:
    assert read(write(tmp_path, TAGGED, "wiki_00")) == PAGES
    assert read(write(tmp_path, "\n".join(json_pages()), "wiki_01")) == PAGES
    assert read(write(tmp_path, bz2.compress(TAGGED.encode()), "wiki_02.bz2")) == PAGES


def test_extracted_text_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (TAGGED, "\n".join(json_pages())):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        assert list(read_documents("-", ReadOptions(format="wikiextractor"))) == PAGES


def test_a_tree_of_extracted_files(tmp_path: Path) -> None:
    for folder in ("AB", "AA"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, TAGGED.replace('id="1', f'id="{folder}1'), "wiki_00")
        write(tmp_path / folder, "not ours", "notes.txt")
    assert [document.id for document in read(tmp_path)] == ["AA12", "AA13", "AB12", "AB13"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stray\n" + TAGGED, "line 1: not WikiExtractor output"),
        (TAGGED.replace("</doc>\n", "", 1), "line 7: not WikiExtractor output"),
        (TAGGED[:-8], "before </doc>"),
        ('{"id": "1", "text": "a"}\n{', "line 2: bad JSON"),
    ],
)
def test_broken_extracted_files(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(write(tmp_path, text, "wiki_00"))
    assert said in str(caught.value)


def test_a_directory_without_extracted_files(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no WikiExtractor output"):
        read(tmp_path, format="wikiextractor")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        "[[a ", "[[a|", "[[File:a|", "{{a ", "{{a|b=", "{{{a ", "<b>", "<ref>", "<div>a ", "<a b=", "<br ", "<nowiki>",
        "[http://a ", "<!-- ", "<b [[", "{{[[<b>", "[[a <b> ]] </b>", "{{a [[b }} ]]", "]] [[", "''a ", "== a\n",
        "{|\na ", "( ", "  ", "[", "<", "http://a ",
    ],
)  # fmt: skip
def test_unclosed_markup_takes_linear_time(unit: str) -> None:
    plain_paragraphs("It rained. " + unit * 20_000)


def test_unclosed_markup_leaves_the_rest_alone() -> None:
    (text,) = plain_paragraphs("[[Rain|It]] rained<ref>x</ref>. " + "[[b " * 5000 + "He ''slept''.")
    assert text.startswith("It rained. b b b") and text.endswith("b He slept.")
    assert plain_paragraphs("A [[few are left and [[kept|as]] they <b>are.") == ["A [[few are left and as they <b>are."]
