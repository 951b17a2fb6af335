"""The tasks `pairs`, `inner` and `swaps`: distinguish documents from permutations (sections 4.1 and 4.2.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from weft.corpora.negatives.permute import inner_permutations, permutations
from weft.corpora.negatives.permuted_document import PermutedDocument, fingerprint_orders
from weft.corpora.negatives.replace import replace_sentence
from weft.corpora.negatives.swap import swapped_orders, swaps_name
from weft.evaluation.metrics import Verdict, compare_scores
from weft.evaluation.result import Measure
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer
from weft.scoring.uni_bi_mmi import order_values

Kind = Callable[[Sequence[int]], str]
Negatives = Callable[..., tuple[tuple[int, ...], ...]]


def measure_pairs(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Compare documents with the permutations in the data, or with seeded ones if the data have none."""
    documents = [
        item if item.orders or item.replacements else _permuted(item, permutations, options) for item in data.permuted()
    ]
    return discriminate(subject.model, documents, progress=progress)


def measure_inner(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Compare documents with permutations that keep the first and the last sentence."""
    documents = [_permuted(item, inner_permutations, options) for item in data.permuted()]
    return discriminate(subject.model, documents, progress=progress)


def measure_swaps(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Compare documents with copies in which a few sentences are exchanged; each number of swaps has a measure."""
    documents = [_permuted(item, swapped_orders, options) for item in data.permuted()]
    return discriminate(subject.model, documents, kind=swaps_name, progress=progress)


def _permuted(item: PermutedDocument, negatives: Negatives, options: EvaluateOptions) -> PermutedDocument:
    orders = negatives(item.document, count=options.permutations, seed=options.seed)
    return PermutedDocument(item.document, orders)


def discriminate(
    model: DocumentScorer,
    documents: Sequence[PermutedDocument],
    *,
    kind: Kind | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Compare the score of every document with those of its negatives.

    Args:
        model: The model.
        documents: Documents with their negatives.
        kind: Returns the kind of a permutation; each kind has a measure.
        progress: Called after each document.

    Returns:
        ``accuracy``: the share of pairs whose original scored strictly higher; then the same for each kind.
        Documents without a negative (one sentence) are excluded.

    Example:
        >>> from weft.document import Document
        >>> from weft.registry import create_model
        >>> text = Document("d", ("Born in 1800.", "Wed in 1820.", "Died in 1880."))
        >>> found = discriminate(create_model("year-sort"), [PermutedDocument(text, permutations(text))])
        >>> found.measures["accuracy"].numerators, found.n_pairs
        ((5.0,), 5)
    """
    found = []
    for number, item in enumerate(documents):
        found.append([*_permutation_verdicts(model, item), *_replacement_verdicts(model, item)])
        progress("comparing documents with permutations", number + 1, len(documents))
    measures = {"accuracy": _accuracy(found)}
    if kind is not None:
        measures |= _by_kind(found, documents, kind)
    return Outcome(
        measures=measures,
        documents=[item.document.id for item in documents],
        lengths=[len(item.document) for item in documents],
        n_pairs=sum(map(len, found)),
        ties=sum(verdicts.count("tie") for verdicts in found),
        n_excluded=sum(not verdicts for verdicts in found),
        negatives_sha256=fingerprint_orders(documents),
        settings={"permutations": max((len(item.orders) for item in documents), default=0)},
    )


def _accuracy(found: Sequence[Sequence[Verdict]]) -> Measure:
    correct = tuple(float(verdicts.count("win")) for verdicts in found)
    return Measure(correct, tuple(float(len(verdicts)) for verdicts in found))


def _by_kind(
    found: Sequence[Sequence[Verdict]], documents: Sequence[PermutedDocument], kind: Kind
) -> dict[str, Measure]:
    """Return the accuracy on each kind of permutation, in the order of first occurrence."""
    parts: dict[str, list[list[Verdict]]] = defaultdict(lambda: [[] for _ in documents])
    for number, (item, verdicts) in enumerate(zip(documents, found, strict=True)):
        # Replacements come after the orders and have no kind.
        for order, verdict in zip(item.orders, verdicts, strict=False):
            parts[kind(order)][number].append(verdict)
    return {name: _accuracy(verdicts) for name, verdicts in parts.items()}


def _replacement_verdicts(model: DocumentScorer, item: PermutedDocument) -> list[Verdict]:
    """Compare the original with the copies in which one sentence is replaced."""
    if not item.replacements:
        return []
    changed = [replace_sentence(item.document, replacement) for replacement in item.replacements]
    original, *values = [score.value for score in model.score([item.document, *changed])]
    return [compare_scores(original, value) for value in values]


def _permutation_verdicts(model: DocumentScorer, item: PermutedDocument) -> list[Verdict]:
    """Compare the original with its permutations; it is restricted to the sentences that a permutation has."""
    originals = sorted({tuple(sorted(order)) for order in item.orders})
    values = order_values(model, item.document, [*originals, *item.orders]) if item.orders else []
    original_value = dict(zip(originals, values, strict=False))
    return [
        compare_scores(original_value[tuple(sorted(order))], value)
        for order, value in zip(item.orders, values[len(originals) :], strict=True)
    ]
