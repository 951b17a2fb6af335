"""HTML, Markdown, Word documents, PDF and subtitles, also damaged and harmful ones."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
import zipfile
import zlib
from pathlib import Path

import pytest

from weft.corpora.readers.formats import ReadOptions, detect_format, read_documents
from weft.document import Document
from weft.errors import ConfigError, CorpusError, WeftError

FIRST = "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>It rained</i>\r\n\r\n"
SRT = FIRST + "2\r\n00:00:03,000 --> 00:00:04,000\r\n{\\an8}all day."
VTT = """WEBVTT - a talk

STYLE
::cue { color: red }

NOTE a remark

intro
00:01.000 --> 00:02.000 align:start
<v DOCTOR>How <00:01.500>are you?

00:03.000 --> 00:04.000
<v PATIENT>I slept. It was

00:04.000 --> 00:05.000
I slept. It was

00:05.000 --> 00:06.000
good &amp; warm.
"""


def read(path: Path | str, **options: object) -> list[Document]:
    return list(read_documents(path, ReadOptions(**options)))  # type: ignore[arg-type]


def written(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def one(tmp_path: Path, name: str, content: str | bytes, **options: object) -> Document:
    (document,) = read(written(tmp_path, name, content), **options)
    return document


def failure(path: Path, **options: object) -> str:
    with pytest.raises((CorpusError, ConfigError)) as caught:
        read(path, **options)
    error = caught.value
    assert isinstance(error, WeftError) and all((error.what, error.seen, error.allowed, error.next_step))
    return str(error)


# HTML -----------------------------------------------------------------------------------------------------------------


def test_html_without_markup_scripts_and_menus(tmp_path: Path) -> None:
    page = """<!DOCTYPE html><html><head><title>A &amp; B</title><style>p {x: "</p>"}</style></head><body>
    <nav><a href=x>Home</a></nav><!-- <p>hidden</p> --><h1>Rain</h1>
    <p>It <b>fell</b> on A&nbsp;town. <a href="y">He</a>
    slept.</p><script>if (a < b) {}</script>
    <h2>Snow</h2><p>It froze<br>hard.<br><br>It thawed.
    <ul><li>eggs <li>milk and <em>bread</em></ul><pre>x = 1</pre>
    <table><tr><td>1</td><td>2</td></tr></table><footer>2020</footer></body></html>"""
    document = one(tmp_path, "a.html", page)
    assert document.title == "A & B"
    assert document.sentences == (
        "It fell on A town.", "He slept.", "It froze hard.", "It thawed.", "eggs", "milk and bread",
    )  # fmt: skip
    assert document.paragraph_starts == (0, 2, 3, 4)


def test_html_whose_text_stands_in_a_table(tmp_path: Path) -> None:
    words = "This page was made long ago, and all of its text stands in one cell."
    document = one(tmp_path, "a.htm", f"<table><tr><td>Menu<td><font>{words}<br><br>{words}</font></table>")
    assert document.sentences == (words, words) and document.paragraph_starts == (0, 1)


def test_html_names_its_encoding(tmp_path: Path) -> None:
    page = '<meta charset="windows-1252"><p>Ein Café – gut.'.encode("cp1252")
    assert one(tmp_path, "a.html", page).sentences == ("Ein Café – gut.",)
    assert "`encoding=" in failure(written(tmp_path, "b.html", "<p>Café".encode("latin-1")))
    assert one(tmp_path, "b.html", "<p>Café".encode("latin-1"), encoding="latin-1").sentences == ("Café",)


HOSTILE_PAGES = ("<", "<a ", "<!--", "&", "&#", "</", "<![", "<?", '<a x="', "<div>", "<script>", "<li>", "<nav>")


@pytest.mark.parametrize("piece", HOSTILE_PAGES)
def test_broken_html_is_read_in_linear_time(piece: str, tmp_path: Path) -> None:
    start = time.process_time()
    read(written(tmp_path, "a.html", piece * 100_000), empty="keep")
    assert time.process_time() - start < 10


# Markdown -------------------------------------------------------------------------------------------------------------


def test_markdown(tmp_path: Path) -> None:
    text = """---
title: "Weather"
---
# Rain

It *fell* on [the town](http://x.org "t"). He
slept. ![a picture](x.png)

Snow
====

> It froze \\*hard\\*.

- eggs
- milk and **bread**. Also tea.
    1. black

```
x = 1
```

| a | b |
|---|---|
| 1 | 2 |

<p>It <b>thawed</b>.</p>
"""
    document = one(tmp_path, "a.md", text)
    assert document.title == "Weather"
    assert document.sentences == (
        "It fell on the town.", "He slept.", "It froze *hard*.", "eggs", "milk and bread.", "Also tea.", "black",
        "It thawed.",
    )  # fmt: skip
    assert document.paragraph_starts == (0, 2, 3, 7)
    assert [warning.code for warning in document.layout_warnings] == ["list"]


@pytest.mark.parametrize("piece", ["[", "*a", "![", "> ", "- ", "`", "<", "_a_ ", "[a](", "\\"])
def test_hostile_markdown_is_read_in_little_time(piece: str, tmp_path: Path) -> None:
    start = time.process_time()
    read(written(tmp_path, "a.md", piece * 50_000), empty="keep")
    assert time.process_time() - start < 10


def test_empty_and_large_markup(tmp_path: Path) -> None:
    assert "no text" in failure(written(tmp_path, "a.md", "# Only a heading\n"))
    assert one(tmp_path, "a.html", "", empty="keep").sentences == ()
    assert "too large" in failure(written(tmp_path, "b.html", "<p>One." * 100), max_line_bytes=100)


# Subtitles ------------------------------------------------------------------------------------------------------------


def test_subtitles(tmp_path: Path) -> None:
    assert one(tmp_path, "a.srt", SRT).sentences == ("It rained all day.",)
    document = one(tmp_path, "a.vtt", VTT)
    assert document.sentences == ("How are you?", "I slept.", "It was good & warm.")
    assert document.paragraph_starts == (0, 1)
    assert one(tmp_path, "b.vtt", VTT, speaker="patient").sentences == ("I slept.", "It was good & warm.")
    dashes = "1\n00:00:01,000 --> 00:00:02,000\n- Yes\n- No\n"
    assert one(tmp_path, "b.srt", dashes).sentences == ("Yes", "No")
    assert "no subtitles" in failure(written(tmp_path, "c.srt", "Just words."))


# Word documents -------------------------------------------------------------------------------------------------------


def test_docx(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="the extra `documents` is not installed")
    file = docx.Document()
    file.add_heading("Rain", 0)
    paragraph = file.add_paragraph("It fell on ")
    paragraph.add_run("the town").bold = True
    paragraph.add_run(". He slept.")
    file.add_heading("Things", 1)
    for item in ("eggs", "milk"):
        file.add_paragraph(item, style="List Bullet")
    file.add_table(1, 1).cell(0, 0).text = "42"
    file.add_paragraph("It ended.")
    file.save(str(tmp_path / "a.docx"))
    (document,) = read(tmp_path / "a.docx")
    assert document.title == "Rain"
    assert document.sentences == ("It fell on the town.", "He slept.", "eggs", "milk", "It ended.")
    assert document.paragraph_starts == (0, 2, 4)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="the extra `documents` is not installed")
    with zipfile.ZipFile(tmp_path / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"word/{number}.xml", bytes(60 * 2**20))
    start = time.process_time()
    assert "too large when unpacked" in failure(tmp_path / "bomb.docx")
    assert time.process_time() - start < 2


def test_damaged_word_documents(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="the extra `documents` is not installed")
    docx.Document().save(str(tmp_path / "a.docx"))
    whole = (tmp_path / "a.docx").read_bytes()
    assert "not a readable Word document" in failure(written(tmp_path, "b.docx", whole[: len(whole) // 2]))
    assert "password" in failure(written(tmp_path, "c.docx", b"\xd0\xcf\x11\xe0" + bytes(600)))
    with zipfile.ZipFile(tmp_path / "d.docx", "w") as archive:
        archive.writestr("hello.txt", "hello")
    assert "not a readable Word document" in failure(tmp_path / "d.docx")
    assert "no text" in failure(tmp_path / "a.docx")


def test_entities_of_a_word_document_are_not_expanded(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="the extra `documents` is not installed")
    file = docx.Document()
    file.add_paragraph("Hello there.")
    file.save(str(tmp_path / "a.docx"))
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(9))
    with zipfile.ZipFile(tmp_path / "a.docx") as whole, zipfile.ZipFile(tmp_path / "b.docx", "w") as changed:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "word/document.xml":
                text = data.decode().replace("<w:document", f"<!DOCTYPE d [{laughs}]><w:document", 1)
                data = text.replace("Hello there.", "&l8;").encode()
            changed.writestr(name, data)
    start = time.process_time()
    documents = list(read_documents(f"{tmp_path}/[b].docx", ReadOptions(empty="keep")))  # an error is kept as a reason
    assert sum(len(sentence) for document in documents for sentence in document.sentences) < 100
    assert time.process_time() - start < 5


# PDF ------------------------------------------------------------------------------------------------------------------


def pdf(*pages: list[tuple[int, int, int, str]], padding: int = 0) -> bytes:
    """A PDF by hand: every page has lines of (x, y, size, text) in Helvetica, and spaces that are compressed."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        content = "".join(f"BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET\n" for x, y, size, text in lines).encode()
        if padding:
            content = zlib.compress(content + b" " * padding)
        packed = b"/Filter /FlateDecode" if padding else b""
        objects.append(b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), packed, content))
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
    children = " ".join(f"{kid} 0 R" for kid in kids).encode()
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (children, len(kids))
    out, places = io.BytesIO(b"%PDF-1.4\n"), []
    out.seek(0, 2)
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))
    return out.getvalue()


LINES = [
    (250, 780, 8, "A report"),
    (50, 740, 20, "Rain and snow"),
    (50, 700, 10, "It fell on the town for many days and nights, and the inhabi-"),
    (50, 688, 10, "tants stayed at home. He slept."),
    (50, 660, 10, "It froze. The river, which is wide here and runs slowly through"),
    (300, 20, 8, "1"),
]
NEXT = [
    (250, 780, 8, "A report"),
    (50, 740, 10, "the meadows, was a road of ice."),
    (50, 710, 10, "- eggs"),
    (50, 698, 10, "- milk"),
]


def test_pdf(tmp_path: Path) -> None:
    pytest.importorskip("pypdf", reason="the extra `documents` is not installed")
    last = [(250, 780, 8, "A report"), (50, 740, 10, "The end."), (300, 20, 8, "3")]
    document = one(tmp_path, "a.pdf", pdf(LINES, [*NEXT, (300, 20, 8, "2")], last))
    assert document.title == "Rain and snow"
    assert document.sentences == (
        "It fell on the town for many days and nights, and the inhabitants stayed at home.",
        "He slept.",
        "It froze.",
        "The river, which is wide here and runs slowly through the meadows, was a road of ice.",
        "eggs",
        "milk",
        "The end.",
    )
    assert document.paragraph_starts == (0, 2, 4, 6)


def test_encrypted_damaged_and_scanned_pdfs(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="the extra `documents` is not installed")
    written(tmp_path, "a.pdf", pdf(LINES))
    for user, name in (("secret", "locked.pdf"), ("", "open.pdf")):
        writer = pypdf.PdfWriter(clone_from=tmp_path / "a.pdf")
        writer.encrypt(user, "owner", algorithm="RC4-128")
        writer.write(tmp_path / name)
    assert "encrypted" in failure(tmp_path / "locked.pdf")
    assert len(read(tmp_path / "open.pdf")[0]) == 5
    assert "not a readable PDF" in failure(written(tmp_path, "b.pdf", b"%PDF-1.4\n" + bytes(100)))
    assert "not a readable PDF" in failure(written(tmp_path, "c.pdf", pdf(LINES)[:150]))
    (scanned,) = read(written(tmp_path, "d.pdf", pdf([])), empty="keep")
    assert "OCR" in scanned.layout_warnings[0]


def test_a_page_that_unpacks_to_very_much_is_not_read(tmp_path: Path) -> None:
    pytest.importorskip("pypdf", reason="the extra `documents` is not installed")
    assert len(one(tmp_path, "a.pdf", pdf(LINES, padding=1000))) == 5
    path = written(tmp_path, "b.pdf", pdf(LINES, padding=120 * 2**20))
    assert path.stat().st_size < 2**20
    assert "not a readable PDF" in failure(path)


# What all share -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("module", "name"), [("docx", "a.docx"), ("pypdf", "a.pdf")])
def test_a_missing_extra_says_how_to_get_it(
    module: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert "pip install 'weft-coherence[documents]'" in failure(written(tmp_path, name, b"PK"))


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("It rained. He slept.",))
    writer.start()
    assert read(pipe)[0].sentences == ("It rained.", "He slept.")
    writer.join()


def test_the_content_tells_what_the_name_does_not(tmp_path: Path) -> None:
    contents = {"pdf": pdf(LINES), "html": b"\n<!doctype HTML><p>x", "vtt": VTT.encode(), "srt": SRT.encode()}
    for expected, content in contents.items():
        assert detect_format(written(tmp_path, "a.txt", content)) == expected
    assert detect_format(written(tmp_path, "a.txt", "1\nOne. <html> is a word.")) == "text"
    with zipfile.ZipFile(tmp_path / "unnamed", "w") as archive:
        archive.writestr("word/document.xml", "")
    assert detect_format(tmp_path / "unnamed") == "docx"
