"""A text of a file or of a row as a document, and what becomes of an empty one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.text.sentences import document_of_text
from weft.document import Document, TextWarning
from weft.errors import CorpusError

NO_SCORE = "no-score"  # code of the warning that says why a text has no score


def text_document(
    name: str,
    text: str,
    options: ReadOptions = DEFAULT_OPTIONS,
    *,
    title: str = "",
    columns: Mapping[str, Any] | None = None,
) -> Document:
    """Return a text, split into sentences, as a document.

    Args:
        name: Name of the document.
        text: The text; blank lines separate its paragraphs.
        options: The language, and others.
        title: Its title.
        columns: The other columns of its row.

    Example:
        >>> text_document("d", "It rained. He slept.", columns={"author": "Ann"}).columns
        {'author': 'Ann'}
    """
    document = document_of_text(name, text, options.language, title)
    return replace(document, columns=columns) if columns else document


def kept(document: Document, options: ReadOptions) -> Iterator[Document]:
    """Yield a document; one without sentences only if empty texts are kept.

    Raises:
        CorpusError: The document has no sentences, and empty texts are refused.
    """
    if not document.sentences and options.empty == "refuse":
        raise CorpusError(
            f"no text in {document.id}",
            seen=", ".join(document.layout_warnings) or "no sentence",
            allowed="at least one sentence in every text",
            next_step="remove or correct it, or omit --strict to go on without a score for it",
        )
    if document.sentences or options.empty == "keep":
        yield document


def unread(name: str, error: CorpusError) -> Document:
    """Return a document without sentences in the place of a file that cannot be read; its warning is the reason.

    Example:
        >>> unread("a", CorpusError("wrong encoding: a.txt", seen="byte 0xff")).layout_warnings
        ('no score: wrong encoding: a.txt (byte 0xff)',)
    """
    reason = f"no score: {error.what}" + (f" ({error.seen})" if error.seen else "")
    return Document(name, (), layout_warnings=(TextWarning(NO_SCORE, reason),))
