"""The input files of `prepare`: their hashes and formats, and their text in chunks."""

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
    """An input file.

    Attributes:
        name: The name the user gave.
        path: The file to read; a copy for standard input.
        sha256: The hash of its bytes.
        size: Bytes.
        options: How to read it.
    """

    name: str
    path: Path
    sha256: str
    size: int
    options: ReadOptions

    def identity(self) -> dict[str, Any]:
        """Return what determines its text; the name does not."""
        return {"sha256": self.sha256, "size": self.size, "options": asdict(self.options)}

    def provenance(self) -> dict[str, Any]:
        """Return what the store records of it."""
        return {"name": Path(self.name).name, "sha256": self.sha256, "size": self.size}


def remaining_chunks(sources: Sequence[InputFile], state: WriterState, characters: int) -> Iterator[Chunk]:
    """Yield the chunks of the inputs that an earlier run has not processed."""
    for number, source in enumerate(sources[state.source :], state.source):
        skip = state.consumed if number == state.source else 0
        yield from source_chunks(source, number, characters, skip=skip)


def source_chunks(source: InputFile, number: int, characters: int, *, skip: int = 0) -> Iterator[Chunk]:
    """Yield one input in chunks of about the same size.

    Args:
        source: The input.
        number: Its number among the inputs.
        characters: Approximate size of a chunk.
        skip: Lines or documents to skip.
    """
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


def describe_inputs(inputs: Sequence[str | Path], options: ReadOptions, spool: Path | None) -> tuple[InputFile, ...]:
    """Return the inputs with their hashes and formats.

    Args:
        inputs: Names of files; ``-`` is standard input.
        options: How to read them.
        spool: The copy of standard input, if it is an input.

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
    """Return one hash of the names and contents of all files of a folder."""
    lines = (f"{sha256_of(file)}  {file.relative_to(folder).as_posix()}\n" for file in _files(folder))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@contextmanager
def standard_input_as_file(inputs: Sequence[str | Path], out: Path) -> Iterator[Path | None]:
    """Copy standard input to a temporary file during the block, because it is read twice: to train and to encode.

    Yields:
        The file, or None if standard input is not among the inputs.
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


def check_held_out_files(held_out: Sequence[str | Path]) -> None:
    """Raise ConfigError if standard input is among the held-out files.

    Held-out files are read twice, and standard input may already be the training text.

    Raises:
        ConfigError: Standard input is among them.
    """
    if STDIN in map(str, held_out):
        raise ConfigError(
            "held-out text cannot come from standard input",
            seen=STDIN,
            allowed="files",
            next_step="save it to a file, and give that to --held-out",
        )
