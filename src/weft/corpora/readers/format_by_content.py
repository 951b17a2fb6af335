"""The format of a file that its name does not tell, by its first bytes."""

from __future__ import annotations

import os
import re
import zipfile

from weft.errors import CorpusError
from weft.io.compressed_streams import STDIN, Source, open_bytes, standard_input_head

_HEAD_BYTES = 2048
_CUE = re.compile(rb"\s*\d{1,6}\s*\r?\n\s*\d{1,2}:\d{2}:\d{2}[,.]\d{1,3} +--> +\d")
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)


def format_by_content(source: Source) -> str | None:
    """Return the format that the first bytes of a file show: pdf, docx, html, vtt or srt; None for any other.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "captions.txt"
        >>> _ = path.write_text("WEBVTT" + chr(10))
        >>> format_by_content(path)
        'vtt'
    """
    head = _head(source).removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return "docx" if _is_word_document(source) else None
    if re.match(rb"WEBVTT(?:\s|$)", head):
        return "vtt"
    if _CUE.match(head):
        return "srt"
    return "html" if _HTML.match(head) else None


def _head(source: Source) -> bytes:
    """Return the first bytes of a file; none if it cannot be read, for which its reader has the error."""
    if str(source) == STDIN:
        return standard_input_head(_HEAD_BYTES)
    if not os.path.isfile(source):  # what is read from a named pipe, such as <(command), is gone afterwards
        return b""
    try:
        with open_bytes(source) as stream:
            return stream.read(_HEAD_BYTES)
    except CorpusError:
        return b""


def _is_word_document(source: Source) -> bool:
    try:
        with zipfile.ZipFile(str(source)) as archive:
            return "word/document.xml" in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return str(source) == STDIN
