"""Figures as SVG, PNG or PDF files; the same data give the same bytes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import CorpusError, check_known
from weft.io.atomic_files import write_atomically

FORMATS: Mapping[str, Mapping[str, None]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
MARGIN = 0.25  # inches


def picture_format(out: str | Path) -> str:
    """Return the picture format of a file by its name.

    Example:
        >>> picture_format("topics.SVG")
        'svg'

    Raises:
        ConfigError: The format is not known.
    """
    form = Path(out).suffix.lstrip(".").lower()
    check_known("picture format", form, FORMATS, next_step="rename the output")
    return form


def new_figure(width: float, height: float) -> Any:
    """Return an empty matplotlib figure; width and height are in inches.

    Raises:
        CorpusError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CorpusError(
            "drawing needs matplotlib",
            seen="matplotlib is not installed",
            allowed="the extra `plot`",
            next_step="pip install 'weft-coherence[plot]'",
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, out: str | Path, *, letters: bool = False) -> Path:
    """Write a figure to a file and return its path.

    Args:
        figure: From `new_figure`.
        out: The SVG, PNG or PDF file.
        letters: Whether text in an SVG stays text instead of outlines; the reader's fonts then draw any script. The
            picture grows to hold all labels, with a margin for fonts that are wider than those it was measured with.

    Raises:
        CorpusError: The file cannot be written.
    """
    import matplotlib as mpl

    target, form = Path(out), picture_format(out)
    # No date and a fixed salt: the same data give the same file.
    options = {"svg.hashsalt": "weft", "svg.fonttype": "none" if letters else "path"}
    with write_atomically(target) as handle, mpl.rc_context(options), warnings.catch_warnings():
        # matplotlib measures a missing glyph as a box
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        size = {"bbox_inches": "tight", "pad_inches": MARGIN} if letters else {}
        figure.savefig(handle, format=form, metadata=FORMATS[form], **size)
    return target
