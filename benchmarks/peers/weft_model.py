"""A model of weft, by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def load(data: Path, name: str) -> Callable[[list[list[str]]], list[Any]]:  # noqa: ARG001  all scorers have both
    """Return the scorer; ``NAME:mmi`` names a combination."""
    import weft

    model, _, combine = name.partition(":")
    loaded = weft.load(model, combine=combine or None, device="cpu")

    def score(texts: list[list[str]]) -> list[Any]:
        documents = [weft.Document(str(number), tuple(text)) for number, text in enumerate(texts)]
        return [(found.value, list(found.transitions) or None) for found in loaded.score(documents)]

    return score
