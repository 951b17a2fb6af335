"""Arrays on disk between runs of an adversarial evaluation."""

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
NO_LINES = (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError, StopIteration)
"""What reading compressed lines of JSON may raise, whatever the file holds."""


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]], *, compressed: bool = False) -> None:
    """Write arrays by name, atomically."""
    content = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(content, **dict(arrays))  # type: ignore[arg-type]
    with write_atomically(path) as handle:
        handle.write(content.getvalue())


def read_arrays(path: Path) -> Arrays:
    """Read all of what `write_arrays` wrote.

    Raises:
        CorpusError: The file is damaged.
    """
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, EOFError, ValueError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(path, "it does not hold whole arrays") from error


def damaged(path: Path, why: str) -> CorpusError:
    """The error of a file that is not what was written."""
    return CorpusError(
        f"cannot use {path}: {why}",
        allowed="a file as an adversarial evaluation wrote it",
        next_step="delete it, and it is made again",
    )
