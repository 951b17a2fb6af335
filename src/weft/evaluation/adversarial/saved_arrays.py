"""Arrays that an adversarial evaluation keeps on disk between runs."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import CorpusError
from weft.io.atomic_files import write_atomically

Arrays = dict[str, npt.NDArray[Any]]
UNREADABLE = (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError, StopIteration)
"""What reading a damaged file of compressed JSON lines may raise."""


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
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, EOFError, ValueError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged_file(path, "it does not hold complete arrays") from error


def damaged_file(path: Path, why: str) -> CorpusError:
    """Return the error for a file that is not as it was written."""
    return CorpusError(
        f"cannot use {path}",
        seen=why,
        allowed="a file as an adversarial evaluation wrote it",
        next_step="delete it; the next run makes it again",
    )
