"""The folder of the research data: ``data``, or the folder named by WEFT_DATA."""

from __future__ import annotations

import os
from pathlib import Path

from weft.errors import CorpusError

DATA_VARIABLE = "WEFT_DATA"
DEFAULT_DATA = "data"


def data_root(root: str | None = None) -> Path:
    """Return the data folder: the one given, else the environment variable WEFT_DATA, else ``data``."""
    return Path(root or os.environ.get(DATA_VARIABLE) or DEFAULT_DATA)


def find_data(name: str, root: str | None = None) -> Path:
    """Return the path of a file or folder, given as such or relative to the data folder.

    Raises:
        CorpusError: Neither path exists.
    """
    for candidate in (Path(name), data_root(root) / name):
        if os.path.exists(candidate):  # False for a name that is too long, for which Path raises
            return candidate
    raise CorpusError(
        "data not found",
        seen=name,
        allowed=f"a path, or a path relative to the data folder {data_root(root)}",
        next_step=f"set {DATA_VARIABLE} or --data-root to the folder that holds it",
    )
