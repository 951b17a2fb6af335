"""The task `order`: restore the order of a bag of sentences (section 4.2.2, Table 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from weft.document import Document
from weft.evaluation.metrics import kendall_tau, perfect_match, position_accuracy
from weft.evaluation.result import Measure
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.ordering.order import Objective, Search, found_orders, order_table, search_tables
from weft.progress import Progress, silent
from weft.protocols import Arranger, DocumentScorer, PairwiseModel
from weft.scoring.sequence_scorer import document_groups


def measure_order(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Restore the order of every document."""
    beam, objective = options.beam, options.objective
    found = reconstruct(
        subject.model, data.documents(), beam=beam, objective=objective, seed=options.seed, search=data.search,
        progress=progress,
    )  # fmt: skip
    chosen = {} if objective == "auto" else {"objective": objective}
    searched = {} if data.search == "greedy" else {"search": data.search}
    return replace(found, settings={"beam": beam, **chosen, **searched})


def reconstruct(
    model: DocumentScorer,
    documents: Sequence[Document],
    *,
    beam: int = 10,
    objective: Objective = "auto",
    seed: int = 1,
    search: Search = "greedy",
    progress: Progress = silent,
) -> Outcome:
    """Order every document twice: by beam search with the first sentence given, and by ``search`` with nothing given.

    Returns:
        With the first sentence given: ``tau_with_given`` (counts the given sentence, as in the paper's protocol; a
        random order gets 2/N), ``tau`` (leaves it out; a random order gets 0), ``perfect_match`` and
        ``position_accuracy`` (over the sentences that were not given). With nothing given: ``free_tau``,
        ``free_perfect_match``, ``free_position_accuracy``, and whether the first and the last sentence are in place:
        ``free_first`` and ``free_last``. Documents of fewer than three sentences have no τ and are excluded.

    Example:
        >>> from weft.registry import create_model
        >>> text = Document("d", ("Born in 1800.", "Wed in 1820.", "Died in 1880."))
        >>> found = reconstruct(create_model("year-sort"), [text])
        >>> found.measures["tau"].numerators
        (1.0,)
    """
    rows: list[dict[str, float | None]] = []
    for group in document_groups(documents):
        orders = _restore(model, [document for document in group if len(document)], beam, objective, seed, search)
        rows += [_measure(*(next(orders) if len(document) else ((), ()))) for document in group]
        progress("restoring order", len(rows), len(documents))
    names = rows[0] if rows else {}
    measures = {name: Measure.of_values([row[name] for row in rows]) for name in names}
    return Outcome(
        measures,
        [document.id for document in documents],
        [len(document) for document in documents],
        n_excluded=sum(row["tau"] is None for row in rows),
    )


def _restore(
    model: DocumentScorer, documents: Sequence[Document], beam: int, objective: Objective, seed: int, search: Search
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield two orders of each document: one found with the first sentence given, and one with nothing given."""
    if isinstance(model, PairwiseModel) and not isinstance(model, Arranger):
        for document in documents:
            table, precedence, chosen = search_tables(model, document, objective)  # one table for both searches
            tables = partial(order_table, table, precedence, objective=chosen, name=document.id, seed=seed)
            yield tables(first=0, search="beam", beam=beam).order, tables(search=search, beam=beam).order
        return
    given = found_orders(model, documents, first=0, search="beam", objective=objective, beam=beam, seed=seed)
    free = found_orders(model, documents, search=search, objective=objective, beam=beam, seed=seed)
    yield from zip(given, free, strict=True)


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
        "free_first": float(free[0] == 0) if defined else None,
        "free_last": float(free[-1] == len(free) - 1) if defined else None,
    }
