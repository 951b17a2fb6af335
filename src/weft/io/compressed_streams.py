"""Opening files as bytes, from disk or standard input: compression undone, failures told in plain words."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from weft.errors import CorpusError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Source = str | Path

STDIN = "-"
CHUNK_BYTES = 2**20
COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz")


def name_of(source: Source) -> str:
    """The name of a source in messages.

    Example:
        >>> name_of("-")
        'standard input'
    """
    return "standard input" if str(source) == STDIN else str(source)


def stem_of(source: Source) -> str:
    """The name of a source without its folder, its compression suffix and its extension; ids start with it.

    Example:
        >>> stem_of("data/train-00.jsonl.xz")
        'train-00'
    """
    return "stdin" if str(source) == STDIN else Path(plain_name(source)).stem


def plain_name(source: Source) -> str:
    """The file name without its folder and its compression suffix.

    Example:
        >>> plain_name("data/train-00.jsonl.xz")
        'train-00.jsonl'
    """
    path = Path(source)
    return path.stem if path.suffix.lower() in COMPRESSION_SUFFIXES else path.name


@contextmanager
def open_bytes(source: Source) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``, and undo its compression, which is known by its first bytes.

    Args:
        source: A path, or ``-``.

    Yields:
        A buffered stream of the decompressed bytes; whatever goes wrong in reading it is a ``CorpusError``.

    Example:
        >>> import gzip, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "odd-name"
        >>> _ = path.write_bytes(gzip.compress(b"text"))
        >>> with open_bytes(path) as stream:
        ...     stream.read()
        b'text'
    """
    name = name_of(source)
    with _open_raw(source) as raw:
        with _reading(name):
            head = _read_exactly(raw, 6)
        rejoined = io.BufferedReader(_Rejoined(head, raw), CHUNK_BYTES)
        plain = _decompressed(cast(IO[bytes], rejoined), head)
        yield cast(BinaryIO, io.BufferedReader(_Guarded(plain, name), CHUNK_BYTES))


@contextmanager
def _open_raw(source: Source) -> Iterator[IO[bytes]]:
    if str(source) == STDIN:
        yield _standard_input()
        return
    with explain_open_errors(source):
        file = open(source, "rb", buffering=0)  # noqa: SIM115 - errors of the body must not pass through explain_open_errors
    with file:
        yield file


def _standard_input() -> IO[bytes]:
    """The bytes of standard input, not ours to close; a program may have been started without it (``<&-``)."""
    buffer: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
    if buffer is None or buffer.closed:
        raise CorpusError(
            "there is no standard input",
            seen="-, and standard input is closed",
            allowed="a file or a pipe",
            next_step="give a file",
        )
    return buffer


def standard_input_chunks() -> Iterator[bytes]:
    """Standard input as it comes, compressed or not.

    Raises:
        CorpusError: There is none, or it cannot be read.
    """
    stream = _standard_input()
    while True:
        with _reading(name_of(STDIN)):
            chunk = stream.read(CHUNK_BYTES)
        if not chunk:
            return
        yield chunk


@contextmanager
def explain_open_errors(source: Source, *, allowed: str = "a readable file, or - for standard input") -> Iterator[None]:
    """Say in plain words why a file could not be opened."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it.
        reason, next_step = _why_not_opened(error)
        raise CorpusError(
            f"cannot open the file: {reason}",
            seen=str(source),
            allowed=allowed,
            next_step=next_step,
        ) from error


def _why_not_opened(error: OSError | ValueError) -> tuple[str, str]:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return "it does not exist", "check the path"
        case IsADirectoryError():
            return "it is a directory", "give a file in it, or --input wikiextractor or barzilay-lapata"
        case PermissionError():
            return "permission denied", "check who may read it (ls -l)"
        case OSError():
            return error.strerror or str(error), "check the path"
        case _:
            return str(error), "check the path"


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    """Read ``count`` bytes or up to the end; a pipe may hand them over one at a time."""
    data = b""
    while len(data) < count and (piece := stream.read(count - len(data))):
        data += piece
    return data


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were looked at, whole again; works where seeking does not."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._head[: len(view)] or self._rest.read(len(view)) or b""
        self._head = self._head[len(view) :]
        view[: len(data)] = data
        return len(data)


class _Guarded(io.RawIOBase):
    """A decompressing stream whose failures are told as ``CorpusError``."""

    def __init__(self, inner: IO[bytes], name: str) -> None:
        self._inner, self._name = inner, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        with _reading(self._name):
            data = self._inner.read(len(view))
        view[: len(data)] = data
        return len(data)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise _corrupt(name, "the compressed file ends too early", str(error)) from error
    except (lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise _corrupt(name, "the compressed file is corrupt", str(error)) from error
    except OSError as error:  # bz2 reports corruption as a bare OSError, the system as one with a number.
        problem = "the compressed file is corrupt" if error.errno is None else "the file cannot be read"
        raise _corrupt(name, problem, error.strerror or str(error)) from error


def _corrupt(name: str, problem: str, detail: str) -> CorpusError:
    return CorpusError(
        f"{problem}: {name}",
        seen=detail,
        allowed="plain text, or a whole .gz, .bz2 or .xz file",
        next_step="download or compress it again",
    )


def _decompressed(stream: IO[bytes], head: bytes) -> IO[bytes]:
    if head.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    if head.startswith(b"BZh"):
        return bz2.BZ2File(stream)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(stream)
    return stream
