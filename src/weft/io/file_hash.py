"""The hash of a file."""

from __future__ import annotations

import hashlib
import os

from weft.errors import CorpusError
from weft.io.compressed_streams import Source, explain_open_errors


def sha256_of(path: Source) -> str:
    """Return the SHA-256 of a file's bytes on disk, read as a stream.

    Raises:
        CorpusError: The file cannot be opened, or is a pipe, which can be read only once, or a device without end.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise CorpusError(
            "not a regular file, whose hash can be recorded",
            seen=str(path),
            allowed="a file on a disk",
            next_step="save the data to a file first",
        )
    with explain_open_errors(path, allowed="a readable file"), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
