"""Scores as a data frame of pandas or polars, which are imported only here."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from weft.document import Score
from weft.errors import ConfigError, check_known

LIBRARIES = ("pandas", "polars")
COLUMNS = ("id", "sentences", "value", "percentile", "percentile_shuffled", "transitions", "breaks", "warnings")


def to_frame(scores: Score | Iterable[Score], *, library: str = "pandas") -> Any:
    """Return a data frame with one row per score, in order.

    Args:
        scores: One score or several, as `weft.score` returns them.
        library: ``pandas`` or ``polars``.

    Returns:
        A ``DataFrame`` with the columns id, sentences (their number), value, percentile, percentile_shuffled,
        transitions, breaks and warnings (lists).

    Raises:
        ConfigError: The library is unknown or not installed, or an entry is not a Score.
    """
    check_known("library", library, LIBRARIES)
    rows = [_row(score) for score in ([scores] if isinstance(scores, Score) else scores)]
    module = _module(library)
    return module.DataFrame({name: [row[name] for row in rows] for name in COLUMNS})


def _row(score: object) -> dict[str, Any]:
    if not isinstance(score, Score):
        raise ConfigError(
            "not a score",
            seen=type(score).__name__,
            allowed="a Score or a list of Scores, as weft.score returns them",
            next_step="call weft.to_frame(weft.score(texts))",
        )
    record = score.to_dict()
    percentiles = {"percentile": score.percentile, "percentile_shuffled": score.percentile_shuffled}
    return {**record, **percentiles}


def _module(library: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ConfigError(
            f"{library} is not installed",
            seen=library,
            allowed=", ".join(LIBRARIES),
            next_step=f"pip install {library}",
        ) from error
