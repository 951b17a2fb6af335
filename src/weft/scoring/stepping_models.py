"""Models that compute long texts in short steps, between which others may use them, and callers who left can stop."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from weft.document import Document
from weft.progress import Steps


@runtime_checkable
class SteppingModel(Protocol):
    """A model that can compute what a long text needs in steps, and then remembers it for a while."""

    def table_steps(self, document: Document) -> Steps[None]:
        """Compute the links between all sentences of a text; short texts may need no steps."""

    def score_steps(self, document: Document) -> Steps[None]:
        """Compute what `score` needs for a text in its given order; short texts may need no steps."""


@runtime_checkable
class SteppingArranger(SteppingModel, Protocol):
    """An `Arranger` that can search in steps."""

    def arrange_steps(self, document: Document, *, first: int | None = None, seed: int = 1) -> Steps[tuple[int, ...]]:
        """Return what `arrange` returns."""
