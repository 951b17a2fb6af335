"""How long work reports where it stands, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called now and then with a label, the units done, if known the units in all, and what else is worth showing."""

    def __call__(self, label: str, done: int, total: int | None = None, note: str = "") -> None:
        """Report a step."""


def silent(label: str, done: int, total: int | None = None, note: str = "") -> None:
    """The listener of a library call that was given none."""
