"""Telling a text from its permutations (the paper's sections 4.1 and 4.2.1, Tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.corpora.corruption import PermutedDocument, replace_sentence
from weft.models import DocumentScorer
from weft.progress import Progress, silent
from weft.scoring import order_values
from weft.tasks.metrics import Wins, count_wins
from weft.tasks.result import Measure


@dataclass(frozen=True)
class Discrimination:
    """What a discrimination run found.

    Attributes:
        measures: ``accuracy``: the share of pairs whose original scored strictly higher.
        n_pairs: Pairs compared.
        ties: Pairs with equal scores, counted as wrong.
        n_excluded: Documents without a single permutation (one sentence).
    """

    measures: dict[str, Measure]
    n_pairs: int
    ties: int
    n_excluded: int


def discriminate(
    model: DocumentScorer, documents: Sequence[PermutedDocument], *, progress: Progress = silent
) -> Discrimination:
    """Score every document against its permutations.

    Example:
        >>> from weft.corpora.corruption import permute_documents
        >>> from weft.document import Document
        >>> from weft.models import create_model
        >>> text = Document("d", ("Born in 1800.", "Wed in 1820.", "Died in 1880."))
        >>> found = discriminate(create_model("year-sort"), list(permute_documents([text])))
        >>> found.measures["accuracy"].numerators, found.n_pairs
        ((5.0,), 5)
    """
    wins = []
    for number, item in enumerate(documents):
        wins.append(_document_wins(model, item))
        progress("telling originals from permutations", number + 1, len(documents))
    accuracy = Measure(tuple(float(w.correct) for w in wins), tuple(float(w.pairs) for w in wins))
    return Discrimination(
        measures={"accuracy": accuracy},
        n_pairs=sum(w.pairs for w in wins),
        ties=sum(w.ties for w in wins),
        n_excluded=sum(not w.pairs for w in wins),
    )


def _document_wins(model: DocumentScorer, item: PermutedDocument) -> Wins:
    """All of a document's negatives: its permutations, then the texts with one sentence replaced."""
    wins = [*_permutation_wins(model, item), *_replacement_wins(model, item)]
    return Wins(sum(w.correct for w in wins), sum(w.ties for w in wins), len(wins))


def _replacement_wins(model: DocumentScorer, item: PermutedDocument) -> list[Wins]:
    if not item.replacements:
        return []
    changed = [replace_sentence(item.document, replacement) for replacement in item.replacements]
    original, *values = [score.value for score in model.score([item.document, *changed])]
    return [count_wins(original, [value]) for value in values]


def _permutation_wins(model: DocumentScorer, item: PermutedDocument) -> list[Wins]:
    """A permutation that lacks sentences is compared with the original restricted to the same sentences."""
    originals = sorted({tuple(sorted(order)) for order in item.orders})
    values = order_values(model, item.document, [*originals, *item.orders]) if item.orders else []
    original_value = dict(zip(originals, values, strict=False))
    return [
        count_wins(original_value[tuple(sorted(order))], [value])
        for order, value in zip(item.orders, values[len(originals) :], strict=True)
    ]
