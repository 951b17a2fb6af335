"""PDF: the lines of all pages, joined to paragraphs.

A PDF has no paragraphs, only words at places. Lines are joined by their distance, indentation and size of letters.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median
from typing import Any

from weft.corpora.readers.formatted.blocks import Block, document_of_blocks
from weft.corpora.readers.formatted.office_files import file_bytes, missing_extra, unreadable
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import NO_SCORE, kept
from weft.document import Document, TextWarning
from weft.errors import WeftError
from weft.io.compressed_streams import Source, stem_of

KIND = "PDF"
MOST_PAGES, MOST_CHARACTERS = 2000, 20_000_000
LARGE, FAR, INDENT = 1.15, 1.35, 0.8  # letters of a heading, a gap between paragraphs, and an indentation in letters
HEADING_CHARACTERS = 150
SHORT_LINE = 0.75  # of the longest line: the last line of a paragraph
REPEATED_PAGES = 3  # a line at the edge of so many pages, and of half of them, is a header or footer
PICTURES = TextWarning(
    NO_SCORE,
    "no score: no text was found in the PDF; if its pages are pictures, recognise their letters first (OCR), else it "
    "may be damaged",
)
_BULLET = re.compile(r"(?:[•▪◦‣●○■–—*-]|\(?\d{1,2}[.)])\s+(?=\S)")
_PAGE_NUMBER = re.compile(r"(?:page\s+)?[-–—]?\s*\d{1,4}\s*[-–—]?(?:\s*(?:of|/)\s*\d{1,4})?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its words, where it begins, and how large and bold its letters are."""

    text: str
    page: int
    x: float
    y: float
    size: float
    bold: bool = False


def read_pdf(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield a PDF as one document; its title is its first heading.

    Headers, footers and page numbers are omitted, and words that were divided at the end of a line are joined.

    Raises:
        ConfigError: pypdf is not installed.
        CorpusError: The file is damaged, needs a password, or has more than `MOST_PAGES` pages.
    """
    try:
        import pypdf  # imported here: it is an extra
    except ImportError as error:
        raise missing_extra("a PDF", "pypdf", source) from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what is wrong with a file is said in one error
    data = file_bytes(source)
    try:
        lines = list(_lines(pypdf.PdfReader(io.BytesIO(data)), source))
    except WeftError:
        raise
    except Exception as error:  # damaged files raise errors of many kinds, also of struct and zlib
        raise unreadable(KIND, source, f"{type(error).__name__}: {error}", "save or download it again") from error
    document = document_of_blocks(stem_of(source), pdf_blocks(lines), options)
    yield from kept(document if lines else replace(document, layout_warnings=(PICTURES,)), options)


def _lines(reader: Any, source: Source) -> Iterator[Line]:
    if reader.is_encrypted and not reader.decrypt(""):
        raise unreadable(KIND, source, "it is encrypted", "save a copy without a password")
    if len(reader.pages) > MOST_PAGES:
        raise unreadable(KIND, source, f"{len(reader.pages)} pages, more than {MOST_PAGES}", "split the file")
    characters = 0
    for number, page in enumerate(reader.pages):
        for line in page_lines(page, number):
            characters += len(line.text)
            if characters > MOST_CHARACTERS:
                raise unreadable(KIND, source, f"more than {MOST_CHARACTERS} characters", "split the file")
            yield line


def page_lines(page: Any, number: int) -> list[Line]:
    """Return the lines of a page of pypdf, in the order in which the page has them."""
    pieces: list[Line] = []

    def visit(text: str, place: Sequence[float], matrix: Sequence[float], font: Any, size: float) -> None:
        if text.strip():
            x = matrix[4] * place[0] + matrix[5] * place[2] + place[4]
            y = matrix[4] * place[1] + matrix[5] * place[3] + place[5]
            scale = abs(matrix[3] * place[3]) or abs(matrix[0] * place[0]) or 1.0
            name = str(font.get("/BaseFont", "")) if font else ""
            pieces.append(Line(text, number, x, y, size * scale, "bold" in name.lower()))
        elif pieces:
            pieces[-1] = replace(pieces[-1], text=pieces[-1].text + text)

    page.extract_text(visitor_text=visit)
    return list(_joined_pieces(pieces))


def _joined_pieces(pieces: Sequence[Line]) -> Iterator[Line]:
    """Yield lines of pieces that stand at the same height; a line end inside a piece ends a line too."""
    current: Line | None = None
    for piece in pieces:
        same = current is not None and abs(piece.y - current.y) < 0.3 * max(piece.size, current.size)
        parts = piece.text.split("\n")
        if current is not None and same and not current.text.endswith("\n"):
            parts[0] = current.text + parts[0]
            piece = replace(piece, x=current.x, y=current.y, size=max(piece.size, current.size), bold=current.bold)
        elif current is not None and current.text.strip():
            yield replace(current, text=" ".join(current.text.split()))
        *whole, last = parts
        yield from (replace(piece, text=" ".join(part.split())) for part in whole if part.strip())
        current = replace(piece, text=last)
    if current is not None and current.text.strip():
        yield replace(current, text=" ".join(current.text.split()))


def pdf_blocks(lines: Sequence[Line]) -> list[Block]:
    """Return the paragraphs, headings and list items of lines.

    Example:
        >>> texts = [("Rain", 20, 90), ("It fell on the hou-", 10, 70), ("ses. He sat.", 10, 58), ("He woke.", 10, 30)]
        >>> [block.text for block in pdf_blocks([Line(text, 0, 50, y, size) for text, size, y in texts])]
        ['Rain', 'It fell on the houses. He sat.', 'He woke.']
    """
    lines = _without_margins(lines)
    if not lines:
        return []
    sizes = sorted((line.size, len(line.text)) for line in lines)
    letters = [size for size, count in sizes for _ in range(1 + count // 10)]
    body, longest = median(letters), max(len(line.text) for line in lines)
    gaps = [above.y - below.y for above, below in pairwise(lines) if 0 < above.y - below.y < 5 * body]
    # Gaps of less than two letters are inside paragraphs; a text in double spacing has none of them.
    leading = median([gap for gap in gaps if gap < 2 * body] or gaps or [1.2 * body])
    groups: list[list[Line]] = []
    for line in lines:
        if groups and not _begins(groups[-1][-1], line, leading, longest, body):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [_block(group, body) for group in groups]


def _begins(above: Line, line: Line, leading: float, longest: int, body: float) -> bool:
    """Return whether a line begins a paragraph."""
    if _BULLET.match(line.text) or _is_heading(above, body) != _is_heading(line, body):
        return True
    gap = above.y - line.y
    if line.page != above.page or gap < -0.3 * body:  # the next page or column
        ended = above.text.endswith((".", "!", "?", "”", '"', ":")) or not line.text[:1].islower()
        return ended and len(above.text) < SHORT_LINE * longest
    return gap > FAR * leading or INDENT * line.size < line.x - above.x < 8 * line.size


def _is_heading(line: Line, body: float) -> bool:
    large = line.size >= LARGE * body or (line.bold and line.size >= 0.95 * body)
    return large and len(line.text) < HEADING_CHARACTERS and not line.text.endswith((".", ",", ";"))


def _block(lines: Sequence[Line], body: float) -> Block:
    text = lines[0].text
    for line in lines[1:]:
        divided = re.search(r"[^\W\d_][-\u00ad]$", text) is not None and line.text[:1].islower()
        text = text[:-1] + line.text if divided else f"{text} {line.text}"
    if all(_is_heading(line, body) for line in lines):
        return Block("heading", text)
    bullet = _BULLET.match(text)
    return Block("item", text[bullet.end() :]) if bullet else Block("paragraph", text)


def _without_margins(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without page numbers, headers and footers."""
    pages = [list(group) for _, group in groupby(lines, key=lambda line: line.page)]
    edges = Counter(text for page in pages for text in {_shape(line) for line in (*page[:2], *page[-2:])})
    least = max(REPEATED_PAGES, len(pages) / 2)
    kept_lines = []
    for page in pages:
        for at, line in enumerate(page):
            edge = at < 2 or at >= len(page) - 2
            repeated = edge and (edges[_shape(line)] >= least or _PAGE_NUMBER.fullmatch(line.text) is not None)
            if not repeated:
                kept_lines.append(line)
    return kept_lines


def _shape(line: Line) -> str:
    return re.sub(r"\d+", "#", line.text)
