"""A text of a file or of a row as a document, and what becomes of an empty one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.text.sentences import blank_line_blocks, document_of_text
from weft.corpora.text.transcripts import cleaned_lines, speakers_in
from weft.document import Document, TextWarning
from weft.errors import CorpusError

SHOWN_SPEAKERS = 5
NO_SCORE = "no-score"  # code of the warning that says why a text has no score


def is_cleaned(options: ReadOptions) -> bool:
    """Return whether parts of texts are left out, such as speaker labels."""
    return bool(options.speaker or options.clean)


def cleaned_text(lines: Sequence[str], options: ReadOptions) -> tuple[str, tuple[TextWarning, ...]]:
    """Return the lines of a text that are kept, joined, and the reason if nobody of the chosen name speaks in it."""
    if not is_cleaned(options):
        return "\n".join(lines), ()
    found = cleaned_lines(lines, speaker=options.speaker, parts=options.clean, language=options.language)
    text = "\n".join(found)
    if text.strip() or not options.speaker:
        return text, ()
    names = ", ".join(speakers_in(lines)[:SHOWN_SPEAKERS]) or "no speaker labels"
    return "", (TextWarning(NO_SCORE, f"no score: no turn of {options.speaker}; the text has {names}"),)


def cleaned_paragraphs(paragraphs: Iterable[Sequence[str]], options: ReadOptions) -> list[Sequence[str]]:
    """Return paragraphs of sentences without the parts that are left out; every sentence counts as a line.

    Example:
        >>> cleaned_paragraphs([["ANNA: Hi.", "BOB: Um, hello."]], ReadOptions(speaker="Bob", clean=("fillers",)))
        [['Hello.']]
    """
    if not is_cleaned(options):
        return list(paragraphs)
    lines = [line for paragraph in paragraphs for line in (*paragraph, "")]
    text, _ = cleaned_text(lines, options)
    return [block for _, block in blank_line_blocks(enumerate(text.split("\n")))]


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
    text, reasons = cleaned_text(text.split("\n"), options) if is_cleaned(options) else (text, ())
    document = document_of_text(name, text, options.language, title)
    if not columns and not reasons:
        return document
    return replace(document, columns=columns or {}, layout_warnings=(*reasons, *document.layout_warnings))


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
