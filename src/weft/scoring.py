"""One scoring arithmetic for every model: means along tables, and uni, bi, MMI over any sentence model.

Length normalisation happens here and nowhere else (the paper's equations 1 to 3, as corrected in docs/paper.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score, Window
from weft.errors import ConfigError
from weft.models import CoherenceModel, PairwiseModel, SentenceModel

Table = npt.NDArray[np.float64]
Combine = Literal["uni", "bi", "mmi"]


def path_value(table: Table, order: Sequence[int]) -> float | None:
    """The mean of a table's entries along an order; ``None`` for fewer than two sentences.

    Summed exactly (`math.fsum`), so that orders of equal value tie exactly instead of differing by rounding:
    with a symmetric table, a text and its reverse.

    Example:
        >>> path_value(np.array([[0.0, 1.0], [3.0, 0.0]]), [1, 0])
        3.0
    """
    if len(order) < 2:
        return None
    steps = table[np.asarray(order[:-1]), np.asarray(order[1:])]  # [sentences - 1]
    return math.fsum(steps.tolist()) / len(steps)


def order_values(model: CoherenceModel, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
    """The scores a document would have in other orders: look-ups where the model has a table, else rescoring."""
    if isinstance(model, PairwiseModel):
        table = model.pair_table(document)
        return [path_value(table, order) for order in orders]
    return [score.value for score in model.score([document.reorder(order) for order in orders])]


def combine_log_probs(
    combine: Combine,
    *,
    forward: Table,
    backward: Table,
    prior_left: Table,
    prior_right: Table,
    counts: tuple[Table, Table],
) -> Table:
    """Equations 1 to 3 on arrays of any matching shape.

    Args:
        combine: ``uni``, ``bi`` or ``mmi``.
        forward: log p_F(right | left), summed over tokens.
        backward: log p_B(left | right).
        prior_left: log p_L(left).
        prior_right: log p_L(right).
        counts: Tokens of left and right, ``</s>`` included.

    Returns:
        The coherence of each pair, per token.
    """
    left, right = counts
    # Paper: eq. 2 prints log(1/N · p_F); 1/N belongs outside the log, as in eq. 1.
    if combine == "uni":
        return forward / right
    if combine == "bi":
        return backward / left + forward / right
    # Paper: eq. 3 prints p_B in both terms; the second is p_F, as in eq. 2.
    return (backward - prior_left) / left + (forward - prior_right) / right


@dataclass(frozen=True)
class Scorer:
    """Makes a coherence score of sentence models: uni, bi and MMI, once, for any of them.

    Attributes:
        forward: p_F, the next sentence given the one before.
        backward: p_B, the sentence before given the next; not needed for ``uni``.
        prior: p_L, a sentence alone; needed for ``mmi``.
        combine: Which of the three.
    """

    forward: SentenceModel
    backward: SentenceModel | None = None
    prior: SentenceModel | None = None
    combine: Combine = "mmi"

    def __post_init__(self) -> None:
        missing = [name for name in NEEDED[self.combine] if getattr(self, name) is None]
        if missing:
            raise ConfigError(
                f"{self.combine} needs the {' and the '.join(missing)} model",
                seen=self.combine,
                allowed="uni with forward; bi with backward too; mmi with prior too",
                next_step="give the missing model or choose another combination",
            )

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean over adjacent pairs, all documents in one batch."""
        pairs = [pair for document in documents for pair in pairwise(document.sentences)]
        values = iter(self._pair_values(pairs).tolist())
        scores = []
        for document in documents:
            parts = tuple(next(values) for _ in range(max(len(document) - 1, 0)))
            scores.append(Score(math.fsum(parts) / len(parts), parts) if parts else Score(None))
        return scores

    def pair_table(self, document: Document) -> Table:
        """The N×N table of all ordered pairs in one batch: [sentences, sentences], zero on the diagonal."""
        size = len(document)
        rows, columns = np.nonzero(~np.eye(size, dtype=bool))
        pairs = [(document.sentences[i], document.sentences[j]) for i, j in zip(rows, columns, strict=True)]
        table = np.zeros((size, size))
        table[rows, columns] = self._pair_values(pairs)
        return table

    def _pair_values(self, pairs: Sequence[tuple[str, str]]) -> Table:
        lefts, rights = [left for left, _ in pairs], [right for _, right in pairs]
        nothing = np.zeros(len(pairs))
        forward = self.forward.log_prob([Window((left,), right) for left, right in pairs])
        backward = (
            self.backward.log_prob([Window((right,), left) for left, right in pairs]) if self.backward else nothing
        )
        prior = self._prior_log_probs(lefts, rights)
        counts = self.forward.token_counts([*lefts, *rights])
        return combine_log_probs(
            self.combine,
            forward=np.asarray(forward, dtype=np.float64),
            backward=np.asarray(backward, dtype=np.float64),
            prior_left=prior[0],
            prior_right=prior[1],
            counts=(
                np.array(counts[: len(pairs)], dtype=np.float64),
                np.array(counts[len(pairs) :], dtype=np.float64),
            ),
        )

    def _prior_log_probs(self, lefts: list[str], rights: list[str]) -> tuple[Table, Table]:
        """Log p_L of both sides, every distinct sentence once."""
        if self.prior is None or self.combine != "mmi":
            return np.zeros(len(lefts)), np.zeros(len(rights))
        distinct = list(dict.fromkeys([*lefts, *rights]))
        known = dict(zip(distinct, self.prior.log_prob([Window((), s) for s in distinct]), strict=True))
        return np.array([known[s] for s in lefts]), np.array([known[s] for s in rights])


NEEDED: dict[str, tuple[str, ...]] = {
    "uni": ("forward",),
    "bi": ("forward", "backward"),
    "mmi": ("forward", "backward", "prior"),
}
