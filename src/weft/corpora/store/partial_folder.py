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

from weft.corpora.store.store_writer import HEADER, PROGRESS, STORE_FILES, TOKENIZER, write_text_atomically
from weft.errors import CorpusError
from weft.io.atomic_files import explain_write_errors

_MARKERS = {PROGRESS: "recipe", HEADER: "fingerprint"}
_TEMPORARY = tuple(f"{name}.new" for name in (TOKENIZER, HEADER, PROGRESS))
# In the order of deletion: the markers after the data.
_OWN_FILES = (*(name for name in STORE_FILES if name != HEADER), *_TEMPORARY, HEADER, PROGRESS)
# After a failed attempt another process has just finished or given up, so that few attempts are needed.
_ATTEMPTS = 100


@contextmanager
def hold_partial_folder(out: Path) -> Iterator[Path]:
    """Create or reuse the partial folder of a store, locked for this process during the block.

    The lock belongs to the operating system, which releases it if the process is killed.

    Raises:
        CorpusError: Another process has locked it, weft did not make it, or it cannot be created.
    """
    partial = out.with_name(out.name + ".partial")
    with explain_write_errors(partial):
        lock = _open_locked(partial)
    try:
        _check_ours(partial)
        yield partial
    finally:
        if lock is None or _is_folder(lock, partial):
            with suppress(OSError):  # it is not empty: there is something to continue from
                partial.rmdir()
        if lock is not None:
            os.close(lock)


def write_marker(partial: Path, recipe: Mapping[str, Any]) -> None:
    """Write the marker of `prepare` into an empty folder."""
    write_text_atomically(partial / PROGRESS, json.dumps({"recipe": recipe}))


def delete_contents(partial: Path) -> None:
    """Delete the files that `prepare` wrote."""
    for name in _OWN_FILES:
        (partial / name).unlink(missing_ok=True)


def _open_locked(partial: Path) -> int | None:
    """Create the folder if needed, lock it, and return its descriptor."""
    for _ in range(_ATTEMPTS):
        if partial.is_symlink() or (partial.exists() and not partial.is_dir()):
            raise _foreign(partial, "something that is not a folder")
        partial.mkdir(parents=True, exist_ok=True)
        if sys.platform == "win32":
            return None  # no flock, and an open folder cannot be renamed
        with suppress(FileNotFoundError):  # another process has just deleted or renamed the folder
            lock = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            _lock(lock, partial)
            if _is_folder(lock, partial):
                return lock
            os.close(lock)
    raise _busy(partial)


def _lock(lock: int, partial: Path) -> None:
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise _busy(partial) from None
    except OSError:
        pass  # some network file systems have no locks


def _is_folder(lock: int, partial: Path) -> bool:
    """Return whether the open folder still has its name."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(partial))
    except FileNotFoundError:
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
    names = set(os.listdir(partial))
    if foreign := sorted(names.difference(_OWN_FILES)):
        raise _foreign(partial, ", ".join(foreign))
    # Without a marker, only the file of a process that was killed while it wrote the marker.
    if names - {f"{PROGRESS}.new"} and not any(_has_marker(partial / name, key) for name, key in _MARKERS.items()):
        raise _foreign(partial, f"no {PROGRESS} of `weft prepare`, but {', '.join(sorted(names))}")


def _foreign(partial: Path, seen: str) -> CorpusError:
    return CorpusError(
        f"{partial} exists and contains files that weft did not make",
        seen=seen[:200],
        allowed="nothing under that name, or an interrupted run of `weft prepare`",
        next_step="move it away, or choose another --out",
    )


def _has_marker(path: Path, key: str) -> bool:
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(body, dict) and key in body
