"""Results as a data frame of pandas or polars, which are imported only here."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from weft.errors import ConfigError, check_known

LIBRARIES = ("pandas", "polars")
# The columns of a frame of scores; a frame of no results has them too.
SCORE_COLUMNS = (
    "id", "sentences", "value", "percentile", "percentile_shuffled", "genre", "genre_guessed", "shuffles_beaten",
    "fluency", "transitions", "breaks", "break_probabilities", "warnings", "warning_codes",
)  # fmt: skip


class Tabular(ABC):
    """A result that has rows."""

    __slots__ = ()

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of a data frame, each as values by column."""

    def row_label(self) -> Any:
        """Return the label of its rows in the index of a data frame; None for a result that has none."""
        return None

    def to_frame(self, *, library: str = "pandas") -> Any:
        """Return the result as a data frame; see `weft.to_frame`."""
        return to_frame(self, library=library)


def to_frame(results: Tabular | Iterable[Tabular], *, library: str = "pandas") -> Any:
    """Return a data frame of results, in order.

    The scores, orders and continuations of a pandas Series keep its index, so that their frame can be joined to the one
    that the Series is from. A Score and an Ordering have one row each, a Continuation one per new sentence, a Revision
    one per sentence, and a Result and a Versus one per metric.

    Args:
        results: One result or several, as the functions of weft return them.
        library: ``pandas`` or ``polars``.

    Returns:
        A ``DataFrame``. Its columns are those of the results' rows; for no results, those of scores.

    Raises:
        ConfigError: The library is unknown or not installed, or an entry is not a result.
    """
    check_known("library", library, LIBRARIES)
    many = results if isinstance(results, Iterable) else [results]
    labelled = [(_label(result), row) for result in many for row in _rows(result)]
    columns = dict.fromkeys(name for _, row in labelled for name in row) or dict.fromkeys(SCORE_COLUMNS)
    values = {name: [row.get(name) for _, row in labelled] for name in columns}
    module = _module(library)
    if library == "pandas" and labelled and all(label is not None for label, _ in labelled):
        return module.DataFrame(values, index=module.Index([label for label, _ in labelled]))
    return module.DataFrame(values)


def _label(result: object) -> Any:
    return result.row_label() if isinstance(result, Tabular) else None


def _rows(result: object) -> list[dict[str, Any]]:
    if not isinstance(result, Tabular):
        raise ConfigError(
            "not a result",
            seen=type(result).__name__,
            allowed="a Score, Ordering, Continuation, Revision, Result or Versus, or a list of them",
            next_step="call weft.to_frame(weft.score(texts))",
        )
    return result.rows()


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
