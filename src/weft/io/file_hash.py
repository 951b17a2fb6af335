"""The hash of a file."""

from __future__ import annotations

import hashlib

from weft.io.compressed_streams import Source, explain_open_errors


def sha256_of(path: Source) -> str:
    """Return the SHA-256 of a file's bytes on disk, read as a stream.

    Raises:
        CorpusError: The file cannot be opened.
    """
    with explain_open_errors(path, allowed="a readable file"), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
