"""`read_documents`: documents from a file of any known format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TypeVar

from weft.corpora.data_folder import find_data
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.readers.corpus_names import extracted_files, is_extracted_name, is_tar, looks_like_layout
from weft.corpora.readers.format_by_content import format_by_content
from weft.corpora.readers.found_files import FoundFile, common_names, found_files, is_pattern, renamed
from weft.corpora.readers.lines import check_encoding
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import kept, unread
from weft.corpora.text.sentences import check_language
from weft.corpora.text.transcripts import check_parts
from weft.document import Document
from weft.errors import ConfigError, CorpusError, did_you_mean
from weft.io.compressed_streams import STDIN, Source, name_of, plain_name, stem_of
from weft.registry import READER_GROUP, added_names, load_added

__all__ = ["FORMATS", "ReadOptions", "detect_format", "read_documents", "read_files", "read_labelled", "read_permuted"]

Item = TypeVar("Item", Document, PermutedDocument)


def read_folder(source: Source, options: ReadOptions) -> Iterator[Document]:
    """Yield the documents of the files of a folder, or of those that fit a pattern, in the order of their names."""
    inner = replace(options, format="auto") if options.format == FOLDER else options
    known = READ_SUFFIXES if inner.format == "auto" else None
    for file in found_files(source, known):
        yield from renamed(_documents_of(file, inner), file)


def _documents_of(file: FoundFile, options: ReadOptions) -> Iterator[Document]:
    """Yield the documents of a file that was found; if it cannot be read and is kept, one that says why."""
    try:
        name = _format_of(file.path, options)
        yield from _with_empty(_reader(name)(file.path, options), file.path, options)
    except CorpusError as error:
        if options.empty != "keep":
            raise
        yield unread(stem_of(file.path), error)


Reader = Callable[[Source, ReadOptions], Iterator[Document]]

FOLDER = "folder"
# Where the reader of a format is: its module is imported when a file of the format is read.
FORMATS: Mapping[str, str] = {
    "text": "weft.corpora.readers.plain_text:read_text",
    "blocks": "weft.corpora.readers.plain_text:read_blocks",
    "lines": "weft.corpora.readers.plain_text:read_presplit_lines",
    "jsonl": "weft.corpora.readers.jsonl:read_jsonl",
    "csv": "weft.corpora.readers.tables:read_csv",
    "tsv": "weft.corpora.readers.tables:read_tsv",
    "parquet": "weft.corpora.readers.tables:read_parquet",
    "wikipedia-dump": "weft.corpora.readers.wikipedia:read_wikipedia_dump",
    "wikiextractor": "weft.corpora.readers.wikipedia:read_wikiextractor",
    "barzilay-lapata": "weft.corpora.readers.barzilay_lapata:read_originals",
    FOLDER: "weft.corpora.readers.formats:read_folder",
    "markdown": "weft.corpora.readers.formatted.markdown_files:read_markdown",
    "html": "weft.corpora.readers.formatted.html_pages:read_html",
    "srt": "weft.corpora.readers.formatted.subtitles:read_subtitles",
    "vtt": "weft.corpora.readers.formatted.subtitles:read_subtitles",
    "docx": "weft.corpora.readers.formatted.docx_files:read_docx",
    "pdf": "weft.corpora.readers.formatted.pdf_files:read_pdf",
}
# Formats that are read from a folder as one; any other is the format of the files in it.
FOLDER_FORMATS = (FOLDER, "wikiextractor", "barzilay-lapata")
PERMUTED_FORMATS: Mapping[str, str] = {
    "jsonl": "weft.corpora.readers.permuted_jsonl:read_permuted_jsonl",
    "barzilay-lapata": "weft.corpora.readers.barzilay_lapata:read_barzilay_lapata",
}
_EXTENSIONS = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xml": "wikipedia-dump",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".srt": "srt",
    ".vtt": "vtt",
    ".docx": "docx",
    ".pdf": "pdf",
}
# Files of a folder that are read; a name without a suffix is one of a text.
READ_SUFFIXES = frozenset((*_EXTENSIONS, ".txt", ".text", ""))


def read_documents(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield the documents of a file, one at a time.

    Args:
        source: A file, plain or compressed, a folder, a pattern such as ``essays/*.txt``, or ``-`` for standard input.
        options: Format, encoding and others; by default the format is detected from the name.

    Yields:
        The documents that have at least one sentence; with ``options.empty`` also the empty ones.

    Raises:
        CorpusError: The source cannot be read in its format, or contains no text.
        ConfigError: An option has a wrong value.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "story.txt"
        >>> _ = path.write_text("It rained. He slept.")
        >>> [document.sentences for document in read_documents(path)]
        [('It rained.', 'He slept.')]
    """
    name = _format_of(source, options)
    documents = _with_empty(_reader(name)(source, options), source, options)
    yield from _raise_if_empty(documents, source, name)


def read_files(sources: Sequence[Source], options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield the documents of several files, folders or patterns, one after the other.

    Files of the same name in different folders are told apart by their paths.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("a.txt", "b.txt"):
        ...     _ = (folder / name).write_text("It rained. He slept.")
        >>> [document.id for document in read_files([folder / "b.txt", folder])]
        ['b', 'a', 'b']
    """
    shared = common_names(sources)
    for source in sources:
        documents = read_documents(source, options)
        yield from renamed(documents, FoundFile(Path(source), str(source))) if source in shared else documents


def read_labelled(
    names: Iterable[str], root: str | None = None, options: ReadOptions = DEFAULT_OPTIONS, genre: str = ""
) -> Iterator[Document]:
    """Yield the documents of several files, each a path or a path in the data folder.

    Args:
        names: The files.
        root: The data folder; see `weft.corpora.data_folder`.
        options: As for :func:`read_documents`.
        genre: The genre of documents that have none.
    """
    for name in names:
        source = name if is_pattern(name) else find_data(name, root)
        for document in read_documents(source, options):
            yield document if document.genre or not genre else replace(document, genre=genre)


def read_permuted(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[PermutedDocument]:
    r"""Yield documents with their negatives.

    Args:
        source: JSON lines with ``perms``, or the Barzilay & Lapata layout, a folder or a tar file. Documents of other
            formats have no negatives.
        options: As for :func:`read_documents`.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
        >>> _ = path.write_text('{"sentences": ["A.", "B."], "perms": [[1, 0]]}\n')
        >>> [item.orders for item in read_permuted(path)]
        [((1, 0),)]
    """
    name = _format_of(source, options)
    if name in PERMUTED_FORMATS:
        permuted: Iterator[PermutedDocument] = resolve_name(PERMUTED_FORMATS[name])(source, options)
        yield from _raise_if_empty(permuted, source, name)
    else:
        yield from (PermutedDocument(document, ()) for document in read_documents(source, options))


def detect_format(source: Source) -> str:
    """Return the format of a file by its name, or by its first bytes if the name is of no format or ends in ``.txt``.

    Returns:
        A key of :data:`FORMATS`; ``text`` if the name is of no known format, ``folder`` for a directory of no known
        layout and for a pattern.

    Example:
        >>> detect_format("train-00.jsonl.xz"), detect_format("notes")
        ('jsonl', 'text')
    """
    if str(source) == STDIN:
        return format_by_content(source) or "text"
    path = Path(source)
    if os.path.isdir(path):  # False for a name that is too long, for which Path raises
        return _detect_directory(path)
    if is_pattern(source):
        return FOLDER
    if is_tar(path):
        return "barzilay-lapata"
    if is_extracted_name(path.name):
        return "wikiextractor"
    return _EXTENSIONS.get(Path(plain_name(path)).suffix.lower()) or format_by_content(path) or "text"


def _detect_directory(folder: Path) -> str:
    if looks_like_layout(folder):
        return "barzilay-lapata"
    try:
        extracted_files(folder)
    except (CorpusError, OSError):
        return FOLDER
    return "wikiextractor"


def _format_of(source: Source, options: ReadOptions) -> str:
    """Return the name of the format; raise an error for a wrong option or something that is not a file."""
    _check_types(source, options)
    check_encoding(options.encoding)
    check_language(options.language)
    check_parts(options.clean, options.language)
    name = detect_format(source) if options.format == "auto" else options.format
    if name not in FORMATS and name not in added_names(READER_GROUP):
        raise ConfigError(
            "unknown format",
            seen=name,
            allowed=did_you_mean(name, [*FORMATS, *added_names(READER_GROUP)]),
            next_step="omit `format`, or choose one of these",
        )
    many = name in FORMATS and name not in FOLDER_FORMATS and (os.path.isdir(source) or is_pattern(source))
    return FOLDER if many else name


def _check_types(source: object, options: object) -> None:
    if not isinstance(source, str | Path) or source == "":
        raise CorpusError(
            "not the name of a file",
            seen=source if isinstance(source, str) else f"{type(source).__name__} {source!r}"[:60],
            allowed="the path of a file or a folder, or - for standard input",
            next_step="give a path; pass a text itself to weft.score",
        )
    if not isinstance(options, ReadOptions):
        raise ConfigError(
            "not options of reading",
            seen=f"{type(options).__name__} {options!r}"[:60],
            allowed="a weft.ReadOptions",
            next_step='pass weft.ReadOptions(format="jsonl"), or omit it',
        )


def _reader(name: str) -> Reader:
    """Return the reader of a known format, of this package or of another installed one."""
    reader: Reader = resolve_name(FORMATS[name]) if name in FORMATS else load_added(READER_GROUP, name)
    if not callable(reader):
        raise ConfigError(
            f"the entry point {name} in {READER_GROUP} is not a reader",
            seen=repr(reader),
            allowed="a function (source, options) that yields documents",
            next_step="see CONTRIBUTING.md, or uninstall the package that adds it",
        )
    return reader


def _with_empty(documents: Iterator[Document], source: Source, options: ReadOptions) -> Iterator[Document]:
    """Yield the documents of a file; of one that has none, an empty one if it is kept."""
    found = False
    for document in documents:
        found = True
        yield document
    if not found:
        yield from kept(Document(stem_of(source), ()), options)


def _raise_if_empty(items: Iterator[Item], source: Source, name: str) -> Iterator[Item]:
    found = False
    for item in items:
        found = True
        yield item
    if not found:
        raise CorpusError(
            f"no text in {name_of(source)}",
            seen=f"no document with a sentence, read as {name}",
            allowed="at least one sentence",
            next_step="check that the file is not empty, or name its format with `format`",
        )
