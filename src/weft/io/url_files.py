"""Files at URLs (``s3://``, ``gs://``, ``https://`` and others), opened and written by fsspec."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from weft.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from pathlib import Path

MARK = "://"


def is_url(source: str | Path) -> bool:
    """Return whether a source is a URL and not a path.

    Example:
        >>> is_url("s3://texts/a.jsonl"), is_url("texts/a.jsonl")
        (True, False)
    """
    return MARK in str(source)


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises:
        ConfigError: fsspec, or what it needs for this kind of URL, is not installed.
    """
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"cannot open this kind of URL: {error}",
            seen=url,
            allowed="a path, or a URL whose file system is installed for fsspec",
            next_step="pip install 'weft-coherence[scale]' and the package of the file system, such as s3fs",
        ) from error
    return system, str(path)


@contextmanager
def open_url(url: str) -> Iterator[IO[bytes]]:
    """Open the file at a URL for reading; it can seek if its file system can.

    Raises:
        ConfigError: The file system is not installed.
        CorpusError: The file cannot be opened.
    """
    system, path = file_system(url)
    with explain_url_errors(url):
        file = system.open(path, "rb")
    with file:
        yield cast(IO[bytes], file)


def matching_urls(pattern: str) -> list[str]:
    """Return the URLs that fit a pattern such as ``s3://texts/*.jsonl``, sorted.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.jsonl").write_text("{}")
        >>> matching_urls(f"file://{folder}/*.jsonl") == [f"file://{folder}/a.jsonl"]
        True
    """
    system, path = file_system(pattern)
    with explain_url_errors(pattern):
        return sorted(system.unstrip_protocol(found) for found in system.glob(path))


@contextmanager
def write_url_atomically(url: str) -> Iterator[IO[bytes]]:
    """Open a temporary file beside the URL; it gets the name of the URL if the block ends without an error.

    A file system that copies instead of renaming, such as an object store, shows the copy when it is complete.
    """
    system, path = file_system(url)
    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/.{name}.{secrets.token_hex(4)}"
    with explain_url_errors(url):
        system.makedirs(folder, exist_ok=True)
        file = system.open(temporary, "wb")
    try:
        with file:
            yield file
        with explain_url_errors(url):
            system.mv(temporary, path)
    except BaseException:
        if system.exists(temporary):
            system.rm_file(temporary)
        raise


@contextmanager
def explain_url_errors(url: str) -> Iterator[None]:
    """Turn errors of a file system inside the block into a `CorpusError`."""
    try:
        yield
    except NotImplementedError as error:
        raise CorpusError(
            "cannot use the file at a URL: its file system does not support this; it may allow reading only",
            seen=url,
            allowed="for output, a file system that can be written, such as s3:// or gs://",
            next_step="choose another place",
        ) from error
    except OSError as error:
        raise CorpusError(
            f"cannot use the file at a URL: {error.strerror or type(error).__name__}",
            seen=url,
            allowed="a file or folder that you may read or write",
            next_step="check the URL and your credentials",
        ) from error
