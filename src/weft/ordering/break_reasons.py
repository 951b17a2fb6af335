"""Why a text breaks at a gap, as far as the links between all of its sentences can say.

Three reasons are looked for, in this order: a sentence beside the gap has weak links to all others, the move of one
sentence would mend the gap, or the text starts over (what follows has weak links to all that comes before). All are
measured against the links of the same text, so they do not depend on the scale of the model. A move comes second,
because a move of its neighbour would also mend the gap beside a sentence that fits nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.document import Document
from weft.ordering.best_move import table_gains
from weft.protocols import Arranger, DocumentScorer, PairwiseModel, TabledModel
from weft.scoring.uni_bi_mmi import Table

MOST_EXPLAINED = 2000  # sentences; all of them are compared with each other
FEWEST = 5  # sentences of a text in which a sentence can differ from the others
PART = 3  # sentences on either side of a gap at which a text can start over
STARTS_OVER = 1.0  # standard deviations by which links inside the two parts are stronger than those between them
FOREIGN = 2.0  # standard deviations by which a sentence has weaker links than the others
# Standard deviations of a link that a move has to gain. A move changes three links, and the best of the moves at a gap
# gains four or so by chance.
MENDS = 4.5


@dataclass(frozen=True, slots=True)
class BreakReason:
    """Why a text breaks.

    Attributes:
        code: ``restart``, ``foreign`` or ``moved``.
        sentence: Index of the sentence that it is about.
        after: For ``moved``, index of the sentence after which it fits better; -1 for the beginning of the text.

    Example:
        >>> print(BreakReason("moved", 3, 8))
        sentence 4 fits better after sentence 9
    """

    code: Literal["restart", "foreign", "moved"]
    sentence: int
    after: int | None = None

    def __str__(self) -> str:
        name = f"sentence {self.sentence + 1}"
        if self.code == "restart":
            return f"the text starts over at {name}: what follows has weak links to what comes before"
        if self.code == "foreign":
            return f"{name} has weak links to all other sentences"
        if self.after is None or self.after < 0:
            return f"{name} fits better at the beginning of the text"
        return f"{name} fits better after sentence {self.after + 1}"


def gives_reasons(model: DocumentScorer) -> bool:
    """Return whether a model has the tables from which reasons are read."""
    return isinstance(model, TabledModel) or (isinstance(model, PairwiseModel) and not isinstance(model, Arranger))


def break_reasons(model: DocumentScorer, document: Document, gaps: Iterable[int]) -> dict[int, BreakReason]:
    """Return reasons for breaks, by gap; a gap for which none is found has no entry.

    Args:
        model: The model; one without tables gives no reasons.
        document: The text.
        gaps: The gaps to explain: gap i is the one between sentence i and sentence i + 1.

    Example:
        >>> from weft.registry import create_model
        >>> bees = ("Bees visit flowers.", "Flowers give bees nectar.", "Bees turn nectar into honey.")
        >>> document = Document("d", (*bees, "The bank raised its rates.", "Honey feeds bees and their flowers."))
        >>> print(break_reasons(create_model("foltz-sif"), document, [2])[2])
        sentence 4 has weak links to all other sentences
    """
    chosen = list(gaps)
    if not chosen or not 3 <= len(document) <= MOST_EXPLAINED:
        return {}
    if isinstance(model, TabledModel):
        follows, precedence = model.order_tables(document)
    elif isinstance(model, PairwiseModel) and not isinstance(model, Arranger):
        follows = model.pair_table(document)
        precedence = np.zeros_like(follows)
    else:
        return {}
    links = _Links.of(follows, precedence)
    found = {gap: links.reason(gap) for gap in chosen}
    return {gap: reason for gap, reason in found.items() if reason is not None}


@dataclass(frozen=True)
class _Links:
    """The links between all sentences of a text.

    Attributes:
        follows: How well sentence j follows sentence i: [sentences, sentences]; the diagonal is 0.
        strength: Of each pair, in the better of its two orders: [sentences, sentences]; the diagonal is 0.
        spread: Standard deviation of the links, in the order that they are in the table.
        gains: How much each move of a sentence to a place gains: [sentences, places].
    """

    follows: Table
    strength: Table
    spread: float
    gains: Table

    @classmethod
    def of(cls, follows: Table, precedence: Table) -> _Links:
        size = len(follows)
        outside = ~np.eye(size, dtype=bool)
        clean = np.where(outside, follows, 0.0)
        gains = table_gains(clean, precedence) * (size - 1)
        return cls(clean, np.maximum(clean, clean.T), float(clean[outside].std()), np.where(outside, gains, 0.0))

    def reason(self, gap: int) -> BreakReason | None:
        if self.spread == 0:
            return None
        foreign = [one for one in (gap + 1, gap) if self._is_foreign(one)]
        if foreign:
            return BreakReason("foreign", foreign[0])
        if move := self._move(gap):
            return move
        return BreakReason("restart", gap + 1) if self._starts_over(gap) else None

    def _starts_over(self, gap: int) -> bool:
        size, left = len(self.strength), gap + 1
        if min(left, size - left) < PART:
            return False
        parts = (self.strength[:left, :left], self.strength[left:, left:])
        inside = sum(float(part.sum()) for part in parts) / sum(len(part) * (len(part) - 1) for part in parts)
        between = float(self.strength[:left, left:].mean())
        return inside - between >= STARTS_OVER * self.spread

    def _is_foreign(self, sentence: int) -> bool:
        size = len(self.strength)
        if size < FEWEST:
            return False
        means = self.strength.sum(axis=1) / (size - 1)
        others = np.delete(means, sentence)
        return bool(means[sentence] < others.min() and means[sentence] <= others.mean() - FOREIGN * others.std())

    def _move(self, gap: int) -> BreakReason | None:
        """Return the best move that changes what stands at a gap: of one of its sentences, or of another into it."""
        size = len(self.gains)
        touching = np.zeros((size, size), dtype=bool)
        touching[[gap, gap + 1]] = True
        touching[: gap + 1, gap] = touching[gap + 1 :, gap + 1] = True
        gains = np.where(touching, self.gains, 0.0)
        sentence, place = divmod(int(gains.argmax()), size)
        if gains[sentence, place] < MENDS * self.spread:
            return None
        rest = [number for number in range(size) if number != sentence]
        if not self._fits(sentence, rest[:place], rest[place:]):
            return None
        return BreakReason("moved", sentence, rest[place - 1] if place else -1)

    def _fits(self, sentence: int, before: list[int], after: list[int]) -> bool:
        """Return whether a sentence has links in its new place as strong as those of the text as it is.

        The move of a sentence that fits nowhere gains too: it mends the gap that it leaves.
        """
        links = [self.follows[one, sentence] for one in before[-1:]]
        links += [self.follows[sentence, one] for one in after[:1]]
        return float(np.mean(links)) >= float(np.diagonal(self.follows, 1).mean())
