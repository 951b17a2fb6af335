"""Files that an adversarial evaluation keeps between runs, and the error for a damaged one."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import CorpusError
from weft.io.atomic_files import write_atomically

Arrays = dict[str, npt.NDArray[Any]]
UNREADABLE = (
    OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, ValueError, LookupError, TypeError,
    AttributeError, StopIteration,
)  # fmt: skip


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]], *, compressed: bool = False) -> None:
    """Write arrays by name, atomically."""
    content = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(content, **dict(arrays))  # type: ignore[arg-type]
    with write_atomically(path) as handle:
        handle.write(content.getvalue())


def read_arrays(path: Path) -> Arrays:
    """Read a file written by `write_arrays`.

    Raises:
        CorpusError: The file is damaged.
    """
    complete = explain_damage(path, "it does not hold complete arrays")
    with complete, path.open("rb") as handle, np.load(handle, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


@contextmanager
def explain_damage(path: Path, why: str = "") -> Iterator[None]:
    """Turn the errors of reading a damaged file into a CorpusError; ``why`` replaces their message."""
    try:
        yield
    except UNREADABLE as error:
        raise CorpusError(
            f"cannot use {path}",
            seen=why or (f"no {error}" if isinstance(error, KeyError) else str(error)),
            allowed="a file as an adversarial evaluation wrote it",
            next_step="delete it; the next run makes it again",
        ) from error
