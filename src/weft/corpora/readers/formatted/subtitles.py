"""Subtitles: SRT and WebVTT. Times, numbers and markup are removed; the words of all cues are one text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from weft.corpora.readers.lines import read_all
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import cleaned_text, kept, text_document
from weft.corpora.text.sentences import blank_line_blocks
from weft.document import Document
from weft.errors import CorpusError
from weft.io.compressed_streams import Source, name_of, stem_of

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMING = re.compile(rf"^\s*{_TIME}\s*-->\s*{_TIME}")
_VOICE = re.compile(r"<v(?:\.[\w.-]{1,80})?\s+([^<>]{1,80})>")
_MARKUP = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,100}\}")
_DASH = re.compile(r"^\s*[-–—]\s*(?=\S)")


def read_subtitles(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield a file of subtitles as one document.

    A line that begins with a dash, and a WebVTT voice other than the last one, begin a paragraph. A line that is equal
    to the one before it is omitted, as automatic subtitles repeat lines while they roll.

    Raises:
        CorpusError: The file has no subtitles.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.srt"
        >>> _ = path.write_text("1\n00:00:01,000 --> 00:00:02,000\n<i>It rained</i>\n\n2\n00:00:03,000 --> "
        ...     "00:00:04,000\nall day. He slept.\n")
        >>> next(read_subtitles(path)).sentences
        ('It rained all day.', 'He slept.')
    """
    lines = list(_spoken_lines(read_all(source, options), source, labelled=bool(options.speaker)))
    text, warnings = cleaned_text(lines, options)
    # Lines of subtitles break anywhere, so that a paragraph is one line here.
    blocks = blank_line_blocks(enumerate(text.split("\n")))
    joined = "\n\n".join(" ".join(block) for _, block in blocks)
    document = text_document(stem_of(source), joined, replace(options, speaker="", clean=()))
    yield from kept(replace(document, layout_warnings=(*warnings, *document.layout_warnings)), options)


def _spoken_lines(text: str, source: Source, *, labelled: bool) -> Iterator[str]:
    """Yield the lines that are spoken, with an empty line before every turn; labelled ones begin with their voices."""
    voice = last = ""
    for line in _cue_lines(text, source):
        named = _VOICE.search(line)
        words = " ".join(html.unescape(_MARKUP.sub("", line)).split())
        turn = _DASH.match(words) is not None or (named is not None and named[1].strip() != voice)
        voice = named[1].strip() if named else voice
        words = _DASH.sub("", words)
        if not words or words == last:
            continue
        if turn:
            yield ""
        yield f"{voice}: {words}" if turn and named and labelled else words
        last = words


def _cue_lines(text: str, source: Source) -> Iterator[str]:
    """Yield the lines of all cues; blocks without a time, such as notes and styles, are omitted."""
    found = False
    for _, block in blank_line_blocks(enumerate(text.split("\n"))):
        at = next((at for at, line in enumerate(block) if _TIMING.match(line)), None)
        if at is not None:
            found = True
            yield from block[at + 1 :]
    if not found and text.strip():
        raise CorpusError(
            f"no subtitles in {name_of(source)}",
            seen=text.strip()[:40],
            allowed="SRT or WebVTT: times such as 00:00:01,000 --> 00:00:02,000 before each text",
            next_step='use `format="text"` for plain text',
        )
