"""Checks of a file of a model before it is read: a pipe blocks, a device never ends, and a size may be a lie."""

from __future__ import annotations

import json
from pathlib import Path

from weft.errors import ModelError

LARGEST_HEADER = 100 * 2**20  # bytes of the header of a safetensors file; the library has the same limit
LARGEST_TEXT = 2**30  # bytes of a vocabulary, a graph or another file that does not say its size
LENGTH_BYTES = 8  # a safetensors file begins with the length of its header


def check_regular(path: Path, largest: int | None = None) -> None:
    """Raise ModelError if a path is not a regular file, or has more bytes than allowed.

    Raises:
        ModelError: The path is a pipe, a device or a folder, does not exist, or is too large.

    Example:
        >>> check_regular(Path("/dev/zero"))
        Traceback (most recent call last):
        weft.errors.ModelError: not a regular file: /dev/zero: saw 'a device, a pipe or a folder'; allowed: the files of
        the model as they were published; next: restore the folder of the model from its source
    """
    if not path.is_file():
        raise _refused(f"not a regular file: {path}", "a device, a pipe or a folder" if path.exists() else "nothing")
    if largest is not None and path.stat().st_size > largest:
        raise _refused(f"too large for a file of a model: {path}", f"{path.stat().st_size} bytes, more than {largest}")


def check_weights_size(path: Path) -> None:
    """Raise ModelError if a safetensors file is not regular, or does not have the size that its header says.

    Only the header is read.

    Raises:
        ModelError: The file is refused.
    """
    check_regular(path)
    size = path.stat().st_size
    with path.open("rb") as stream:
        header = int.from_bytes(stream.read(LENGTH_BYTES), "little")
        if size < LENGTH_BYTES or header > min(LARGEST_HEADER, size - LENGTH_BYTES):
            raise _refused(f"not a whole safetensors file: {path}", f"{size} bytes, and a header of {header}")
        data = _data_bytes(stream.read(header), path)
    if LENGTH_BYTES + header + data != size:
        said = LENGTH_BYTES + header + data
        raise _refused(f"the file does not have the size that it says: {path}", f"{size} bytes, not {said}")


def _data_bytes(header: bytes, path: Path) -> int:
    """Return the number of bytes after a header."""
    try:
        entries = json.loads(header)
        ends = [entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"]
        return max(map(int, ends), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise _refused(f"not a safetensors file: {path}", "a header that is not readable") from error


def _refused(what: str, seen: str) -> ModelError:
    return ModelError(
        what,
        seen=seen,
        allowed="the files of the model as they were published",
        next_step="restore the folder of the model from its source",
    )
