"""The public function `best_move`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.document import Document
from weft.loaded_model import AnyModel, as_model
from weft.ordering.order import Objective
from weft.registry import DEFAULT_MODEL

if TYPE_CHECKING:
    from weft.ordering.best_move import Move


def best_move(
    text: str | Document,
    *,
    model: AnyModel = DEFAULT_MODEL,
    combine: str | None = None,
    first_given: bool = False,
    objective: Objective = "auto",
    language: str = "en",
) -> Move:
    """Return the move of one sentence that improves a text most.

    Args:
        text: A str (a whole text) or a Document.
        model: Name, folder, or what `load` returned.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model; the default is the model's own.
        first_given: Whether the first sentence stays first.
        objective: ``auto``, ``coherence``, ``precedence`` or ``both``.
        language: Language of the sentence splitter.

    Raises:
        WeftError: There is no such model or objective, the text is too long for it, or something is not a text.

    Example:
        >>> best_move("Born in 1812. Died in 1870. Wed in 1836. Rich in 1840.", model="year-sort")
        Move('text', sentence 1 to place 3, gain 0.3333, score 0.6667 → 1.0000)
    """
    return as_model(model).best_move(
        text, combine=combine, first_given=first_given, objective=objective, language=language
    )
