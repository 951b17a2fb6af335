"""The light half of `prepare`: which inputs there are, what is in them, and cutting them into chunks."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from weft.corpora.readers.formats import detect_format, read_documents
from weft.corpora.readers.lines import open_lines
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.store.encode_chunks import Chunk
from weft.corpora.store.store_writer import WriterState
from weft.corpora.text.sentences import check_language
from weft.errors import ConfigError
from weft.io.atomic_files import STORAGE_ERRORS, explain_write_errors
from weft.io.compressed_streams import STDIN, name_of, standard_input_chunks
from weft.io.file_hash import sha256_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file: how the user named it, where its bytes are, what they are."""

    name: str
    path: Path
    sha256: str
    size: int
    options: ReadOptions

    def identity(self) -> dict[str, Any]:
        """What decides the text in it; the name does not."""
        return {"sha256": self.sha256, "size": self.size, "options": asdict(self.options)}

    def provenance(self) -> dict[str, Any]:
        """What to remember of it."""
        return {"name": Path(self.name).name, "sha256": self.sha256, "size": self.size}


def remaining_chunks(sources: Sequence[InputFile], state: WriterState, characters: int) -> Iterator[Chunk]:
    """What is left of the inputs after what an earlier run has consumed."""
    for number, source in enumerate(sources[state.source :], state.source):
        skip = state.consumed if number == state.source else 0
        yield from source_chunks(source, number, characters, skip=skip)


def source_chunks(source: InputFile, number: int, characters: int, *, skip: int = 0) -> Iterator[Chunk]:
    """Cut one input into pieces of about the same size, after skipping some of its lines or documents."""
    options = source.options
    if options.format == "jsonl":
        check_language(options.language)
        lines = open_lines(source.path, encoding=options.encoding, max_line_bytes=options.max_line_bytes)
        for group in _groups(islice(lines, skip, None), lambda line: len(line[1]), characters):
            yield Chunk(number, source.name, options, lines=group)
        return
    documents = islice(read_documents(source.path, options), skip, None)
    for many in _groups(documents, lambda document: sum(map(len, document.sentences)), characters):
        yield Chunk(number, source.name, options, documents=many)


def _groups(items: Iterable[T], size: Callable[[T], int], limit: int) -> Iterator[tuple[T, ...]]:
    """Consecutive items, cut as soon as their sizes reach the limit."""
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


def describe_inputs(inputs: Sequence[str | Path], options: ReadOptions, spool: Path | None) -> tuple[InputFile, ...]:
    """Hash every input and settle its format; `spool` holds the bytes of standard input, if that is an input.

    Raises:
        CorpusError: An input cannot be opened.
    """
    return tuple(_source(str(name), options, spool) for name in inputs)


def _source(name: str, options: ReadOptions, spool: Path | None) -> InputFile:
    path = spool if spool is not None and name == STDIN else Path(name)
    return InputFile(
        name=name_of(name),
        path=path,
        sha256=_tree_hash(path) if path.is_dir() else sha256_of(path),
        size=sum(file.stat().st_size for file in _files(path)),
        options=replace(options, format=detect_format(name)) if options.format == "auto" else options,
    )


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _tree_hash(folder: Path) -> str:
    """One hash of the names and contents of every file of a corpus that is a folder."""
    lines = (f"{sha256_of(file)}  {file.relative_to(folder).as_posix()}\n" for file in _files(folder))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@contextmanager
def standard_input_as_file(inputs: Sequence[str | Path], out: Path) -> Iterator[Path | None]:
    """Keep standard input in a file while it is needed, because it is read twice: to learn and to encode."""
    count = [str(name) for name in inputs].count(STDIN)
    if not inputs or count > 1:
        raise ConfigError(
            "inputs cannot be read" if inputs else "no inputs",
            seen=f"standard input {count} times" if inputs else "an empty list",
            allowed="one or more files, among them - at most once",
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


def check_held_out_files(held_out: Sequence[str | Path]) -> None:
    """Held-out text is hashed and read, and standard input may already be the training text.

    Raises:
        ConfigError: It is among the held-out files.
    """
    if STDIN in map(str, held_out):
        raise ConfigError(
            "held-out text cannot come from standard input",
            seen=STDIN,
            allowed="files",
            next_step="save it to a file first, and name that with --held-out",
        )
