"""The keyword arguments that functions of the library and methods of a loaded model share."""

from __future__ import annotations

from typing import TypedDict

from weft.ordering.order import Objective, Search


class ScoreOptions(TypedDict, total=False):
    """The keyword arguments of `Model.score` and `weft.score`."""

    combine: str | None
    language: str
    genre: str | None
    own_shuffles: bool


class OrderOptions(TypedDict, total=False):
    """The keyword arguments of `Model.order` and `weft.order`."""

    combine: str | None
    language: str
    first_given: bool
    search: Search
    objective: Objective
    beam: int
    seed: int
