"""Progress reports of long computations."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A function that is called from time to time with the progress of a computation."""

    def __call__(self, label: str, done: int, total: int | None = None, note: str = "") -> None:
        """Report progress.

        Args:
            label: What is computed.
            done: Units done.
            total: Units in all, if known.
            note: Further text to show.
        """


def silent(label: str, done: int, total: int | None = None, note: str = "") -> None:
    """Do nothing: the default of library functions."""
