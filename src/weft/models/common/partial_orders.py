"""Partial orders of sentences: the sentences that are not placed yet, so that only those are decoded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


def unplaced(paths: Sequence[Sequence[int]], size: int) -> Whole:
    """Return the sentences that are missing from each partial order; all have the same length: [paths, left].

    Example:
        >>> unplaced([[1], [0]], 3).tolist()
        [[0, 2], [1, 2]]
    """
    if not paths:
        return np.zeros((0, 0), dtype=np.int64)
    missing = np.ones((len(paths), size), dtype=bool)
    missing[np.arange(len(paths))[:, None], np.asarray(paths, dtype=np.int64)] = False
    return np.nonzero(missing)[1].reshape(len(paths), -1)


def spread(values: Reals, columns: Whole, size: int) -> Reals:
    """Return a table of all sentences from the values of the missing ones, 0 elsewhere: [paths, left] → [paths, size].

    Example:
        >>> spread(np.array([[5.0, 7.0]]), np.array([[0, 2]]), 3).tolist()
        [[5.0, 0.0, 7.0]]
    """
    found = np.zeros((len(values), size))
    np.put_along_axis(found, columns, values, axis=1)
    return found
