"""Options of the readers."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LINE_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a corpus file.

    Attributes:
        format: A key of :data:`weft.corpora.readers.formats.FORMATS`, or ``auto`` to detect it from the file's name.
        encoding: Any text encoding of Python.
        language: The language for sentence splitting.
        column: The text column of a table.
        id_column: The column of document ids in a table, if there is one.
        max_line_bytes: Longest line allowed, so that a damaged file cannot fill the memory.
        min_sentences: Smallest number of sentences of a paragraph of a Wikipedia dump.
    """

    format: str = "auto"
    encoding: str = "utf-8"
    language: str = "en"
    column: str = "text"
    id_column: str | None = None
    max_line_bytes: int = MAX_LINE_BYTES
    min_sentences: int = 3


DEFAULT_OPTIONS = ReadOptions()
