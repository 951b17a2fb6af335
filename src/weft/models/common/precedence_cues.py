"""Sizes and number cues of the precedence network, shared by the torch and the numpy implementation."""

from __future__ import annotations

from typing import Any

CUES = 4  # whether there is a year, year relative to the text, year, length
HEADS = 4  # attention heads between sentences
PAIR = 64  # size of the vectors in which two sentences are compared


def number_cues(years: Any, dated: Any, log_lengths: Any) -> tuple[Any, Any, Any, Any]:
    """Return number cues, which sentence vectors represent badly; the arguments are arrays or tensors.

    Args:
        years: First year in each sentence, 0 for none: [texts, longest].
        dated: 1 if there is a year, else 0: [texts, longest].
        log_lengths: Logarithm of the number of tokens of each sentence: [texts, longest].

    Returns:
        CUES arrays or tensors of the same shape.

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
