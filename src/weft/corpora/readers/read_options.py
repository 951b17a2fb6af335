"""Options of the readers."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LINE_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a corpus file.

    Attributes:
        format: A key of :data:`weft.corpora.readers.formats.FORMATS`, or ``auto`` to go by the file's name.
        encoding: The text encoding, any that Python knows.
        language: The language whose rules split text into sentences.
        column: The text column of a table.
        id_column: The column of a table that names its documents, if there is one.
        max_line_bytes: The longest line that is read; a longer one is an error, not a memory problem.
        min_sentences: Paragraphs of a Wikipedia dump with fewer sentences are left out.
    """

    format: str = "auto"
    encoding: str = "utf-8"
    language: str = "en"
    column: str = "text"
    id_column: str | None = None
    max_line_bytes: int = MAX_LINE_BYTES
    min_sentences: int = 3


DEFAULT_OPTIONS = ReadOptions()
