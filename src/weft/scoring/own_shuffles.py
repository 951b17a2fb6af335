"""How a text compares with its own random orders, for any model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from weft.corpora.text.text_limits import readable
from weft.document import Score
from weft.protocols import CoherenceModel, ShuffleJudge
from weft.scoring.uni_bi_mmi import order_values

TIE = 1e-9  # smaller differences are rounding errors
FEWEST = 3  # two sentences have a single other order


def own_shuffles_beaten(model: CoherenceModel, score: Score, *, shuffles: int = 100, seed: int = 1) -> float | None:
    """Return the share of random orders of a text that score lower than its own; ties count as not beaten.

    A model that counts them itself (`ShuffleJudge`) has done so in the score. A model with a table of sentence pairs
    looks the others up; any other model reads every order.

    Args:
        model: The model that gave the score.
        score: The score of the text.
        shuffles: Number of random orders.
        seed: Seed of the orders.

    Returns:
        The share, from 0 to 1; None for fewer than three sentences and for a text without a score.

    Example:
        >>> from weft.document import Document
        >>> from weft.registry import create_model
        >>> text = Document("d", ("Born in 1812.", "Wed in 1836.", "Rich in 1840.", "Died in 1870."))
        >>> model = create_model("year-sort")
        >>> own_shuffles_beaten(model, Score(1.0, document=text))
        1.0
    """
    document = score.document
    if isinstance(model, ShuffleJudge) or score.value is None or document is None or len(document) < FEWEST:
        return score.shuffles_beaten
    own = np.arange(len(document))
    drawn = np.random.default_rng([seed, len(own)]).permuted(np.tile(own, (shuffles, 1)), axis=1)
    others = drawn[(drawn != own).any(axis=1)].tolist()
    value, *rest = order_values(model, readable(document), [own.tolist(), *others])
    if value is None or not others:
        return None
    return sum(other is not None and other < value - TIE for other in rest) / len(others)


def with_own_shuffles(model: CoherenceModel, scores: Iterable[Score]) -> Iterator[Score]:
    """Yield the scores with `shuffles_beaten`, also of models that do not count it themselves."""
    for score in scores:
        yield replace(score, shuffles_beaten=own_shuffles_beaten(model, score))
