"""The contract of models that search for the orders of several texts at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from weft.document import Document
from weft.scoring.uni_bi_mmi import Table


class OrderSearches(Protocol):
    """The states of the beam searches of several texts, whose next sentences are computed in one batch.

    A text without paths is finished.
    """

    def begin(self, firsts: Sequence[Sequence[int]]) -> list[Table]:
        """Start one path with each of these sentences of each text, and return their gains: [paths] each."""

    def gains(self) -> list[Table]:
        """Return the gain of each sentence if it comes next, placed or not: [paths, sentences] each."""

    def keep(self, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> None:
        """Keep some paths (``rows``) of each text and add one sentence (``columns``) to each."""


@runtime_checkable
class BatchSearchableModel(Protocol):
    """A model with memory that searches for the orders of several texts at once; on a GPU, one text fills no batch."""

    def order_searches(self, documents: Sequence[Document]) -> OrderSearches:
        """Return the states of beam searches over the sentences of each document."""


class SingleOrderSearch:
    """The search of the only text of an `OrderSearches`; a `weft.protocols.OrderSearch`."""

    def __init__(self, searches: OrderSearches) -> None:
        self.searches = searches

    def begin(self, firsts: Sequence[int]) -> Table:
        """Start one path with each of these sentences, and return their gains: [paths]."""
        return self.searches.begin([firsts])[0]

    def gains(self) -> Table:
        """Return the gain of each next sentence: [paths, sentences]."""
        return self.searches.gains()[0]

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        self.searches.keep([rows], [columns])
