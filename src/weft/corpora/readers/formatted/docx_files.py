"""Word documents (``.docx``): paragraphs, headings and lists by their styles."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from weft.corpora.readers.formatted.blocks import Block, Kind, document_of_blocks
from weft.corpora.readers.formatted.office_files import file_bytes, missing_extra, unreadable
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import kept
from weft.document import Document
from weft.errors import CorpusError
from weft.io.compressed_streams import Source, stem_of

KIND = "Word document (.docx)"
# A .docx is a zip archive: a file of some kilobytes can unpack to gigabytes. Sizes in its directory are those that are
# unpacked at most.
MAX_UNPACKED_BYTES, MAX_MEMBERS = 256 * 2**20, 10_000
_OLE = b"\xd0\xcf\x11\xe0"  # first bytes of .doc, and of .docx with a password
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACES = frozenset((f"{_WORD}tab", f"{_WORD}br", f"{_WORD}cr"))


def read_docx(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield a Word document; its title is its first heading.

    Headers, footers, footnotes, comments and deleted text are omitted; inserted text is part of the document.

    Raises:
        ConfigError: python-docx is not installed.
        CorpusError: The file is damaged, has a password, or unpacks to more than `MAX_UNPACKED_BYTES`.

    Example:
        >>> import docx, tempfile, pathlib
        >>> path, file = pathlib.Path(tempfile.mkdtemp()) / "a.docx", docx.Document()
        >>> _ = file.add_heading("Rain"), file.add_paragraph("It fell. He slept."), file.save(str(path))
        >>> document = next(read_docx(path))
        >>> document.title, document.sentences
        ('Rain', ('It fell.', 'He slept.'))
    """
    try:
        import docx  # imported here: it is an extra
    except ImportError as error:
        raise missing_extra("a Word document", "python-docx", source) from error
    data = file_bytes(source)
    _check_archive(data, source)
    try:
        blocks = list(_blocks(docx.Document(io.BytesIO(data))))
    except Exception as error:  # damaged files raise errors of zipfile, lxml and python-docx of many kinds
        raise unreadable(KIND, source, f"{type(error).__name__}: {error}", "save it again as .docx") from error
    yield from kept(document_of_blocks(stem_of(source), blocks, options), options)


def _check_archive(data: bytes, source: Source) -> None:
    if data.startswith(_OLE):
        raise unreadable(KIND, source, "an old .doc, or a file with a password", "save it as .docx without a password")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except Exception as error:  # BadZipFile, and others for directories that do not make sense
        raise unreadable(KIND, source, f"not a zip archive: {error}", "save it again as .docx") from error
    size = sum(member.file_size for member in members)
    if size > MAX_UNPACKED_BYTES or len(members) > MAX_MEMBERS:
        raise CorpusError(
            f"the Word document is too large when unpacked: {source}",
            seen=f"{size} bytes in {len(members)} parts",
            allowed=f"{MAX_UNPACKED_BYTES} bytes in {MAX_MEMBERS} parts",
            next_step="save its text in a file of its own, without pictures",
        )


def _blocks(document: Any) -> Iterator[Block]:
    names = {style.style_id: style.name or "" for style in document.styles}
    for paragraph in document.element.body.iter(f"{_WORD}p"):
        yield Block(_kind(paragraph, names), _text(paragraph))


def _kind(paragraph: Any, names: dict[str, str]) -> Kind:
    if next(paragraph.iterancestors(f"{_WORD}tc"), None) is not None:
        return "cell"
    settings = paragraph.find(f"{_WORD}pPr")
    if settings is None:
        return "paragraph"
    style = settings.find(f"{_WORD}pStyle")
    name = names.get(style.get(f"{_WORD}val"), "").lower() if style is not None else ""
    if name.startswith(("heading", "title", "subtitle", "toc", "caption")):
        return "heading"
    numbered = settings.find(f"{_WORD}numPr") is not None
    # "List Paragraph" is only indented, unless it is numbered.
    return "item" if numbered or (name.startswith("list ") and name != "list paragraph") else "paragraph"


def _text(paragraph: Any) -> str:
    """Return the words of a paragraph; those of a text box in it are a paragraph of their own."""
    words = []
    for node in paragraph.iter(f"{_WORD}t", *_SPACES):
        if next(node.iterancestors(f"{_WORD}p")) is paragraph:
            words.append(" " if node.tag in _SPACES else node.text or "")
    return "".join(words)
