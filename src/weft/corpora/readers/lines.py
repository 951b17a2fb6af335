"""Lines of text files, with any compression and encoding, and clear errors.

All readers use `open_lines` or `open_bytes`, so that a truncated archive, a wrong encoding or a binary file gives the
same error in every format.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from itertools import count

from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.errors import ConfigError, CorpusError
from weft.io.compressed_streams import Source, name_of, open_bytes

# The part of a file that is checked for binary contents.
HEAD_BYTES = 2**16
# Bytes that text does not contain: delete, and everything below space except tab, newline, vertical tab, form feed,
# return and escape (ISO-2022 encodings switch alphabets with escape).
_CONTROL = bytes({*range(1, 32), 127} - {9, 10, 11, 12, 13, 27})
_MAX_CONTROL_SHARE = 0.05
_SIGNATURES = {
    b"PK\x03\x04": ("a zip archive or an office document", '`format="docx"` if it is one, or unzip it'),
    b"%PDF": ("a PDF", '`format="pdf"`'),
    b"\x28\xb5\x2f\xfd": ("zstd-compressed", "zstd -dc FILE | weft ... -"),
    b"PAR1": ("a Parquet file", '`format="parquet"`'),
}
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_lines(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a text file, compressed or not.

    Only ``\n`` ends a line, and a ``\r`` before it is removed; U+2028 and similar characters do not end a line.

    Args:
        source: A path, or ``-`` for standard input.
        options: The encoding and the longest line allowed, in bytes of UTF-8; a byte order mark is removed.

    Yields:
        The line number, from 1, and the line without its newline.

    Raises:
        CorpusError: The file is missing, binary or damaged, has another encoding, or has a line that is too long.
        ConfigError: The encoding is unknown.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = path.write_bytes(b"one\r\ntwo")
        >>> list(open_lines(path))
        [(1, 'one'), (2, 'two')]
    """
    encoding, name = options.encoding, name_of(source)
    check_encoding(encoding)
    with open_bytes(source) as stream:
        _check_not_binary(stream.peek(HEAD_BYTES)[:HEAD_BYTES], name, encoding)
        try:
            yield from _lines(io.TextIOWrapper(stream, encoding, newline="\n"), name, options.max_line_bytes)
        except UnicodeError as error:
            raise _undecodable(error, name, encoding, stream.tell()) from error


def read_all(
    source: Source,
    options: ReadOptions = DEFAULT_OPTIONS,
    *,
    encoding_of: Callable[[bytes], str | None] = lambda _: None,
) -> str:
    r"""Return the text of a whole file, compressed or not, with ``\n`` as the only line end.

    Args:
        source: A path, or ``-`` for standard input.
        options: The encoding; ``max_line_bytes`` is the size of the largest file allowed.
        encoding_of: Returns the encoding that the beginning of a file names, which counts unless the options name one.

    Raises:
        CorpusError: The file is missing, binary, damaged or too large, or has another encoding.
    """
    check_encoding(options.encoding)
    name = name_of(source)
    with open_bytes(source) as stream:
        data = stream.read(options.max_line_bytes + 1)
    if len(data) > options.max_line_bytes:
        raise too_large(name, options.max_line_bytes)
    named = encoding_of(data[:HEAD_BYTES]) if options.encoding == DEFAULT_OPTIONS.encoding else None
    encoding = named or options.encoding
    _check_not_binary(data[:HEAD_BYTES], name, encoding)
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        raise _undecodable(error, name, encoding, len(data)) from error
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def too_large(name: str, limit: int) -> CorpusError:
    """Return the error of a file that is too large to be read as a whole."""
    return CorpusError(
        f"the file is too large: {name}",
        seen=f"more than {limit} bytes",
        allowed=f"files of at most {limit} bytes in this format",
        next_step="split the file; in Python, ReadOptions(max_line_bytes=...) allows larger ones",
    )


def check_encoding(encoding: str) -> None:
    """Raise ConfigError if an encoding does not exist or is not a text encoding (``hex``, ``zlib``)."""
    try:
        codecs.getincrementaldecoder(encoding)
        b"a".decode(encoding)  # fails for codecs that are not text encodings
    except UnicodeDecodeError:
        pass  # one byte is too short for UTF-16, but the encoding exists
    except (LookupError, ValueError) as error:
        raise ConfigError(
            "unknown encoding",
            seen=encoding,
            allowed="a text encoding that Python knows, such as utf-8, latin-1, cp1252, utf-16",
            next_step='`encoding="utf-8"`',
        ) from error


def _check_not_binary(head: bytes, name: str, encoding: str) -> None:
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        return
    kind = next((kind for magic, kind in _SIGNATURES.items() if head.startswith(magic)), None)
    if kind:
        raise _binary(name, f"{kind[0]}, first bytes {head[:4]!r}", kind[1])
    if head.startswith(_UTF16_MARKS):
        raise _binary(name, f"a UTF-16 byte order mark, first bytes {head[:4]!r}", '`encoding="utf-16"`')
    if b"\0" in head:
        raise _binary(
            name,
            f"a NUL byte at offset {head.index(0)}",
            'give a text file, or `encoding="utf-16"` if it is one',
        )
    controls = len(head) - len(head.translate(None, _CONTROL))
    if controls > _MAX_CONTROL_SHARE * len(head):
        raise _binary(name, f"{controls} control bytes in the first {len(head)}", "give a text file")


def _binary(name: str, seen: str, next_step: str) -> CorpusError:
    return CorpusError(
        f"not a text file, but a binary one: {name}",
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
        # isascii() takes constant time; encoding is needed for other lines only.
        if (len(line) if line.isascii() else len(line.encode())) > max_line_bytes:
            raise _too_long(name, number, max_line_bytes)
        if number == 1:
            line = line.removeprefix("\ufeff")
        yield number, line.removesuffix("\r")


def _undecodable(error: UnicodeError, name: str, encoding: str, consumed: int) -> CorpusError:
    if isinstance(error, UnicodeDecodeError):
        # error.object is the bytes that were left from before and the last chunk; it ends at the number of bytes read.
        offset = consumed - len(error.object) + error.start
        problem = f"byte 0x{error.object[error.start]:02x} at offset {offset} is not valid {encoding}"
    elif isinstance(error, UnicodeEncodeError):  # utf-7 and unicode_escape can spell half a character
        half = ord(error.object[error.start])
        problem = f"half a surrogate pair, U+{half:04X}, which is not a character (before offset {consumed})"
    else:
        problem = f"{error} (near offset {consumed})"
    other = "latin-1" if codecs.lookup(encoding).name == "utf-8" else "utf-8"
    return CorpusError(
        f"wrong encoding: {name}",
        seen=problem,
        allowed=f"text in {encoding}",
        next_step=f'`encoding="{other}"`',
    )


def _too_long(name: str, number: int, limit: int) -> CorpusError:
    return CorpusError(
        f"line {number} is too long: {name}",
        seen=f"more than {limit} bytes without a newline",
        allowed=f"lines of at most {limit} bytes",
        next_step="break the line; in Python, ReadOptions(max_line_bytes=...) allows longer ones",
    )
