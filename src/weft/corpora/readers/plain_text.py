"""Plain text: one document per file, documents separated by blank lines, or one sentence per line."""

from __future__ import annotations

from collections.abc import Iterator

from weft.corpora.readers.lines import open_lines
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import cleaned_paragraphs, kept, text_document
from weft.corpora.text.sentences import assemble, blank_line_blocks, tidy_sentence
from weft.document import Document
from weft.io.compressed_streams import Source, stem_of


def read_text(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield a file as one document; blank lines separate its paragraphs.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "story.txt"
        >>> _ = path.write_text("It rained. He\nslept.\n\nHe woke.")
        >>> document = next(read_text(path))
        >>> document.id, document.sentences, document.paragraph_starts
        ('story', ('It rained.', 'He slept.', 'He woke.'), (0, 2))
    """
    lines = [line for _, line in open_lines(source, options)]
    document = text_document(stem_of(source), "\n".join(lines), options)
    yield from kept(document, options)


def read_blocks(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield documents separated by blank lines; each is one paragraph, and its id has the number of its first line.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.txt"
        >>> _ = path.write_text("It rained. He slept.\n\nHe woke.")
        >>> [(document.id, len(document)) for document in read_blocks(path)]
        [('two:1', 2), ('two:3', 1)]
    """
    for number, block in blank_line_blocks(open_lines(source, options)):
        yield from kept(text_document(f"{stem_of(source)}:{number}", "\n".join(block), options), options)


def read_presplit_lines(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield documents with one sentence per line; blank lines separate documents, and sentences are not split.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "split.txt"
        >>> _ = path.write_text("It rained. Hard.\nHe slept.\n")
        >>> next(read_presplit_lines(path)).sentences
        ('It rained. Hard.', 'He slept.')
    """
    for number, block in blank_line_blocks(open_lines(source, options)):
        paragraphs = cleaned_paragraphs([list(map(tidy_sentence, block))], options)
        yield from kept(assemble(f"{stem_of(source)}:{number}", paragraphs), options)
