"""Pictures as files: the same data give the same bytes, in every format."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import CorpusError, check_known
from weft.io.atomic_files import write_atomically

FORMATS: Mapping[str, Mapping[str, None]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}


def picture_format(out: str | Path) -> str:
    """The format that a file's name asks for.

    Example:
        >>> picture_format("topics.SVG")
        'svg'

    Raises:
        ConfigError: It asks for none that is known.
    """
    form = Path(out).suffix.lstrip(".").lower()
    check_known("picture format", form, FORMATS, next_step="rename the output")
    return form


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, in inches.

    Raises:
        CorpusError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CorpusError(
            "drawing needs matplotlib", allowed="the extra `plot`", next_step="pip install 'weft-coherence[plot]'"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, out: str | Path, *, letters: bool = False) -> Path:
    """Write a figure.

    Args:
        figure: From `new_figure`.
        out: An SVG, PNG or PDF file, by its name.
        letters: Whether words in an SVG stay words, which the reader's fonts draw: any script can then be shown.

    Raises:
        CorpusError: It cannot be written there.
    """
    import matplotlib as mpl

    target, form = Path(out), picture_format(out)
    # No date and a fixed salt: the same data give the same file.
    options = {"svg.hashsalt": "weft", "svg.fonttype": "none" if letters else "path"}
    with write_atomically(target) as handle, mpl.rc_context(options), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)  # measured as a box
        figure.savefig(handle, format=form, metadata=FORMATS[form])
    return target
