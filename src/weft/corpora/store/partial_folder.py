"""The folder of an unfinished store, ``<out>.partial``, which one process locks at a time.

Only files that `prepare` wrote are overwritten or deleted. A folder of `prepare` has a marker, ``progress.json`` or
``store.json``, and contains no other files.
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
# Files of a process that was killed before it wrote its marker.
_BEFORE_MARKER = {LOCK, temporary_name(PROGRESS)}
# In the order of deletion: the marker after the data, and the lock last.
_OWN_FILES = (
    *(name for file in STORE_FILES if file != HEADER for name in (file, temporary_name(file))),
    temporary_name(HEADER),
    HEADER,
    temporary_name(PROGRESS),
    PROGRESS,
    LOCK,
)
# After a failed attempt another process has just finished or given up, so that few attempts are needed.
_ATTEMPTS = 100


def partial_folder_of(out: Path) -> Path:
    """Return the folder of an unfinished store.

    Example:
        >>> partial_folder_of(Path("stores/wiki")).name
        'wiki.partial'
    """
    return out.with_name(out.name + ".partial")


@contextmanager
def hold_partial_folder(out: Path) -> Iterator[Path]:
    """Create or reuse the partial folder of a store, locked for this process during the block.

    The lock belongs to the operating system, which releases it if the process is killed.

    Raises:
        CorpusError: Another process has locked it, weft did not make it, or it cannot be created.
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
    """Write the marker of `prepare` into an empty folder."""
    write_text_atomically(partial / PROGRESS, json.dumps({"recipe": recipe}))


def delete_partial_folder(partial: Path) -> None:
    """Delete an unfinished store; a file that `prepare` did not write is kept, and so is its folder."""
    for name in _OWN_FILES:
        (partial / name).unlink(missing_ok=True)
    with suppress(OSError):
        partial.rmdir()


def _open_lock(partial: Path) -> int | None:
    for _ in range(_ATTEMPTS):
        if not (partial / LOCK).is_file():
            _check_ours(partial)  # before the lock file is created in it
        partial.mkdir(parents=True, exist_ok=True)
        if sys.platform == "win32":
            return None  # no flock, and a folder with an open file cannot be renamed
        with suppress(FileNotFoundError):  # another process has just deleted or renamed the folder
            lock = os.open(partial / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            if _lock(lock, partial):
                return lock
    raise _busy(partial)


def _lock(lock: int, partial: Path) -> bool:
    """Return whether the lock is held and still in the folder; raise if another process holds it."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise _busy(partial) from None
    except OSError:
        pass  # some network file systems have no locks
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
        next_step="wait until it has finished, or choose another --out",
    )


def _check_ours(partial: Path) -> None:
    """Raise CorpusError if `prepare` did not make the folder, or if it contains other files."""
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
        f"{partial} exists and contains files that weft did not make",
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
