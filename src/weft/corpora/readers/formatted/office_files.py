"""What the readers of ``.docx`` and ``.pdf`` share: the extra that they need, and the bytes of a whole file."""

from __future__ import annotations

from weft.corpora.readers.lines import too_large
from weft.errors import ConfigError, CorpusError
from weft.io.compressed_streams import Source, name_of, open_bytes

MAX_FILE_BYTES = 128 * 2**20


def missing_extra(kind: str, library: str, source: Source) -> ConfigError:
    """Return the error for a library that is not installed."""
    return ConfigError(
        f"{kind} needs {library}, which is not installed",
        seen=name_of(source),
        allowed="plain text, Markdown and HTML without it",
        next_step="pip install 'weft-coherence[documents]'",
    )


def unreadable(kind: str, source: Source, seen: str, next_step: str) -> CorpusError:
    """Return the error for a damaged, encrypted or harmful file."""
    return CorpusError(
        f"not a readable {kind}: {name_of(source)}",
        seen=" ".join(seen.split())[:200],
        allowed=f"a whole {kind} without a password",
        next_step=next_step,
    )


def file_bytes(source: Source) -> bytes:
    """Return the bytes of a file.

    Raises:
        CorpusError: The file cannot be read, or is larger than `MAX_FILE_BYTES`.
    """
    with open_bytes(source) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise too_large(name_of(source), MAX_FILE_BYTES)
    return data
