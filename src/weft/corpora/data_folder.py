"""Where the research data lie: here, or below the folder named by WEFT_DATA."""

from __future__ import annotations

import os
from pathlib import Path

from weft.errors import CorpusError

DATA_VARIABLE = "WEFT_DATA"
DEFAULT_DATA = "data"


def data_root(root: str | None = None) -> Path:
    """The data folder: the one given, else the environment variable WEFT_DATA, else ``data``."""
    return Path(root or os.environ.get(DATA_VARIABLE) or DEFAULT_DATA)


def find_data(name: str, root: str | None = None) -> Path:
    """A file or folder by its path, or by its path below the data folder.

    Raises:
        CorpusError: It is in neither place.
    """
    for candidate in (Path(name), data_root(root) / name):
        if candidate.exists():
            return candidate
    raise CorpusError(
        "no such data",
        seen=name,
        allowed=f"a path here or below the data folder {data_root(root)}",
        next_step=f"set {DATA_VARIABLE} or --data-root to the folder that holds it",
    )
