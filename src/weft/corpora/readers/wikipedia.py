"""Wikipedia: an XML dump (``pages-articles.xml.bz2``), or the output of WikiExtractor. Both are read as streams."""

from __future__ import annotations

import html
import itertools
import logging
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

from weft.corpora.readers.corpus_names import extracted_files
from weft.corpora.readers.jsonl import parse_records
from weft.corpora.readers.lines import open_lines
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.wikitext import plain_paragraphs
from weft.corpora.text.sentences import assemble, split_block
from weft.document import Document
from weft.errors import CorpusError
from weft.io.compressed_streams import Source, name_of, open_bytes

_logger = logging.getLogger(__name__)

# WikiExtractor does not escape quotes in the title, so the title extends to the end of the line.
_HEADER = re.compile(r'<doc id="(?P<id>[^"]*)".*? title="(?P<title>.*)">\s*$')


@dataclass(frozen=True, slots=True)
class _Page:
    id: str
    title: str
    text: str


# ---- the dump ----------------------------------------------------------------------------------------------


def read_wikipedia_dump(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield the articles of a MediaWiki XML dump, compressed or not.

    Redirects, pages outside the article namespace and paragraphs of fewer than ``options.min_sentences`` sentences are
    omitted. A page whose markup cannot be parsed is omitted with a warning in the log.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "dump.xml"
        >>> page = "<title>Rain</title><ns>0</ns><id>7</id><revision><text>It fell.</text></revision>"
        >>> _ = path.write_text(f"<mediawiki><page>{page}</page></mediawiki>")
        >>> next(read_wikipedia_dump(path, ReadOptions(min_sentences=1)))
        Document(id='7', sentences=('It fell.',), title='Rain', paragraph_starts=(0,))
    """
    unparsed = 0
    with open_bytes(source) as stream:
        for page in _articles(stream, name_of(source)):
            try:
                paragraphs = plain_paragraphs(page.text)
            except Exception as error:  # the parser is C code: a page that it cannot handle must not end the run
                unparsed += 1
                _logger.warning("page %s (%s) is omitted: its markup cannot be parsed: %r", page.id, page.title, error)
                continue
            yield from _kept(page, paragraphs, options.language, options.min_sentences)
    if unparsed:
        _logger.warning("%s: %d pages are omitted because their markup cannot be parsed", name_of(source), unparsed)


def _kept(page: _Page, paragraphs: list[str], language: str, min_sentences: int) -> Iterator[Document]:
    split = (split_block(paragraph, language) for paragraph in paragraphs)
    document = assemble(page.id, [sentences for sentences in split if len(sentences) >= min_sentences], page.title)
    if document.sentences:
        yield document


def _articles(stream: BinaryIO, name: str) -> Iterator[_Page]:
    try:
        yield from (page for element in _page_elements(stream, name) if (page := _article(element)))
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the last two: an unknown encoding
        raise CorpusError(
            f"the XML is malformed or ends too early: {name}",
            seen=str(error),
            allowed="a whole MediaWiki dump, pages-articles.xml, plain or as .bz2, .gz or .xz",
            next_step='download it again and compare its checksum; for other text use `format="text"`',
        ) from error


def _page_elements(stream: BinaryIO, name: str) -> Iterator[ElementTree.Element]:
    events = ElementTree.iterparse(stream, events=("start", "end"))
    root: ElementTree.Element | None = None
    for event, element in events:
        if root is None:
            root = element
            _check_root(root, name)
        elif event == "end" and _local(element.tag) == "page":
            yield element
            root.clear()  # not only the page: the root would keep an empty element for each


def _check_root(root: ElementTree.Element, name: str) -> None:
    if _local(root.tag) != "mediawiki":
        raise CorpusError(
            f"not a MediaWiki dump: {name}",
            seen=f"<{_local(root.tag)}>",
            allowed="an XML file whose first element is <mediawiki>",
            next_step='give a pages-articles.xml dump, or `format="text"`',
        )


def _article(element: ElementTree.Element) -> _Page | None:
    fields = {_local(child.tag): child for child in element}
    if "redirect" in fields or _content(fields.get("ns")) not in ("0", ""):
        return None
    text = next((child for child in fields.get("revision", ()) if _local(child.tag) == "text"), None)
    title = _content(fields.get("title"))
    return _Page(_content(fields.get("id")) or title, title, _content(text))


def _content(element: ElementTree.Element | None) -> str:
    return (element.text or "").strip() if element is not None else ""


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


# ---- WikiExtractor -----------------------------------------------------------------------------------------


def read_wikiextractor(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield the articles of WikiExtractor's output: a file or a folder (AA/wiki_00), ``<doc>`` or ``--json``.

    Every line of an article is a paragraph; none is omitted.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "wiki_00"
        >>> _ = path.write_text('<doc id="7" url="u" title="Rain">\nRain\n\nIt fell. It stopped.\n</doc>\n')
        >>> next(read_wikiextractor(path))
        Document(id='7', sentences=('It fell.', 'It stopped.'), title='Rain', paragraph_starts=(0,))
    """
    for path in extracted_files(Path(source)) if os.path.isdir(source) else [source]:
        for page in _extracted_pages(path, options):
            yield from _kept(page, _body(page), options.language, 1)


def _extracted_pages(source: Source, options: ReadOptions) -> Iterator[_Page]:
    """Yield the pages of one file; its first line decides which of the two formats it has."""
    lines = open_lines(source, options)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return
    pages = _json_pages if first[1].lstrip().startswith("{") else _tagged_pages
    # The file is not opened twice, because standard input can be read only once.
    yield from pages(source, itertools.chain([first], lines))


def _json_pages(source: Source, lines: Iterable[tuple[int, str]]) -> Iterator[_Page]:
    for record in parse_records(source, lines):
        fields = {key: str(record.fields.get(key) or "") for key in ("id", "title", "text")}
        yield _Page(fields["id"] or record.default_id, fields["title"], fields["text"])


def _tagged_pages(source: Source, lines: Iterable[tuple[int, str]]) -> Iterator[_Page]:
    header: re.Match[str] | None = None
    body: list[str] = []
    number = 0
    for number, line in lines:
        if found := _HEADER.match(line):
            if header:
                raise _misplaced(source, number, "<doc> before the </doc> of the previous page")
            header, body = found, []
        elif header and line.strip() == "</doc>":
            yield _Page(header["id"], header["title"], "\n".join(body))
            header = None
        elif header:
            body.append(line)
        elif line.strip():
            raise _misplaced(source, number, line[:80])
    if header:
        raise _misplaced(source, number, "the end of the file before </doc>")


def _misplaced(source: Source, number: int, seen: str) -> CorpusError:
    return CorpusError(
        f"{name_of(source)}, line {number}: not WikiExtractor output",
        seen=seen,
        allowed='<doc id="..." url="..." title="..."> ... </doc>, or JSON lines from --json',
        next_step='run WikiExtractor again, or use `format="text"`',
    )


def _body(page: _Page) -> list[str]:
    """Return the paragraphs of an extracted page without the title, which WikiExtractor repeats on the first line."""
    # WikiExtractor escapes &, < and > in the text (its default, html_safe), but not in the title.
    paragraphs = [html.unescape(line) for line in page.text.split("\n") if line.strip()]
    return paragraphs[1:] if paragraphs and paragraphs[0].strip() == page.title.strip() else paragraphs
