"""Hostile files of every format that weft reads, each drawn from a seed.

A file is built as its format wants it, with hostile text and structure inside, and then often damaged byte by byte.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

SENTENCES = (
    "The bee visits a flower.", "It drinks the nectar there.", "The hive stores it as honey.", "Rates rose in 1987.",
    "My uncle bought a motorbike.", "Then it rained for three days.", "Dr. Smith said: “Go!”", "Why?", "The end.",
)  # fmt: skip
# Strings on which programs have failed; lone surrogates and NUL among them.
NASTY = (
    "", " ", "\0", "\ufeff", "\ud800", "\udfff\ud800", "\x1b[31m", "\u202e\u2066", "\u2028", "\x85", "\r", "\x0c", "é",
    "e\u0301" * 50, "\u200d" * 40, "🙂", "東京。", "...", "?!" * 60, "“" * 30, "((((" * 30, "1e999", "-0",
    "NaN", "Infinity", "9" * 400, "-" * 300, "%s%n{0}", "../../etc/passwd", "<script>", "&#x110000;", "&amp" * 40,
    "[[" * 90, "{{" * 90, "<ref" * 40, "''" * 60, "\\", '"', '""', "'", ",;|\t", "\t" * 50, "```", "---", "# ",
    "> " * 80, "* " * 80, "[](" * 60, "**_" * 60, "http://" + "a" * 300, "aaaa " * 90, "x" * 900, "中" * 200,
    "<s></s><pad><unk>", "DOCTOR: um, [laughs] (pause)", "00:00:01,000 --> 00:00:02,000", "<v A>", "Ａ", "ﬀ", "İ", "ß",
)  # fmt: skip
PRINTABLE = tuple(one for one in NASTY if "\0" not in one and "\x1b" not in one)
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "gbk", "shift_jis", "utf-7", "utf-8-sig", "cp037")
LARGE = 60  # one file of so many is large
LARGE_BYTES = (10**5, 10**6, 34 * 2**20)  # the last one is longer than a line may be
Build = Callable[[random.Random], bytes]


def sentence(rng: random.Random) -> str:
    """Return a sentence, a nasty string, or both."""
    roll = rng.random()
    if roll < 0.55:
        return rng.choice(SENTENCES)
    # A control character or NUL makes a whole file binary, which is refused; most files get further.
    nasty = rng.choice(NASTY if rng.random() < 0.1 else PRINTABLE)
    return nasty if roll < 0.8 else f"{rng.choice(SENTENCES)[:-1]} {nasty}."


def text(rng: random.Random, most: int = 7) -> str:
    """Return up to so many sentences with spaces or line breaks between them."""
    return "".join(sentence(rng) + rng.choice((" ", " ", "\n", "\n\n")) for _ in range(rng.randint(0, most)))


def encoded(rng: random.Random, value: str) -> bytes:
    """Return a text as bytes: mostly UTF-8, in which lone surrogates are errors."""
    roll = rng.random()
    name = "utf-8" if roll < 0.9 else rng.choice(ENCODINGS)
    try:
        return value.encode(name, "surrogatepass" if roll > 0.7 else "replace")
    except (UnicodeEncodeError, LookupError):
        return value.encode(name, "replace")


def json_value(rng: random.Random, depth: int = 3) -> Any:
    """Return any value of JSON, also those that are no JSON (NaN) and numbers without bounds."""
    if depth and rng.random() < 0.4:
        inner = [json_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
        return inner if rng.random() < 0.6 else {rng.choice(NASTY): value for value in inner}
    return rng.choice((None, True, 0, -1, 10**400, 1e308, float("nan"), float("-inf"), sentence(rng), text(rng)))


# Formats --------------------------------------------------------------------------------------------------------------


def plain(rng: random.Random) -> bytes:
    """Return plain text; now and then a large one, with or without spaces and ends of lines."""
    if rng.randrange(LARGE) == 0:
        size, unit = rng.choice(LARGE_BYTES), rng.choice(("a", "word ", "a. ", "\n", "“a. ", "é ", "\0"))
        return (unit * (size // len(unit))).encode()
    return encoded(rng, text(rng))


def json_lines(rng: random.Random) -> bytes:
    """Return JSON lines with good, wrong and nested values."""
    lines = []
    for _ in range(rng.randint(0, 4)):
        fields: dict[str, Any] = {"sentences": [sentence(rng) or "x" for _ in range(rng.randint(0, 5))]}
        for key in rng.sample(
            ("text", "sentences", "paragraphs", "id", "title", "perms", "genre", "x"), rng.randint(0, 2)
        ):
            fields[key] = json_value(rng) if rng.random() < 0.3 else text(rng)
        lines.append(json.dumps(fields, ensure_ascii=rng.random() < 0.5))
    if rng.random() < 0.05:
        depth = rng.choice((10, 2000, 200_000))
        lines.append('{"text": ' + rng.choice(("[", '{"a":')) * depth)
    return encoded(rng, "\n".join(lines))


def table(rng: random.Random) -> bytes:
    """Return a table with text: CSV with any delimiter, quotes that never end, rows of any length."""
    out, delimiter = io.StringIO(), rng.choice(",;\t|")
    if rng.random() < 0.1:
        out.write(f"sep={rng.choice((delimiter, '', 'ab'))}\n")
    writer = csv.writer(out, delimiter=delimiter, quoting=rng.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)))
    odd: tuple[list[str], ...] = (["text", "text"], ["value", "text", ""], [sentence(rng)], [])
    names = rng.choice((["text"], ["id", "text"])) if rng.random() < 0.8 else rng.choice(odd)
    rows = [[text(rng, 4) for _ in range(rng.choice((*[len(names)] * 9, 0, 9)))] for _ in range(rng.randint(0, 4))]
    for row in [names, *rows]:
        try:
            writer.writerow(row)
        except csv.Error:  # a lone NUL, or an empty row
            out.write('"\0,')
    return encoded(rng, out.getvalue())


def parquet(rng: random.Random) -> bytes:
    """Return a Parquet file whose columns have any type."""
    import pyarrow
    from pyarrow.parquet import write_table

    columns: list[Any] = [
        ["A cat sat. It slept.", None, "Rain fell. It froze."], [1, 2**40, None], [[1], [], None], [b"\xff", b"", None],
        [{"a": 1}, None, {"a": 2}], [None, None, None], [1.5, float("nan"), None], ["", " ", "\0"],
    ]  # fmt: skip
    names = rng.choice((["text"], ["id", "text"], ["text", ""], ["text", "text"], ["other"]))
    good = rng.random() < 0.6
    arrays = [pyarrow.array(columns[0] if good and name == "text" else rng.choice(columns)) for name in names]
    out = io.BytesIO()
    write_table(pyarrow.table(arrays, names=names), out, compression=rng.choice(("NONE", "SNAPPY", "GZIP")))
    return out.getvalue()


def html(rng: random.Random) -> bytes:
    """Return a page: nested, unclosed and invented tags, attributes without end, characters by number."""
    tags = (
        "p",
        "div",
        "li",
        "ul",
        "table",
        "td",
        "h1",
        "script",
        "style",
        "b",
        "a href=",
        "!--",
        "![CDATA[",
        "x" * 400,
    )
    parts = [f'<html><meta charset="{rng.choice((*ENCODINGS, "none", ""))}">'] if rng.random() < 0.4 else []
    for _ in range(rng.randint(0, 9)):
        name = rng.choice(tags)
        many = rng.choice((1, 1, 1, 3, 500, 20_000 if rng.random() < 0.05 else 2))
        parts.append(
            f"<{name}>" * many + text(rng, 3) + rng.choice((f"</{name}>" * many, "", "</", "<", "&#99999999;"))
        )
    return encoded(rng, "".join(parts))


def markdown(rng: random.Random) -> bytes:
    """Return Markdown: nested quotations and lists, marks that never end, front matter that is no YAML."""
    marks = (
        "> ",
        "* ",
        "1. ",
        "#",
        "```\n",
        "| a | b |\n|---|\n",
        "[a](",
        "![",
        "**",
        "_",
        "<div>",
        "    ",
        "---\n",
        "~~~",
    )
    parts = ["---\ntitle: " + rng.choice(NASTY) + "\n---\n"] if rng.random() < 0.3 else []
    for _ in range(rng.randint(0, 9)):
        many = rng.choice((1, 1, 2, 60, 3000 if rng.random() < 0.1 else 1))
        parts.append(rng.choice(marks) * many + text(rng, 3) + rng.choice(("\n", "\n\n", "")))
    return encoded(rng, "".join(parts))


def subtitles(rng: random.Random) -> bytes:
    """Return subtitles with times that are none, numbers without bounds and markup that never ends."""
    parts = [rng.choice(("WEBVTT\n\n", "WEBVTT " + rng.choice(NASTY) + "\n", "", "\ufeff"))]
    times = (
        "00:00:01,000 --> 00:00:02,000",
        "00:01.000 --> 00:02.000",
        "99999999999:00 -->",
        "-->",
        "1 --> 0",
        "NOTE x",
    )
    for number in range(rng.randint(0, 9)):
        speech = rng.choice(("", "<v Anna>", "- ", "<i>" * 50, "{\\an8}", "<c.", "<00:00:01.000>")) + text(rng, 2)
        parts.append(f"{rng.choice((number, 10**30, 'x', ''))}\n{rng.choice(times)}\n{speech}\n\n")
    return encoded(rng, "".join(parts))


def wiki_dump(rng: random.Random) -> bytes:
    """Return a dump of wiki pages: markup that never ends, XML that is broken, entities that grow."""
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
        f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
    )
    pages = []
    for number in range(rng.randint(0, 3)):
        markup = rng.choice(("[[", "{{", "<ref>", "{|", "[http://", "''", "==", "<!--", "<nowiki>", "|}", "[[File:a|"))
        body = (
            " ".join(rng.sample(SENTENCES, 4))
            + text(rng)
            + markup * rng.choice((1, 1, 3, 200, 5000 if rng.random() < 0.1 else 2))
            + text(rng)
        )
        safe = body.replace("&", "&amp;").replace("<", "&lt;") if rng.random() < 0.8 else body
        pages.append(f"<page><title>T{number}</title><ns>0</ns><revision><text>{safe}</text></revision></page>")
    head = bomb + "]>" if rng.random() < 0.05 else ""
    tail = rng.choice(("</mediawiki>", "</mediawiki>", "", "&j;", "<page>" * 999))
    data = encoded(rng, f"{head}<mediawiki>{''.join(pages)}{tail}")
    return data


def wiki_extracted(rng: random.Random) -> bytes:
    """Return the output of WikiExtractor, as tags or as JSON."""
    parts = []
    for number in range(rng.randint(0, 4)):
        name = rng.choice((number, "", rng.choice(NASTY)))
        tagged = (
            f'<doc id="{name}" title="T">\nT\n\n{text(rng)}\n{rng.choice((*["</doc>"] * 12, "", "</doc", "<doc>"))}'
        )
        parts.append(json.dumps({"id": name, "text": json_value(rng)}) if rng.random() < 0.3 else tagged)
    return encoded(rng, "\n".join(parts))


@cache
def _word_file() -> dict[str, bytes]:
    """Return the parts of a good Word document."""
    import docx

    file, out = docx.Document(), io.BytesIO()
    file.add_heading("Rain", 0)
    file.add_paragraph("It fell. He slept.")
    file.add_table(1, 1).cell(0, 0).text = "42"
    file.save(out)
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def word_document(rng: random.Random) -> bytes:
    """Return a Word document with a damaged part, a part that unpacks to much, or names that lead elsewhere."""
    parts, main = dict(_word_file()), "word/document.xml"
    roll = rng.random()
    if roll < 0.3:
        parts[main] = damaged(rng, parts[main])
    elif roll < 0.5:
        many = rng.choice((10, 300, 5000))
        parts[main] = parts[main].replace(b"It fell.", b"<w:p>" * many + encoded(rng, text(rng)))
    elif roll < 0.6:
        parts[main] = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + parts[main].replace(b"It", b"&x;It")
    elif roll < 0.7:
        parts.pop(rng.choice(sorted(parts)))
    elif roll < 0.8:
        parts["../../" + rng.choice(("a", "word/document.xml"))] = b"x"
    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)) if roll > 0.72 else zipfile.ZIP_DEFLATED
    ) as file:
        for name, content in parts.items():
            file.writestr(name, content)
        if 0.7 <= roll < 0.72:
            with file.open("word/bomb.xml", "w") as stream:  # 300 MiB, which pack to 300 kB
                stream.writelines(bytes(2**20) for _ in range(300))
    return out.getvalue()


def pdf(rng: random.Random) -> bytes:
    """Return a PDF whose references go in circles, whose streams unpack to much, or whose numbers have no bounds."""
    lines = "".join(
        f"BT /F1 {rng.choice((10, 10, 0, -5, 1e30))} Tf {rng.randint(0, 600)} {700 - 12 * n} Td "
        f"({sentence(rng)}) Tj ET\n"
        for n in range(rng.randint(0, 8))
    )
    content = encoded(rng, lines)
    if rng.random() < 0.1:
        content += rng.choice((b"q " * 50_000, b"[" * 20_000, b"(" * 20_000, b"1e999 " * 1000, b"BT " * 5000))
    if packed := rng.random() < 0.3:
        content = zlib.compress(content + b" " * rng.choice((0, 10**5, 10**7)))
    parent = rng.choice((*[b"2 0 R"] * 9, b"5 0 R", b"99 0 R"))
    kid = rng.choice((*[b"5 0 R"] * 9, b"2 0 R", b"99 0 R"))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kid, rng.choice((*[1] * 9, 10**9, -1))),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d %s >>\nstream\n%s\nendstream"
        % (rng.choice((*[len(content)] * 9, 0, 10**12)), b"/Filter /FlateDecode" if packed else b"", content),
        b"<< /Type /Page /Parent %s /MediaBox [0 0 600 800] /Contents 4 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>" % parent,
    ]
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = rng.choice((*[len(out)] * 9, 0, 10**9))
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start)


def barzilay_lapata(rng: random.Random) -> bytes:
    """Return a tar file in the layout of Barzilay & Lapata, with names that lead elsewhere and special files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for number in range(rng.randint(0, 5)):
            folder = rng.choice(("train", "test", "train_staging", "../test"))
            suffix = rng.choice(("", ".perm-2", ".perm-99999999999999999999"))
            info = tarfile.TarInfo(f"{rng.choice(('ntsb', 'apws', '/x/ntsb'))}/{folder}/n{number % 2}{suffix}")
            info.type = rng.choice(
                (tarfile.REGTYPE, tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE)
            )
            info.linkname = "../../../etc/passwd"
            content = encoded(rng, "\n".join(f"t {sentence(rng)}" for _ in range(rng.randint(0, 4))))
            info.size = len(content) if info.type == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


FORMATS: dict[str, tuple[Build, Sequence[str]]] = {
    "text": (plain, (".txt", "", ".log")),
    "blocks": (plain, (".txt",)),
    "lines": (plain, (".txt",)),
    "jsonl": (json_lines, (".jsonl", ".json")),
    "csv": (table, (".csv",)),
    "tsv": (table, (".tsv",)),
    "parquet": (parquet, (".parquet",)),
    "markdown": (markdown, (".md",)),
    "html": (html, (".html", ".htm")),
    "srt": (subtitles, (".srt",)),
    "vtt": (subtitles, (".vtt",)),
    "docx": (word_document, (".docx",)),
    "pdf": (pdf, (".pdf",)),
    "wikipedia-dump": (wiki_dump, (".xml",)),
    "wikiextractor": (wiki_extracted, ("wiki_00",)),
    "barzilay-lapata": (barzilay_lapata, (".tar",)),
}

# Damage ---------------------------------------------------------------------------------------------------------------


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Return data after one to four random changes."""
    for _ in range(rng.randint(1, 4)):
        place, length = rng.randint(0, len(data)), rng.choice((1, 1, 2, 8, 100))
        random_bytes = rng.randbytes(length)
        data = rng.choice(
            (
                data[:place],
                data[:place] + random_bytes + data[place:],
                data[:place] + random_bytes + data[place + length :],
                data[:place] + data[place + length :],
                data[:place] + b"\0" * length + data[place:],
                data[:place] + data[place : place + length] * rng.choice((2, 50)) + data[place:],
                data + random_bytes,
                data[place:],
            )
        )
    return data


def compressed(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Return data as a compressed file, perhaps a broken one or one in another, and its ending."""
    pack, ending = rng.choice(((gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")))
    packed = pack(data)
    if rng.random() < 0.1:
        packed = pack(packed)
    if rng.random() < 0.5:
        packed = damaged(rng, packed)
    return packed, ending if rng.random() < 0.8 else ""


def hostile_file(rng: random.Random, place: Path, form: str, *, harm: float = 0.3) -> Path:
    """Write a hostile file of a format, damaged in a share ``harm`` of cases, and return its path."""
    build, endings = FORMATS[form]
    data, ending = build(rng), rng.choice(endings)
    if rng.random() < harm:
        data = damaged(rng, data)
    if rng.random() < 0.12 and len(data) < 10**6:
        data, packing = compressed(rng, data)
        ending += packing
    path = place / (ending if ending.startswith("wiki") else f"f{rng.randint(0, 10**6)}{ending}")
    path.write_bytes(data)
    return path


def hostile_folder(rng: random.Random, place: Path) -> Path:
    """Write a folder of hostile files, with folders inside, and return its path."""
    folder = place / "folder"
    for number in range(rng.randint(0, 4)):
        inner = folder / rng.choice(("", "a", "a/b", ".hidden"))
        inner.mkdir(parents=True, exist_ok=True)
        path = hostile_file(rng, inner, rng.choice(sorted(FORMATS)))
        if rng.random() < 0.1:
            path.rename(inner / rng.choice(("-", "*", "a?b", "é.txt", f"{'n' * 200}{number}")))
    folder.mkdir(exist_ok=True)
    if rng.random() < 0.1:
        (folder / "loop").symlink_to(folder, target_is_directory=True)
    return folder
