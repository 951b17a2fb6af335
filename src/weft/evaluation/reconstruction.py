"""Restoring the order of a bag of sentences (the paper's section 4.2.2, Table 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from weft.document import Document
from weft.evaluation.metrics import kendall_tau, perfect_match, position_accuracy
from weft.evaluation.result import Measure
from weft.ordering.order import Objective, order_document, order_table, search_tables
from weft.progress import Progress, silent
from weft.protocols import Arranger, DocumentScorer, PairwiseModel


@dataclass(frozen=True)
class Reconstruction:
    """What a reconstruction run found.

    Attributes:
        measures: With the first sentence given: ``tau_with_given`` (the given sentence counted, as the paper's
            protocol reads; a random order then gets 2/N), ``tau`` (left out; a random order gets 0), ``perfect_match``,
            ``position_accuracy`` (both over the sentences that were not given). With nothing given: the same three
            names with ``free_`` in front.
        n_excluded: Documents for which τ is undefined (fewer than three sentences).
    """

    measures: dict[str, Measure]
    n_excluded: int


def reconstruct(
    model: DocumentScorer,
    documents: Sequence[Document],
    *,
    beam: int = 10,
    objective: Objective = "auto",
    seed: int = 1,
    progress: Progress = silent,
) -> Reconstruction:
    """Order every document twice: the first sentence given with beam search, and nothing given, greedily.

    Example:
        >>> from weft.registry import create_model
        >>> text = Document("d", ("Born in 1800.", "Wed in 1820.", "Died in 1880."))
        >>> found = reconstruct(create_model("year-sort"), [text])
        >>> found.measures["tau"].numerators
        (1.0,)
    """
    rows: list[dict[str, float | None]] = []
    for number, document in enumerate(documents):
        rows.append(_measure(*_restore(model, document, beam, objective, seed)))
        progress("restoring order", number + 1, len(documents))
    names = rows[0] if rows else {}
    measures = {name: _collect([row[name] for row in rows]) for name in names}
    return Reconstruction(measures, sum(row["tau"] is None for row in rows))


def _restore(
    model: DocumentScorer, document: Document, beam: int, objective: Objective, seed: int
) -> tuple[Sequence[int], Sequence[int]]:
    """The order found with the first sentence given, and with nothing given."""
    if not len(document):
        return (), ()
    if isinstance(model, PairwiseModel) and not isinstance(model, Arranger):
        table, precedence, chosen = search_tables(model, document, objective)  # once: both searches are look-ups
        tables = partial(order_table, table, precedence, objective=chosen, name=document.id, seed=seed)
        return tables(first=0, search="beam", beam=beam).order, tables(search="greedy").order
    given = order_document(model, document, first=0, search="beam", objective=objective, beam=beam, seed=seed)
    free = order_document(model, document, search="greedy", objective=objective, beam=beam, seed=seed)
    return given.order, free.order


def _measure(given: Sequence[int], free: Sequence[int]) -> dict[str, float | None]:
    rest = list(given[1:])
    defined = len(rest) >= 2
    return {
        "tau": kendall_tau(rest),
        "tau_with_given": kendall_tau(given) if defined else None,
        "perfect_match": perfect_match(rest) if defined else None,
        "position_accuracy": position_accuracy(rest) if defined else None,
        "free_tau": kendall_tau(free) if defined else None,
        "free_perfect_match": perfect_match(free) if defined else None,
        "free_position_accuracy": position_accuracy(free) if defined else None,
    }


def _collect(values: Sequence[float | None]) -> Measure:
    """An undefined value leaves its document out instead of counting as perfect or as nothing."""
    return Measure(tuple(v or 0.0 for v in values), tuple(float(v is not None) for v in values))
