"""Atomic writes: a file appears complete or not at all. Write errors become clear messages."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from weft.errors import CorpusError

# Errors of a write in progress: disk, quota or file size limit reached, or a failing device.
STORAGE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


@contextmanager
def write_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path``; it is renamed to ``path`` if the block ends without an error.

    A symbolic link is kept, and its target is replaced.

    Raises:
        CorpusError: ``path`` exists and is not a file, or it cannot be written.
    """
    with explain_write_errors(path):
        target = _replaceable(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Shortened, so that the temporary name of a file with the longest possible name is not too long.
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


def replace_folder(fresh: Path, target: Path) -> None:
    """Rename a complete folder; an older folder of that name is moved aside first and deleted last."""
    if not target.exists():
        fresh.rename(target)
        return
    # The old folder is moved into a new temporary one, because any fixed name may already exist.
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.old-", dir=target.parent))
    aside = temporary / target.name
    target.rename(aside)
    try:
        fresh.rename(target)
    except OSError:
        aside.rename(target)
        temporary.rmdir()
        raise
    shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def explain_write_errors(path: Path, *, only: Container[int] | None = None) -> Iterator[None]:
    """Turn write errors of the block into a `CorpusError` with the reason and a next step.

    Args:
        path: The file or folder that the block writes.
        only: The error numbers to handle, for a block that does more than write; by default all.
    """
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it.
        if only is not None and _number_of(error) not in only:
            raise
        reason = error.strerror if isinstance(error, OSError) else None
        raise CorpusError(
            f"cannot write {path}: {reason or error}",
            seen=str(path),
            allowed="a name in a folder that you may write to, on a disk with room",
            next_step=_next_step_of(error),
        ) from error


def _number_of(error: OSError | ValueError) -> int | None:
    return error.errno if isinstance(error, OSError) else None


def _next_step_of(error: OSError | ValueError) -> str:
    match _number_of(error):
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "check who may write there (ls -ld), or choose another place"
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return "make room (df -h), or choose another disk"
        case errno.ENOTDIR | errno.EEXIST:
            return "choose another place: a part of the path is a file, not a folder"
        case errno.ENAMETOOLONG:
            return "choose a shorter name"
        case _:
            return "choose another place"


def _replaceable(path: Path) -> Path:
    """Return the file to replace, symbolic links resolved; raise if a rename would destroy something else."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if not stat.S_ISREG(mode):
        raise CorpusError(
            f"cannot write over {_KINDS.get(stat.S_IFMT(mode), 'something that is not a file')}",
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
    """Return the permission bits that new files do not get."""
    current = os.umask(0)
    os.umask(current)
    return current
