"""`read_documents`: documents from a file of any known format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from weft.corpora.data_folder import find_data
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.readers.barzilay_lapata import is_tar, looks_like_layout, read_barzilay_lapata
from weft.corpora.readers.jsonl import read_jsonl
from weft.corpora.readers.lines import check_encoding
from weft.corpora.readers.permuted_jsonl import read_permuted_jsonl
from weft.corpora.readers.plain_text import read_blocks, read_presplit_lines, read_text
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.tables import read_csv, read_parquet, read_tsv
from weft.corpora.readers.wikipedia import extracted_files, is_extracted_name, read_wikiextractor, read_wikipedia_dump
from weft.corpora.text.sentences import check_language
from weft.document import Document
from weft.errors import ConfigError, CorpusError, did_you_mean
from weft.io.compressed_streams import STDIN, Source, name_of, plain_name
from weft.registry import READER_GROUP, added_names, load_added

__all__ = ["FORMATS", "ReadOptions", "detect_format", "read_documents", "read_labelled", "read_permuted"]

Item = TypeVar("Item", Document, PermutedDocument)


def _without_orders(source: Source, options: ReadOptions) -> Iterator[Document]:
    return (item.document for item in read_barzilay_lapata(source, options))


Reader = Callable[[Source, ReadOptions], Iterator[Document]]

FORMATS: dict[str, Reader] = {
    "text": read_text,
    "blocks": read_blocks,
    "lines": read_presplit_lines,
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "wikipedia-dump": read_wikipedia_dump,
    "wikiextractor": read_wikiextractor,
    "barzilay-lapata": _without_orders,
}
PERMUTED_FORMATS: dict[str, Callable[[Source, ReadOptions], Iterator[PermutedDocument]]] = {
    "jsonl": read_permuted_jsonl,
    "barzilay-lapata": read_barzilay_lapata,
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
}


def read_documents(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield the documents of a file, one at a time.

    Args:
        source: A file, plain or compressed, a directory of a known layout, or ``-`` for standard input.
        options: Format, encoding and others; by default the format is detected from the name.

    Yields:
        The documents that have at least one sentence.

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
    yield from _raise_if_empty(_reader(name)(source, options), source, name)


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
        for document in read_documents(find_data(name, root), options):
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
        yield from _raise_if_empty(PERMUTED_FORMATS[name](source, options), source, name)
    else:
        yield from (PermutedDocument(document, ()) for document in read_documents(source, options))


def detect_format(source: Source) -> str:
    """Return the format of a file by its name, or of a directory by its contents.

    Returns:
        A key of :data:`FORMATS`; ``text`` if the name is of no known format.

    Example:
        >>> detect_format("train-00.jsonl.xz"), detect_format("notes")
        ('jsonl', 'text')
    """
    if str(source) == STDIN:
        return "text"
    path = Path(source)
    if path.is_dir():
        return _detect_directory(path)
    if is_tar(path):
        return "barzilay-lapata"
    if is_extracted_name(path.name):
        return "wikiextractor"
    return _EXTENSIONS.get(Path(plain_name(path)).suffix.lower(), "text")


def _detect_directory(folder: Path) -> str:
    if looks_like_layout(folder):
        return "barzilay-lapata"
    try:
        extracted_files(folder)
    except (CorpusError, OSError) as error:
        raise CorpusError(
            f"unknown directory layout: {folder}",
            seen=getattr(error, "seen", None) or str(error),
            allowed="WikiExtractor output (AA/wiki_00 ...), or Barzilay & Lapata's (raw/ntsb/train ...)",
            next_step="give the files in it",
        ) from error
    return "wikiextractor"


def _format_of(source: Source, options: ReadOptions) -> str:
    """Return the name of the format; raise an error for a wrong option or something that is not a file."""
    _check_types(source, options)
    check_encoding(options.encoding)
    check_language(options.language)
    name = detect_format(source) if options.format == "auto" else options.format
    if name not in FORMATS and name not in added_names(READER_GROUP):
        raise ConfigError(
            "unknown format",
            seen=name,
            allowed=did_you_mean(name, [*FORMATS, *added_names(READER_GROUP)]),
            next_step="omit --input (in Python: format), or choose one of these",
        )
    return name


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
    reader: Reader = FORMATS[name] if name in FORMATS else load_added(READER_GROUP, name)
    if not callable(reader):
        raise ConfigError(
            f"the entry point {name} in {READER_GROUP} is not a reader",
            seen=repr(reader),
            allowed="a function (source, options) that yields documents",
            next_step="see CONTRIBUTING.md, or uninstall the package that adds it",
        )
    return reader


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
            next_step="check that the file is not empty, or name its format: --input, or format= of weft.ReadOptions",
        )
