"""The input files of `prepare`: their hashes and formats, and their text in chunks."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from weft.corpora.readers.formats import detect_format, read_documents
from weft.corpora.readers.lines import open_lines
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.store.encode_chunks import Chunk
from weft.corpora.text.sentences import check_language
from weft.errors import ConfigError
from weft.io.atomic_files import STORAGE_ERRORS, explain_write_errors
from weft.io.compressed_streams import STDIN, name_of, standard_input_chunks
from weft.io.file_hash import sha256_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file."""

    name: str  # as the user gave it
    path: Path  # the file to read: a copy for standard input
    sha256: str
    size: int
    options: ReadOptions

    def identity(self) -> dict[str, Any]:
        """Return what determines its text; the name does not."""
        return {"sha256": self.sha256, "size": self.size, "options": self.options.recorded()}

    def provenance(self) -> dict[str, Any]:
        """Return what the store records of it."""
        return {"name": Path(self.name).name, "sha256": self.sha256, "size": self.size}


def source_chunks(source: InputFile, number: int, characters: int, *, skip: int = 0) -> Iterator[Chunk]:
    """Yield an input in chunks of about ``characters``, without its first ``skip`` lines or documents."""
    options = source.options
    if options.format == "jsonl":
        check_language(options.language)
        lines = islice(open_lines(source.path, options), skip, None)
        for group in _groups(lines, lambda line: len(line[1]), characters):
            yield Chunk(number, source.name, options, lines=group)
        return
    documents = islice(read_documents(source.path, options), skip, None)
    for many in _groups(documents, lambda document: sum(map(len, document.sentences)), characters):
        yield Chunk(number, source.name, options, documents=many)


def _groups(items: Iterable[T], size: Callable[[T], int], limit: int) -> Iterator[tuple[T, ...]]:
    """Yield groups of consecutive items; a group ends when its size reaches the limit."""
    group: list[T] = []
    total = 0
    for item in items:
        group.append(item)
        total += size(item)
        if total >= limit:
            yield tuple(group)
            group, total = [], 0
    if group:
        yield tuple(group)


def describe_input(name: str, options: ReadOptions, spool: Path | None = None) -> InputFile:
    """Return an input with its hash and format; ``spool`` is the copy of standard input.

    Raises:
        CorpusError: The file cannot be opened.
    """
    path = spool if spool is not None and name == STDIN else Path(name)
    return InputFile(
        name=name_of(name),
        path=path,
        sha256=_tree_hash(path) if os.path.isdir(path) else sha256_of(path),
        size=sum(file.stat().st_size for file in _files(path)),
        options=replace(options, format=detect_format(name)) if options.format == "auto" else options,
    )


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _tree_hash(folder: Path) -> str:
    """Return one hash of the names and contents of all files of a folder."""
    lines = (f"{sha256_of(file)}  {file.relative_to(folder).as_posix()}\n" for file in _files(folder))
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


@contextmanager
def standard_input_as_file(inputs: Sequence[str | Path], out: Path) -> Iterator[Path | None]:
    """Copy standard input to a temporary file during the block, because it is read twice: to train and to encode.

    Yields None if standard input is not among the inputs.
    """
    count = [str(name) for name in inputs].count(STDIN)
    if not inputs or count > 1:
        raise ConfigError(
            "standard input can be read only once" if inputs else "no inputs",
            seen=f"- {count} times" if inputs else "an empty list",
            allowed="one or more files; - at most once",
            next_step="name the files to prepare",
        )
    if not count:
        yield None
        return
    with explain_write_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{out.name[:40]}.stdin-", dir=out.parent)
    try:
        with explain_write_errors(out, only=STORAGE_ERRORS), os.fdopen(descriptor, "wb") as file:
            file.writelines(standard_input_chunks())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
