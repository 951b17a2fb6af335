"""Locks of folders, and the temporary files and folders that killed processes leave.

A lock belongs to the operating system, which releases it if the process is killed. So what is not locked is not in use.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FRESH_SECONDS = 5.0  # a temporary folder that is younger may not be locked yet
RANDOM_END = r"[a-z0-9_]{8}"  # of the names that tempfile makes


def try_lock(folder: Path) -> int | None:
    """Return a descriptor that locks a folder until it is closed, or None if another process has locked it.

    Where the file system or the operating system has no such locks, the descriptor locks nothing.
    """
    if sys.platform == "win32":
        return os.open(os.devnull, os.O_RDONLY)
    import fcntl

    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError:
        pass  # some network file systems have no locks
    return lock


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Lock a temporary folder during the block, so that `sweep_folders` of another process keeps it."""
    lock = try_lock(folder)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def sweep_files(folder: Path, names: tuple[str, ...]) -> None:
    """Delete the temporary files of some files of a folder that this process has locked."""
    pattern = re.compile(rf"\.({'|'.join(map(re.escape, names))})\.{RANDOM_END}")
    for path in folder.iterdir():
        if pattern.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)


def sweep_folders(target: Path) -> None:
    """Delete what killed processes have left beside a folder that they wrote; folders in use are kept.

    An older folder that was moved aside is kept if there is no newer one.
    """
    pattern = re.compile(rf"\.{re.escape(target.name)}\.{RANDOM_END}|\.{re.escape(target.name[:40])}\.old-{RANDOM_END}")
    if not target.parent.is_dir():
        return
    for path in target.parent.iterdir():
        if not pattern.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            continue
        if ".old-" in path.name and not target.exists():
            continue
        if time.time() - path.stat().st_mtime < FRESH_SECONDS:
            continue
        lock = try_lock(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)
