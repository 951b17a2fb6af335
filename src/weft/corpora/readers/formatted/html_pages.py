"""HTML: its running text as blocks.

The parser of the standard library takes quadratic time for broken pages, hours for a megabyte of ``<a``. Only the names
of elements matter here, so that the page is cut at its tags in linear time instead.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterator

from weft.corpora.readers.formatted.blocks import Block, Kind, document_of_blocks
from weft.corpora.readers.lines import read_all
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import kept
from weft.document import Document
from weft.io.compressed_streams import Source, stem_of

LONGEST_TAG = 20_000  # characters; a longer one is text
# Elements whose content is no running text.
_DROPPED_NAMES = """
head title script style template noscript svg math pre nav footer aside form button select textarea option iframe object
video audio canvas figcaption caption sup
"""
_DROPPED = frozenset(_DROPPED_NAMES.split())
_RAW = frozenset(("script", "style", "textarea", "title", "iframe", "noscript", "template"))  # content is not markup
_BLOCK_NAMES = """
address article blockquote body center dd details dialog dir div dl dt fieldset figure header hgroup hr html li main
menu ol p section summary table tbody td tfoot th thead tr ul
"""
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BLOCKS = frozenset(_BLOCK_NAMES.split()) | _HEADINGS
_ITEMS, _CELLS = frozenset(("li", "dt", "dd")), frozenset(("td", "th"))
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9:-]{0,40})")
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)


def read_html(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield an HTML page as one document; its title is that of the page, else its first heading.

    The encoding is the one that the page names, unless ``options.encoding`` names another than UTF-8.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.html"
        >>> _ = path.write_text("<h1>Rain</h1><p>It <b>fell</b>. He slept.<ul><li>eggs<li>milk</ul>")
        >>> document = next(read_html(path))
        >>> document.title, document.sentences, document.paragraph_starts
        ('Rain', ('It fell.', 'He slept.', 'eggs', 'milk'), (0, 2))
    """
    text = read_all(source, options, encoding_of=_page_encoding)
    document = document_of_blocks(stem_of(source), html_blocks(text), options, title=_title(text))
    yield from kept(document, options)


def _page_encoding(head: bytes) -> str | None:
    """Return the encoding that a page names, if Python knows it."""
    found = _CHARSET.search(head[:4096])
    try:
        return codecs.lookup(found[1].decode("ascii")).name if found else None
    except LookupError:
        return None


def _title(text: str) -> str:
    found = re.search(r"<title[^>]{0,200}>([^<]{0,1000})", text[:100_000], re.IGNORECASE)
    return " ".join(html.unescape(found[1]).split()) if found else ""


def html_blocks(text: str) -> list[Block]:
    """Return the blocks of a page.

    Example:
        >>> html_blocks("<p>One<br><br>Two<script>x</script><h2>Three</h2>")[1:]
        [Block(kind='paragraph', text='Two'), Block(kind='heading', text='Three')]
    """
    writer = _BlockWriter()
    for piece, closing, name in _pieces(text):
        writer.add(piece)
        if name:
            writer.end(name) if closing else writer.start(name)
    writer.flush()
    return writer.blocks


class _BlockWriter:
    """Collects the text between the tags of blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.text: list[str] = []
        self.breaks = 0  # <br> since the last text
        self.dropped, self.depth = "", 0  # the element whose content is left out, and how often it is open
        self.open: dict[Kind, int] = {"heading": 0, "item": 0, "cell": 0}

    def add(self, piece: str) -> None:
        if not self.dropped and piece:
            self.text.append(html.unescape(piece))
            self.breaks = self.breaks if piece.isspace() else 0

    def start(self, name: str) -> None:
        if self.dropped:
            self.depth += name == self.dropped
        elif name in _DROPPED:
            self.dropped, self.depth = name, 1
        elif name == "br":
            self.breaks += 1
            self.text.append("\n")
            if self.breaks > 1:  # two line breaks in a row separate paragraphs
                self.flush()
        elif name in _BLOCKS:
            self.flush()
            self._count(name, 1)

    def end(self, name: str) -> None:
        if self.dropped:
            self.depth -= name == self.dropped
            self.dropped = self.dropped if self.depth else ""
        elif name in _BLOCKS:
            self.flush()
            self._count(name, -1)

    def flush(self) -> None:
        kind: Kind = next((kind for kind in self.open if self.open[kind]), "paragraph")
        text = "".join(self.text)
        if text.strip():
            self.blocks.append(Block(kind, text))
        self.text.clear()

    def _count(self, name: str, change: int) -> None:
        kinds: dict[Kind, frozenset[str]] = {"heading": _HEADINGS, "item": _ITEMS, "cell": _CELLS}
        for kind, names in kinds.items():
            if name in names:
                # A list item or a cell need not be closed; the next one closes it, and so does the end of its list.
                self.open[kind] = max(0, change)
        if change < 0 and name in ("ul", "ol", "dl", "table"):
            self.open["item" if name != "table" else "cell"] = 0


def _pieces(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield the text before every tag, whether the tag closes an element, and its name; the last name is empty."""
    start = place = 0
    missing: set[str] = set()  # elements whose ends were looked for in vain; they are not looked for again
    while (place := text.find("<", place)) >= 0:
        found = _TAG.match(text, place)
        end = _end_of(text, place, found is not None)
        if end < 0:
            place += 1
            continue
        name = found[2].lower() if found else ""
        yield text[start:place], bool(found and found[1]), name
        start = place = end
        if found and not found[1] and name in _RAW:
            place = start = _raw_end(text, place, name, missing)
    yield text[start:], False, ""


def _end_of(text: str, place: int, tag: bool) -> int:
    """Return where a tag or a comment ends; -1 if this is neither."""
    if text.startswith("<!--", place):
        end = text.find("-->", place + 4)
        return end + 3 if end >= 0 else len(text)  # as in a browser, what is never closed hides the rest of the page
    if text.startswith(("<!", "<?"), place):
        return text.find(">", place) + 1 or len(text)
    return text.find(">", place, place + LONGEST_TAG) + 1 or -1 if tag else -1


def _raw_end(text: str, place: int, name: str, missing: set[str]) -> int:
    """Return where the content of an element ends that is not markup, such as a script; its end tag follows."""
    found = None if name in missing else re.compile(f"</{name}", re.IGNORECASE).search(text, place)
    if found is None:
        missing.add(name)
        return place
    return found.start()
