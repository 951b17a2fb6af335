"""Writing files so that a reader never sees half of one, and saying in plain words why one could not be written."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from weft.errors import CorpusError

# A disk, quota or file size that is used up, or a device that fails: the only errors a running write brings.
STORAGE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


@contextmanager
def write_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary sibling for writing; it takes the file's name only if the block ends well.

    A symbolic link stays one: what it points to is replaced.

    Raises:
        CorpusError: The name stands for something other than a file, or the disk does not let it be written.
    """
    with explain_write_errors(path):
        target = _replaceable(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Shortened, so that the longest name a file may have can still be written.
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    try:
        with explain_write_errors(path, only=STORAGE_ERRORS), os.fdopen(descriptor, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        with explain_write_errors(path):
            Path(name).chmod(0o666 & ~umask())
            os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def explain_write_errors(path: Path, *, only: Container[int] | None = None) -> Iterator[None]:
    """Say in plain words why something could not be written.

    Args:
        path: What was to be written.
        only: The error numbers that are about the writing, where the block does other things too; all without it.

    Raises:
        CorpusError: The block met such an error.
    """
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it.
        if only is not None and getattr(error, "errno", None) not in only:
            raise
        raise CorpusError(
            f"cannot write {path}: {getattr(error, 'strerror', None) or error}",
            seen=str(path),
            allowed="a name in a folder that you may write to, on a disk with room",
            next_step=_next_step_of(error),
        ) from error


def _next_step_of(error: OSError | ValueError) -> str:
    match getattr(error, "errno", None):
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "check who may write there (ls -ld), or choose another place"
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return "make room (df -h), or choose another disk"
        case errno.ENOTDIR | errno.EEXIST:
            return "part of the path is a file and not a folder: choose another place"
        case errno.ENAMETOOLONG:
            return "choose a shorter name"
        case _:
            return "choose another place"


def _replaceable(path: Path) -> Path:
    """The file to replace, behind any symbolic links; whatever a rename would destroy is refused."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if not stat.S_ISREG(mode):
        raise CorpusError(
            f"will not write over {_KINDS.get(stat.S_IFMT(mode), 'something that is not a file')}",
            seen=str(path),
            allowed="the name of a file, new or old",
            next_step="choose a file name",
        )
    return Path(os.path.realpath(path)) if path.is_symlink() else path


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def umask() -> int:
    """Which rights new files are not given."""
    current = os.umask(0)
    os.umask(current)
    return current
