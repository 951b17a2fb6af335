"""Files and standard input as byte streams: decompressed, with clear errors.

The standard library decompresses. This module detects the format by the first bytes, also on a pipe, and turns every
failure into a `CorpusError`.
"""

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
from typing import IO, TYPE_CHECKING, cast

from weft.errors import CorpusError
from weft.io.url_files import is_url, open_url

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Source = str | Path

STDIN = "-"
CHUNK_BYTES = 2**20
COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz")


def name_of(source: Source) -> str:
    """Return the name of a source for messages."""
    return "standard input" if str(source) == STDIN else str(source)


def stem_of(source: Source) -> str:
    """Return the file name without folder, compression suffix and extension; document ids start with it."""
    return "stdin" if str(source) == STDIN else Path(plain_name(source)).stem


def plain_name(source: Source) -> str:
    """Return the file name without folder and compression suffix."""
    path = Path(source)
    return path.stem if path.suffix.lower() in COMPRESSION_SUFFIXES else path.name


@contextmanager
def open_bytes(source: Source) -> Iterator[io.BufferedReader]:
    """Open a file, a URL, or standard input for ``-``, and decompress it if it begins as a compressed file does.

    Yields:
        A buffered stream of the decompressed bytes. Its `tell` counts them; it cannot seek.

    Raises:
        CorpusError: The file cannot be opened or read, or its compressed data is damaged.

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
        with _explain_read_errors(name):
            head = _read_exactly(raw, 6)
        whole = io.BufferedReader(_Stream(raw, name, head), CHUNK_BYTES)
        yield io.BufferedReader(_Stream(_decompressed(cast(IO[bytes], whole), head), name), CHUNK_BYTES)


def standard_input_chunks() -> Iterator[bytes]:
    """Yield the bytes of standard input, not decompressed."""
    stream = _standard_input()
    with _explain_read_errors(name_of(STDIN)):
        yield from iter(lambda: stream.read(CHUNK_BYTES), b"")


def standard_input_head(count: int) -> bytes:
    """Return up to ``count`` of the next bytes of standard input, which can still be read afterwards."""
    stream = _standard_input()
    return stream.peek(count)[:count] if isinstance(stream, io.BufferedReader) else b""


@contextmanager
def explain_open_errors(source: Source, *, allowed: str = "a readable file, or - for standard input") -> Iterator[None]:
    """Turn the errors of opening a file inside the block into a `CorpusError`."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it.
        reason, next_step = _open_error(error)
        raise CorpusError(
            f"cannot open the file: {reason}", seen=str(source), allowed=allowed, next_step=next_step
        ) from error


def _open_error(error: OSError | ValueError) -> tuple[str, str]:
    """Return the reason and the next step."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return "it does not exist", "check the path"
        case IsADirectoryError():
            return "it is a directory", 'give a file in it, or `format="wikiextractor"` or `format="barzilay-lapata"`'
        case PermissionError():
            return "permission denied", "check who may read it (ls -l)"
        case OSError():
            return error.strerror or str(error), "check the path"
        case _:
            return str(error), "check the path"


@contextmanager
def _open_raw(source: Source) -> Iterator[IO[bytes]]:
    if str(source) == STDIN:
        yield _standard_input()
        return
    if is_url(source):
        with open_url(str(source)) as file:
            yield file
        return
    with explain_open_errors(source):
        file = open(source, "rb", buffering=0)  # noqa: SIM115 - errors of the body must not pass through the block above
    with file:
        yield file


def _standard_input() -> IO[bytes]:
    """Return the bytes of standard input, which stays open; a program may have been started without it (``<&-``)."""
    buffer: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
    if buffer is None or buffer.closed:
        raise CorpusError(
            "there is no standard input",
            seen="-, and standard input is closed",
            allowed="a file or a pipe",
            next_step="give a file",
        )
    return buffer


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    """Read ``count`` bytes, or all up to the end; a pipe may return them one at a time."""
    data = b""
    while len(data) < count and (piece := stream.read(count - len(data))):
        data += piece
    return data


class _Stream(io.RawIOBase):
    """A stream with clear errors; ``head`` is what was read from the inner stream before."""

    def __init__(self, inner: IO[bytes], name: str, head: bytes = b"") -> None:
        self._inner, self._name, self._head = inner, name, head
        self._position = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._head[: len(view)]
        self._head = self._head[len(view) :]
        if not data:
            with _explain_read_errors(self._name):
                data = self._inner.read(len(view)) or b""
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


@contextmanager
def _explain_read_errors(name: str) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise _unreadable(name, "the compressed file ends too early", str(error)) from error
    except (lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise _unreadable(name, "the compressed file is corrupt", str(error)) from error
    except OSError as error:  # bz2 reports damaged data as an OSError without a number, the system as one with it.
        problem = "the compressed file is corrupt" if error.errno is None else "the file cannot be read"
        raise _unreadable(name, problem, error.strerror or str(error)) from error


def _unreadable(name: str, problem: str, detail: str) -> CorpusError:
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
