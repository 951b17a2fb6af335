"""Warnings about many texts: the first few of each kind are shown one by one, the others are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

SHOWN = 3  # texts named for each warning


class Remarks:
    """Shows each warning with the names of the first texts, and at the end the number of other texts.

    Args:
        tell: Shows a line to the user.

    Example:
        >>> told = []
        >>> remarks = Remarks(told.append)
        >>> for number in range(5):
        ...     remarks.on(str(number), ["no score"])
        >>> remarks.close()
        >>> told[0], told[-1]
        ('0: no score', '2 more texts: no score')
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.counts: Counter[str] = Counter()

    def on(self, name: str, warnings: Sequence[str]) -> None:
        """Show the warnings about a text."""
        for warning in warnings:
            self.counts[warning] += 1
            if self.counts[warning] <= SHOWN:
                self.tell(f"{name}: {warning}")

    def close(self) -> None:
        """Show how many texts were not named."""
        for warning, count in self.counts.items():
            if count > SHOWN:
                self.tell(f"{count - SHOWN} more text{'s' if count > SHOWN + 1 else ''}: {warning}")
