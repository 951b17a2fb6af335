"""Telling a text from its permutations (the paper's sections 4.1 and 4.2.1, Tables 1 and 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.negatives.replace import replace_sentence
from weft.evaluation.metrics import Wins, count_wins
from weft.evaluation.result import Measure
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer
from weft.scoring.pairs import order_values


@dataclass(frozen=True)
class Discrimination:
    """What a discrimination run found.

    Attributes:
        measures: ``accuracy``: the share of pairs whose original scored strictly higher; then the same by kind of
            permutation, where kinds were asked for.
        n_pairs: Pairs compared.
        ties: Pairs with equal scores, counted as wrong.
        n_excluded: Documents without a single permutation (one sentence).
    """

    measures: dict[str, Measure]
    n_pairs: int
    ties: int
    n_excluded: int


def discriminate(
    model: DocumentScorer,
    documents: Sequence[PermutedDocument],
    *,
    kind: Callable[[Sequence[int]], str] | None = None,
    progress: Progress = silent,
) -> Discrimination:
    """Score every document against its permutations.

    Args:
        model: Which of two texts does it prefer?
        documents: Texts with their negatives.
        kind: Names the kind of a permutation, where each kind gets a measure of its own.
        progress: Told after each document.

    Example:
        >>> from weft.corpora.negatives.permute import permute_documents
        >>> from weft.document import Document
        >>> from weft.registry import create_model
        >>> text = Document("d", ("Born in 1800.", "Wed in 1820.", "Died in 1880."))
        >>> found = discriminate(create_model("year-sort"), list(permute_documents([text])))
        >>> found.measures["accuracy"].numerators, found.n_pairs
        ((5.0,), 5)
    """
    found = []
    for number, item in enumerate(documents):
        found.append(_document_wins(model, item))
        progress("telling originals from permutations", number + 1, len(documents))
    measures = {"accuracy": _accuracy(found)}
    if kind is not None:
        measures |= _by_kind(found, documents, kind)
    return Discrimination(
        measures=measures,
        n_pairs=sum(len(wins) for wins in found),
        ties=sum(win.ties for wins in found for win in wins),
        n_excluded=sum(not wins for wins in found),
    )


def _accuracy(found: Sequence[Sequence[Wins]]) -> Measure:
    correct = tuple(float(sum(win.correct for win in wins)) for wins in found)
    return Measure(correct, tuple(float(len(wins)) for wins in found))


def _by_kind(
    found: Sequence[Sequence[Wins]], documents: Sequence[PermutedDocument], kind: Callable[[Sequence[int]], str]
) -> dict[str, Measure]:
    """The accuracy on each kind of permutation, in the order in which kinds are first met."""
    parts: dict[str, list[list[Wins]]] = defaultdict(lambda: [[] for _ in documents])
    for number, (item, wins) in enumerate(zip(documents, found, strict=True)):
        for order, win in zip(item.orders, wins, strict=False):  # replacements come after the orders and have no kind
            parts[kind(order)][number].append(win)
    return {name: _accuracy(wins) for name, wins in parts.items()}


def _document_wins(model: DocumentScorer, item: PermutedDocument) -> list[Wins]:
    """One for each of a document's negatives: its permutations, then the texts with one sentence replaced."""
    return [*_permutation_wins(model, item), *_replacement_wins(model, item)]


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
