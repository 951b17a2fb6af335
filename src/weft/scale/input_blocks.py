"""The shards of a dataset, and the blocks they are cut into; one block is one unit of work and one output shard."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from weft.corpora.readers.formats import detect_format
from weft.corpora.readers.found_files import common_names, found_files, is_pattern
from weft.corpora.readers.lines import check_encoding
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.readers.tables import row_group_sizes
from weft.errors import ConfigError, CorpusError
from weft.io.compressed_streams import CHUNK_BYTES, STDIN, open_bytes, stem_of
from weft.io.file_hash import sha256_of
from weft.io.url_files import is_url, matching_urls, open_url
from weft.scale.output_folder import shard_name

FORMATS = ("jsonl", "parquet")
IN_MEMORY = "memory://"  # a file system of fsspec, of which every process has one of its own
SUFFIXES = frozenset((".jsonl", ".ndjson", ".json", ".parquet", ".pq"))


@dataclass(frozen=True, slots=True)
class InputShard:
    """One file of a dataset."""

    source: str  # its path or URL
    name: str  # what the ids of its documents begin with if they have none of their own
    format: str  # jsonl or parquet
    sha256: str  # of its bytes
    rows: int  # lines of JSONL, blank ones included, or rows of Parquet
    row_groups: tuple[int, ...] = ()  # of Parquet, the rows of each group

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> InputShard:
        """Return the shard of what `asdict` made of it, also if it has been JSON."""
        return cls(**{**record, "row_groups": tuple(record["row_groups"])})

    def identity(self) -> dict[str, Any]:
        """Return what determines the output; where the file lies does not."""
        return {key: value for key, value in asdict(self).items() if key not in ("source", "row_groups")}


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows of one shard."""

    shard: int  # the number of the shard
    first: int  # the number of its first row, from 1
    last: int  # the number of its last row
    groups: tuple[int, ...] = ()  # of Parquet, the numbers of its row groups

    def __len__(self) -> int:
        return self.last - self.first + 1


def stamp_of(source: str) -> tuple[int, int] | None:
    """Return the size and the time of a file on disk; None for a URL, or if there is no such file."""
    try:
        found = None if is_url(source) else os.stat(source)
    except (OSError, ValueError):  # what is wrong is said when the file is read
        return None
    return None if found is None else (found.st_size, found.st_mtime_ns)


class ChangedInputError(CorpusError):
    """An input is not what it was when the run began."""


def changed_input(source: str) -> ChangedInputError:
    """Return the error for an input that has changed."""
    return ChangedInputError(
        "an input file changed while it was scored",
        seen=source,
        allowed="files that nobody writes to during the run",
        next_step="choose a new folder with --out; with the earlier contents, the same command does it all again",
    )


def check_places(sources: Sequence[str], out: str) -> None:
    """Raise ConfigError if worker processes cannot reach a place, or if the output would be input of the next run.

    Args:
        sources: Files, folders, patterns and URLs.
        out: The output folder.

    Raises:
        ConfigError: A place cannot be used.

    Example:
        >>> check_places(["memory://texts/a.jsonl"], "scores")
        Traceback (most recent call last):
        weft.errors.ConfigError: workers cannot reach the memory of this process: saw 'memory://texts/a.jsonl'; allowed:
        files and folders on disk, or at URLs that other processes can open; next: write it to disk
    """
    for place in (*sources, out):
        if place.startswith(IN_MEMORY):
            raise ConfigError(
                "workers cannot reach the memory of this process",
                seen=place,
                allowed="files and folders on disk, or at URLs that other processes can open",
                next_step="write it to disk",
            )
    for source in sources:
        if finds_output(source, out):
            raise ConfigError(
                f"the output folder is inside the input {source}: the next run would read scores as texts",
                seen=out,
                allowed="a folder that is not among the inputs",
                next_step="choose another folder with --out, or name the files of the input",
            )


def finds_output(source: str, out: str) -> bool:
    """Return whether a folder or pattern finds shards in an output folder.

    Example:
        >>> finds_output("texts/*.jsonl", "texts/scores"), finds_output("texts/**/*.jsonl", "texts/scores")
        (False, True)
    """
    if is_url(source) != is_url(out):
        return False
    where, written = (one if is_url(one) else os.path.realpath(one) for one in (source, f"{out}/{shard_name(0)}"))
    if is_url(source) or is_pattern(source):  # a folder that fits is read too
        file = Path(written)
        return fnmatch(written, where) if "**" in where else any(one.match(where) for one in (file, *file.parents))
    return Path(source).is_dir() and Path(written).is_relative_to(where)


def find_shards(sources: Sequence[str]) -> list[str]:
    """Return the files of folders and patterns, on disk or at URLs, in the order given.

    Raises:
        ConfigError: There is no source, a source is standard input, or a source is given twice.
        CorpusError: No file fits.

    Example:
        >>> find_shards(["b.jsonl", "a.jsonl"])
        ['b.jsonl', 'a.jsonl']
    """
    found = [file for source in sources for file in _files_of(source)]
    repeated = sorted({file for file in found if found.count(file) > 1}) if len(set(found)) < len(found) else []
    if not found or STDIN in found or repeated:
        raise ConfigError(
            "these are not the shards of a dataset",
            seen=", ".join(repeated) or ", ".join(found) or "nothing",
            allowed="files, each once: JSONL or Parquet, on disk or at URLs",
            next_step="save standard input to a file first" if STDIN in found else "name every file once",
        )
    return found


def _files_of(source: str) -> list[str]:
    if is_url(source):
        found = matching_urls(source) if any(mark in source for mark in "*[") else [source]
        if not found:
            raise CorpusError(
                "no file fits the pattern", seen=source, allowed="at least one file", next_step="check the URL"
            )
        return found
    if source != STDIN and (is_pattern(source) or Path(source).is_dir()):
        return [str(file.path) for file in found_files(source, SUFFIXES)]
    return [source]


def shard_names(sources: Sequence[str]) -> dict[str, str]:
    """Return what the ids of every shard begin with: its name, or its path if two files have the same name.

    Example:
        >>> shard_names(["a/x.jsonl", "b/x.jsonl", "b/y.jsonl.gz"])
        {'a/x.jsonl': 'a/x.jsonl', 'b/x.jsonl': 'b/x.jsonl', 'b/y.jsonl.gz': 'y'}
    """
    shared = common_names(sources)
    return {source: source if source in shared else stem_of(source) for source in sources}


@dataclass(frozen=True, slots=True)
class ShardScan:
    """Counts and hashes shards; a task for worker processes, whose items are the numbers of the shards."""

    sources: tuple[str, ...]
    options: ReadOptions

    def start(self) -> Callable[[int], dict[str, Any]]:
        """Return the function that describes a shard."""
        names = shard_names(self.sources)
        return lambda number: asdict(scan_shard(self.sources[number], names[self.sources[number]], self.options))


def scan_shard(source: str, name: str, options: ReadOptions) -> InputShard:
    """Return the description of a file.

    Raises:
        ConfigError: It is neither JSONL nor Parquet.
        CorpusError: It cannot be read.
    """
    form = detect_format(source) if options.format == "auto" else options.format
    _check_encoding(options.encoding)
    if form not in FORMATS:
        raise ConfigError(
            "only JSONL and Parquet can be cut into blocks",
            seen=f"{source}, read as {form}",
            allowed=", ".join(FORMATS),
            next_step="omit --workers and --engine, or convert the file",
        )
    if form == "parquet":
        sizes = tuple(row_group_sizes(source, options))
        return InputShard(source, name, form, hash_of(source), sum(sizes), sizes)
    return InputShard(source, name, form, hash_of(source), count_lines(source))


def _check_encoding(encoding: str) -> None:
    """Raise ConfigError if lines of an encoding do not end with the byte of a newline."""
    check_encoding(encoding)
    if "\n".encode(encoding) != b"\n":
        raise ConfigError(
            "shards in this encoding cannot be cut into blocks",
            seen=encoding,
            allowed="encodings in which a newline is one byte, such as utf-8 and latin-1",
            next_step="omit --workers and --engine, or convert the files with iconv",
        )


def hash_of(source: str) -> str:
    """Return the SHA-256 of a file on disk or at a URL."""
    if not is_url(source):
        return sha256_of(source)
    digest = hashlib.sha256()
    with open_url(source) as file:
        while piece := file.read(CHUNK_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def count_lines(source: str) -> int:
    r"""Return the number of lines of a file, compressed or not; the last one may have no newline.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.jsonl"
        >>> _ = path.write_text("one\n\nthree")
        >>> count_lines(str(path))
        3
    """
    count, last = 0, b"\n"
    with open_bytes(source) as stream:
        while piece := stream.read(CHUNK_BYTES):
            count, last = count + piece.count(b"\n"), piece[-1:]
    return count if last == b"\n" else count + 1


def blocks_of(shards: Sequence[InputShard], size: int) -> list[Block]:
    """Return the blocks of all shards; they depend on nothing but the shards and the size.

    Args:
        shards: The files.
        size: Number of rows of a block of JSONL. A block of Parquet consists of whole row groups, with at least as many
            rows, except the last.

    Example:
        >>> blocks_of([InputShard("a.jsonl", "a", "jsonl", "", 5)], 2)[-1]
        Block(shard=0, first=5, last=5, groups=())
        >>> [block.groups for block in blocks_of([InputShard("a", "a", "parquet", "", 7, (2, 2, 3))], 3)]
        [(0, 1), (2,)]
    """
    return [block for number, shard in enumerate(shards) for block in _blocks_of(shard, number, size)]


def _blocks_of(shard: InputShard, number: int, size: int) -> Iterator[Block]:
    if shard.format == "jsonl":
        for first in range(1, shard.rows + 1, size):
            yield Block(number, first, min(first + size - 1, shard.rows))
        return
    block = Block(number, 1, 0)
    for group, rows in enumerate(shard.row_groups):
        block = replace(block, last=block.last + rows, groups=(*block.groups, group))
        if len(block) >= size or group == len(shard.row_groups) - 1:
            yield block
            block = Block(number, block.last + 1, block.last)
