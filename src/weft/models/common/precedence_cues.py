"""Sizes and number cues of the precedence network, shared by its torch and its numpy form."""

from __future__ import annotations

from typing import Any

CUES = 4  # dated or not, year relative to the text's years, year, length
HEADS = 4  # attention heads between sentences
PAIR = 64  # size of the vectors in which two sentences are compared


def number_cues(years: Any, dated: Any, log_lengths: Any) -> tuple[Any, Any, Any, Any]:
    """Return number cues, which sentence vectors represent badly; works on arrays and on tensors.

    Args:
        years: [texts, longest], 0 for none.
        dated: [texts, longest], 1 where there is a year and 0 elsewhere.
        log_lengths: [texts, longest] log of the tokens of each sentence.

    Returns:
        CUES of the same shape.

    Example:
        >>> import numpy as np
        >>> years = np.array([[1900.0, 2000.0, 0.0]])
        >>> number_cues(years, (years > 0) * 1.0, np.zeros((1, 3)))[1].round(2).tolist()
        [[-0.98, 0.98, -0.0]]
    """
    count = dated.sum(axis=1, keepdims=True).clip(min=1)  # [texts, 1]
    mean = (years * dated).sum(axis=1, keepdims=True) / count
    spread = ((((years - mean) * dated) ** 2).sum(axis=1, keepdims=True) / count) ** 0.5 + 1
    relative = (years - mean) / spread * dated  # among the years of its text
    absolute = (years - 1950) / 50 * dated
    return dated, relative, absolute, log_lengths - 3
