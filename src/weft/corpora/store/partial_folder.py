"""The folder a store grows in, ``<out>.partial``: held by one process at a time, and never taken from anybody.

Only what `prepare` made is ever written over or deleted. A folder is known as its own by the marker it gets
first (``progress.json``, which names the recipe) or last (``store.json``), and by holding nothing else.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from weft.corpora.store.store_writer import HEADER, LOCK, PROGRESS, STORE_FILES, temporary_name, write_text_atomically
from weft.errors import CorpusError
from weft.io.atomic_files import explain_write_errors

_MARKERS = {PROGRESS: "recipe", HEADER: "fingerprint"}
# From a process killed before its marker stood.
_BEFORE_MARKER = {LOCK, temporary_name(PROGRESS)}
# In the order in which they are deleted: the marker outlives the data, and the lock everything.
_OWN_FILES = (
    *(name for file in STORE_FILES if file != HEADER for name in (file, temporary_name(file))),
    temporary_name(HEADER),
    HEADER,
    temporary_name(PROGRESS),
    PROGRESS,
    LOCK,
)
# Each failed attempt means that another process has just finished or given up; that does not go on for ever.
_ATTEMPTS = 100


def partial_folder_of(out: Path) -> Path:
    """Where a store is made before it gets its name.

    Example:
        >>> partial_folder_of(Path("stores/wiki")).name
        'wiki.partial'
    """
    return out.with_name(out.name + ".partial")


@contextmanager
def hold_partial_folder(out: Path) -> Iterator[Path]:
    """Make or take over the partial folder of a store and hold it, for this process alone, during the block.

    The lock is the kernel's, so that one held by a process that was killed is free again.

    Raises:
        CorpusError: Another process holds it, it is not weft's, or it cannot be made.
    """
    partial = partial_folder_of(out)
    with explain_write_errors(partial):
        lock = _open_lock(partial)
    try:
        with explain_write_errors(partial):
            _check_ours(partial)
        yield partial
    finally:
        if _names(partial) == {LOCK}:
            delete_partial_folder(partial)
        if lock is not None:
            os.close(lock)


def write_marker(partial: Path, recipe: Mapping[str, Any]) -> None:
    """Note that the folder is weft's, before anything else is in it."""
    write_text_atomically(partial / PROGRESS, json.dumps({"recipe": recipe}))


def delete_partial_folder(partial: Path) -> None:
    """Delete an unfinished store; a file that `prepare` did not make stays, and its folder with it."""
    for name in _OWN_FILES:
        (partial / name).unlink(missing_ok=True)
    with suppress(OSError):
        partial.rmdir()


def _open_lock(partial: Path) -> int | None:
    for _ in range(_ATTEMPTS):
        if not (partial / LOCK).is_file():
            _check_ours(partial)  # before a lock is put among them
        partial.mkdir(parents=True, exist_ok=True)
        if sys.platform == "win32":
            return None  # No flock, and no renaming of a folder with an open file in it either.
        with suppress(FileNotFoundError):  # The other process has just deleted or renamed the folder.
            lock = os.open(partial / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            if _lock(lock, partial):
                return lock
    raise _busy(partial)


def _lock(lock: int, partial: Path) -> bool:
    """Whether the lock is ours and still that of the folder; refuses if another process has it."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise _busy(partial) from None
    except OSError:
        pass  # A file system without locks, as some network ones are, is used without them.
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(lock), os.stat(partial / LOCK)):
            return True
    os.close(lock)
    return False


def _busy(partial: Path) -> CorpusError:
    return CorpusError(
        f"another process is preparing {partial.with_suffix('')}",
        seen=f"{partial}, in use",
        allowed="one process at a time for each --out",
        next_step="wait until it is done, or choose another --out",
    )


def _check_ours(partial: Path) -> None:
    """Refuse a folder that `prepare` did not make, or in which something else was put."""
    names = _names(partial)
    foreign = sorted(names.difference(_OWN_FILES))
    if partial.is_symlink() or (partial.exists() and not partial.is_dir()):
        seen = "something that is not a folder"
    elif foreign:
        seen = ", ".join(foreign)[:200]
    elif names <= _BEFORE_MARKER or any(_has_marker(partial / name, key) for name, key in _MARKERS.items()):
        return
    else:
        seen = f"no {PROGRESS} of `weft prepare`, but {', '.join(sorted(names))}"[:200]
    raise CorpusError(
        f"{partial} is in the way and holds what weft did not make",
        seen=seen,
        allowed="nothing under that name, or an interrupted run of `weft prepare`",
        next_step="move it away, or choose another --out",
    )


def _names(partial: Path) -> set[str]:
    try:
        return set(os.listdir(partial))
    except (FileNotFoundError, NotADirectoryError):
        return set()


def _has_marker(path: Path, key: str) -> bool:
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(body, dict) and key in body
