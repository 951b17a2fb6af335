"""Reading files that nobody vouches for as lines: any compression, encoding or length, and clear words.

Everything that reads text goes through :func:`open_lines` or :func:`open_bytes`, so a truncated archive, a
wrong encoding or a binary file is reported in the same way whatever format it was taken for.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from itertools import count

from weft.corpora.readers.read_options import MAX_LINE_BYTES
from weft.errors import ConfigError, CorpusError
from weft.io.compressed_streams import Source, name_of, open_bytes

# Enough to judge what a file is, and small enough that judging costs nothing.
HEAD_BYTES = 2**16
# Bytes no text contains: everything below space but tab, newline, vertical tab, form feed, return and escape
# (ISO-2022 encodings switch alphabets with escape), and delete.
_CONTROL = bytes({*range(1, 32), 127} - {9, 10, 11, 12, 13, 27})
_MAX_CONTROL_SHARE = 0.05
_SIGNATURES = {
    b"PK\x03\x04": ("a zip archive or an office document", "save it as plain text, or unzip it"),
    b"%PDF": ("a PDF", "convert it to text first, for example with pdftotext"),
    b"\x28\xb5\x2f\xfd": ("zstd-compressed", "zstd -dc FILE | weft ... -"),
    b"PAR1": ("a Parquet file", "--input parquet"),
}
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_lines(
    source: Source,
    *,
    encoding: str = "utf-8",
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[tuple[int, str]]:
    r"""Stream the lines of a text file, compressed or not.

    Lines end at ``\n`` alone (a ``\r`` before it goes too): U+2028 and its kin are characters like any other.

    Args:
        source: A path, or ``-`` for standard input.
        encoding: Any text encoding that Python knows; a byte order mark is dropped.
        max_line_bytes: The longest line allowed, in bytes of UTF-8.

    Yields:
        The number of the line, from 1, and its text without the newline.

    Raises:
        CorpusError: The file is missing, binary, corrupt, in another encoding or has too long a line.
        ConfigError: There is no such encoding.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = path.write_bytes(b"one\r\ntwo")
        >>> list(open_lines(path))
        [(1, 'one'), (2, 'two')]
    """
    check_encoding(encoding)
    name = name_of(source)
    with open_bytes(source) as stream:
        _refuse_binary(stream.peek(HEAD_BYTES)[:HEAD_BYTES], name, encoding)
        try:
            yield from _lines(io.TextIOWrapper(stream, encoding, newline="\n"), name, max_line_bytes)
        except UnicodeError as error:
            raise _undecodable(error, name, encoding, stream.tell()) from error


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that does not exist or that does not make text (``hex``, ``zlib``).

    Example:
        >>> check_encoding("latin-1")
    """
    try:
        codecs.getincrementaldecoder(encoding)
        b"a".decode(encoding)  # Refuses the codecs that do not make text.
    except UnicodeDecodeError:
        pass  # One byte is too little for UTF-16, but the encoding exists.
    except (LookupError, ValueError) as error:
        raise ConfigError(
            "unknown encoding",
            seen=encoding,
            allowed="a text encoding that Python knows, such as utf-8, latin-1, cp1252, utf-16",
            next_step="--encoding utf-8",
        ) from error


def _refuse_binary(head: bytes, name: str, encoding: str) -> None:
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        return
    kind = next((kind for magic, kind in _SIGNATURES.items() if head.startswith(magic)), None)
    if kind:
        raise _binary(name, f"{kind[0]}, first bytes {head[:4]!r}", kind[1])
    if head.startswith(_UTF16_MARKS):
        raise _binary(name, f"a UTF-16 byte order mark, first bytes {head[:4]!r}", "--encoding utf-16")
    if b"\0" in head:
        raise _binary(
            name,
            f"a NUL byte at offset {head.index(0)}",
            "give a text file, or --encoding utf-16 if it is one",
        )
    controls = len(head) - len(head.translate(None, _CONTROL))
    if controls > _MAX_CONTROL_SHARE * len(head):
        raise _binary(name, f"{controls} control bytes in the first {len(head)}", "give a text file")


def _binary(name: str, seen: str, next_step: str) -> CorpusError:
    return CorpusError(
        f"not a text file but a binary one: {name}",
        seen=seen,
        allowed="text, plain or as .gz, .bz2 or .xz",
        next_step=next_step,
    )


def _lines(text: io.TextIOWrapper, name: str, max_line_bytes: int) -> Iterator[tuple[int, str]]:
    for number in count(1):
        line = text.readline(max_line_bytes + 1)  # a longer line is cut, and then has no newline at its end
        if not line:
            return
        line = line.removesuffix("\n")
        # A string knows whether it is ASCII, so the common case costs nothing.
        if (len(line) if line.isascii() else len(line.encode())) > max_line_bytes:
            raise _too_long(name, number, max_line_bytes)
        if number == 1:
            line = line.removeprefix("\ufeff")
        yield number, line.removesuffix("\r")


def _undecodable(error: UnicodeError, name: str, encoding: str, consumed: int) -> CorpusError:
    if isinstance(error, UnicodeDecodeError):
        # error.object ends where reading stands: it is the last chunk, after what the decoder still held.
        offset = consumed - len(error.object) + error.start
        problem = f"byte 0x{error.object[error.start]:02x} at offset {offset} is not valid {encoding}"
    else:
        problem = f"{error} (near offset {consumed})"
    other = "latin-1" if codecs.lookup(encoding).name == "utf-8" else "utf-8"
    return CorpusError(
        f"wrong encoding: {name}",
        seen=problem,
        allowed=f"text in {encoding}",
        next_step=f"--encoding {other}",
    )


def _too_long(name: str, number: int, limit: int) -> CorpusError:
    return CorpusError(
        f"line {number} is too long: {name}",
        seen=f"more than {limit} bytes without a newline",
        allowed=f"lines of at most {limit} bytes",
        next_step="break the line; in Python, ReadOptions(max_line_bytes=...) allows longer ones",
    )
