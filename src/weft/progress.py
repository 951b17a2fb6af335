"""Long computations: reports of their progress, and short steps, between which others may use the model."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol, TypeAlias, TypeVar

Found = TypeVar("Found")
Steps: TypeAlias = Generator[None, None, Found]  # pauses after each step; its return value is the result


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


def result_of(steps: Steps[Found]) -> Found:
    """Return the result of a computation after all of its steps.

    Example:
        >>> def counted(most):
        ...     for _ in range(most):
        ...         yield
        ...     return most
        >>> result_of(counted(3))
        3
    """
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Found = end.value
            return found
