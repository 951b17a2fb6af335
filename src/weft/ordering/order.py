"""Putting sentences in order (section 4.2.2): the objective, and the choice of a search.

A model with a table of pairs is searched exactly up to 12 sentences, then by beam, or by beam and greedily if no first
sentence is given. A model with memory is searched by beam over partial orders. The input is shuffled first and ties are
broken by the seed, so that the order of the input never helps.

The objective is the sum of transitions (coherence, as in the paper) plus, if the model has learned it, the log-odds of
all pairs of sentences, near or far, to stand in this order (precedence). Both are sums over sentences placed one after
the other, so one search serves for both: the next sentence gains its transition, and its precedence over all sentences
that are not placed yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from weft.document import Document
from weft.errors import ConfigError, check_known
from weft.io.seeded_hash import hash_order
from weft.ordering.ordering import Ordering
from weft.ordering.search import (
    TableOrderSearch,
    beam_order,
    beam_search,
    beam_searches,
    exact_order,
    greedy_order,
    order_gain,
)
from weft.progress import Steps, result_of
from weft.protocols import (
    Arranger,
    DocumentScorer,
    OrderSearch,
    PairwiseModel,
    PrecedenceModel,
    SearchableModel,
)
from weft.scoring.joint_search import BatchSearchableModel
from weft.scoring.sequence_scorer import WeightedOrderSearch, document_groups
from weft.scoring.stepping_models import SteppingArranger, SteppingModel
from weft.scoring.uni_bi_mmi import Table, check_numbers, order_values, path_value
from weft.settings import check_count, check_type

Search = Literal["auto", "exact", "beam", "greedy"]
EXACT_LIMIT = 12  # 2^12 subsets × 12² steps take 0.1 s; each further sentence doubles the time
MOST_ORDERED = 2000  # a table of pairs takes 32 MB, partial orders up to 1 GB; both grow quadratically
EXACT_MOST = 16  # one or two seconds; only if the search is exact
LEAST_GAIN = 1e-9  # smaller differences are rounding errors
SEARCHES = ("auto", "exact", "beam", "greedy")
Objective = Literal["auto", "coherence", "precedence", "both"]
OBJECTIVES = ("auto", "coherence", "precedence", "both")


def order_document(
    model: DocumentScorer,
    document: Document,
    *,
    first: int | None = None,
    search: Search = "auto",
    objective: Objective = "auto",
    beam: int = 10,
    seed: int = 1,
    keep_given: bool = False,
) -> Ordering:
    """Return the most coherent order of a document's sentences.

    Args:
        model: The model that scores orders.
        document: The sentences, in any order.
        first: The index of the sentence that must come first, if it is known.
        search: ``auto`` uses exact up to 12 sentences, then beam, or the better of beam and greedy if ``first`` is not
            given. A model with memory is always searched from left to right: ``greedy`` is then a beam of one, and
            ``exact`` raises ConfigError.
        objective: ``coherence`` (transitions, as in the paper), ``precedence`` (which of two comes first, for every
            pair) or ``both``; ``auto`` uses both if the model has learned precedence.
        beam: Beam width.
        seed: Seed of the shuffle that breaks ties.
        keep_given: Whether to return the order of the input unless the objective of the order found is higher.
            An evaluation must not set it.

    Example:
        >>> from weft.registry import create_model
        >>> years = Document("d", ("He died in 1870.", "He was born in 1812."))
        >>> order_document(create_model("year-sort"), years).order
        (1, 0)
    """
    return result_of(
        order_steps(
            model, document, first=first, search=search, objective=objective, beam=beam, seed=seed,
            keep_given=keep_given,
        )
    )  # fmt: skip


def order_steps(
    model: DocumentScorer,
    document: Document,
    *,
    first: int | None = None,
    search: Search = "auto",
    objective: Objective = "auto",
    beam: int = 10,
    seed: int = 1,
    keep_given: bool = False,
) -> Steps[Ordering]:
    """Return what `order_document` returns, in steps as short as those of the model."""
    _check(len(document), first, search, beam, seed)
    check_objective(objective)
    if len(document) > MOST_ORDERED and not isinstance(model, Arranger):
        raise _too_long(document)
    if isinstance(model, PairwiseModel) and not isinstance(model, Arranger):
        if isinstance(model, SteppingModel):
            yield from model.table_steps(document)
        table, precedence, chosen = search_tables(model, document, objective)
        found_order = order_table(
            table, precedence, objective=chosen, name=document.id, first=first, search=search, beam=beam, seed=seed
        )
        return _better(found_order, precedence, first) if keep_given else found_order
    shuffled = _shuffle(len(document), first, seed, document.id)
    searched, given = document.reorder(shuffled), None if first is None else 0
    precedence, chosen = precedence_of(model, searched, objective)
    if isinstance(model, SteppingArranger):
        found, how = (yield from model.arrange_steps(searched, first=given, seed=seed)), "rule"
    elif isinstance(model, Arranger):
        found, how = model.arrange(searched, first=given, seed=seed), "rule"
    else:
        width = _beam_width(search, beam)
        how = f"beam-{width}"
        if isinstance(model, SearchableModel) and len(searched) > 1:
            steps = _order_search(model, searched, precedence, chosen)
            found = beam_search(steps, len(searched), first=given, beam=width)
        else:
            found = beam_by_scores(model, searched, first=given, beam=width)
    order = tuple(shuffled[i] for i in found)
    if isinstance(model, SteppingModel):
        yield from model.score_steps(document)
        yield from model.score_steps(document.reorder(order))
    value, input_value = order_values(model, document, [order, range(len(document))])
    found_order = Ordering(order, value, input_value, how, chosen)
    if not keep_given:
        return found_order
    return _better(found_order, None if precedence is None else precedence[np.ix_(*[np.argsort(shuffled)] * 2)], first)


def found_orders(
    model: DocumentScorer,
    documents: Sequence[Document],
    *,
    first: int | None = None,
    search: Search = "auto",
    objective: Objective = "auto",
    beam: int = 10,
    seed: int = 1,
) -> list[tuple[int, ...]]:
    """Return only the orders that `order_document` finds; a model that can searches several documents at once.

    No document may be empty. The arguments are those of `order_document`.

    Example:
        >>> from weft.registry import create_model
        >>> years = Document("d", ("He died in 1870.", "He was born in 1812."))
        >>> found_orders(create_model("year-sort"), [years, years])
        [(1, 0), (1, 0)]
    """
    if not documents or not _searches_together(model, documents[0], objective):
        return [
            order_document(model, document, first=first, search=search, objective=objective, beam=beam, seed=seed).order
            for document in documents
        ]
    assert isinstance(model, BatchSearchableModel)
    found: list[tuple[int, ...]] = []
    for group in document_groups(documents):
        for document in group:
            _check(len(document), first, search, beam, seed)
        shuffles = [_shuffle(len(document), first, seed, document.id) for document in group]
        searches = model.order_searches([one.reorder(shuffle) for one, shuffle in zip(group, shuffles, strict=True)])
        given, sizes = None if first is None else 0, [len(document) for document in group]
        orders = beam_searches(searches, sizes, firsts=[given] * len(group), beam=_beam_width(search, beam))
        found += [tuple(shuffle[i] for i in order) for shuffle, order in zip(shuffles, orders, strict=True)]
    return found


def _searches_together(model: DocumentScorer, document: Document, objective: Objective) -> bool:
    """Return whether a model searches for the orders of several documents at once, by coherence alone."""
    check_objective(objective)
    if not isinstance(model, BatchSearchableModel) or isinstance(model, PairwiseModel | Arranger):
        return False
    return precedence_of(model, document, objective)[0] is None


def _better(found: Ordering, precedence: Table | None, first: int | None) -> Ordering:
    """Return the order found if its objective is higher than that of the input, else the input, if it may begin so."""
    given = tuple(range(len(found.order)))
    if found.value is None or found.input_value is None or first not in (None, 0):
        return found
    gain = 0.0 if found.objective == "precedence" else (found.value - found.input_value) * (len(given) - 1)
    if precedence is not None:
        gain += sum(
            sign * float(np.triu(precedence[np.ix_(order, order)], k=1).sum())
            for sign, order in ((1, found.order), (-1, given))
        )
    if gain > LEAST_GAIN:
        return found
    return replace(found, order=given, value=found.input_value, kept=True)


def _too_long(document: Document) -> ConfigError:
    return ConfigError(
        "the text is too long to order: each sentence is compared with each other",
        seen=f"{len(document)} sentences in {document.id}",
        allowed=f"up to {MOST_ORDERED} sentences; any number for a model that sorts, such as year-sort",
        next_step='order its sections one by one (`format="blocks"`)',
    )


def order_table(
    table: Table,
    precedence: Table | None = None,
    *,
    objective: str = "coherence",
    name: str = "",
    first: int | None = None,
    search: Search = "auto",
    beam: int = 10,
    seed: int = 1,
) -> Ordering:
    """Return the best order by tables of pairs, each [sentences, sentences].

    Args:
        table: The score of each transition (row: sentence before; column: sentence after).
        precedence: The gain of each sentence from standing anywhere before another.
        objective: The objective; ``precedence`` ignores transitions in the search.
        name: Name of the text, which is part of the seed.
        first: The sentence that must come first.
        search: The search.
        beam: Beam width.
        seed: Seed of the shuffle that breaks ties.

    Example:
        >>> order_table(np.array([[0, 0, 5], [5, 0, 0], [0, 0, 0]], dtype=float)).order
        (1, 0, 2)
    """
    _check(len(table), first, search, beam, seed)
    for scores in (table, precedence):
        if scores is not None:
            check_numbers(scores)
    shuffled = _shuffle(len(table), first, seed, name)
    cells = np.ix_(shuffled, shuffled)
    searched = np.zeros_like(table) if objective == "precedence" else table[cells]
    before = None if precedence is None else precedence[cells]
    found, how = _search(searched, before, None if first is None else 0, search, beam)
    order = tuple(shuffled[i] for i in found)
    return Ordering(order, path_value(table, order), path_value(table, range(len(table))), how, objective)


def check_objective(objective: str) -> None:
    """Raise ConfigError if an objective is not one of `OBJECTIVES`.

    Raises:
        ConfigError: The objective is unknown.
    """
    check_known("objective", objective, OBJECTIVES)


def search_tables(
    model: PairwiseModel, document: Document, objective: Objective = "auto"
) -> tuple[Table, Table | None, str]:
    """Return the arguments of `order_table`: transitions, precedence if available, and the objective."""
    check_objective(objective)
    return model.pair_table(document), *precedence_of(model, document, objective)


def precedence_of(model: object, document: Document, objective: Objective) -> tuple[Table | None, str]:
    """Return the precedence table if the objective uses one, and the objective that results.

    Raises:
        ConfigError: The objective needs precedence, and the model has not learned it or weighs it by itself.
    """
    if objective == "coherence":
        return None, objective
    found = model.precedence_table(document) if isinstance(model, PrecedenceModel) else None
    if found is not None:
        check_numbers(found)
        return found, "both" if objective == "auto" else objective
    if objective == "auto":
        return None, "coherence"
    raise _own_rule(objective) if isinstance(model, Arranger) else _no_precedence(objective)


def _beam_width(search: str, beam: int) -> int:
    """Return the beam width for a model with memory; greedy search is a beam of one.

    Raises:
        ConfigError: The search is exact, which needs a table of pairs.
    """
    if search == "exact":
        raise ConfigError(
            "exact search needs a table of pairs, which a model with memory does not have",
            seen=search,
            allowed="auto, beam, greedy",
            next_step='use `search="beam"`, with a larger `beam`',
        )
    return 1 if search == "greedy" else beam


def _order_search(model: SearchableModel, document: Document, precedence: Table | None, objective: str) -> OrderSearch:
    """Return the search state of a model with memory, with precedence if there is a table."""
    if precedence is None:
        return model.order_search(document)
    pairs = TableOrderSearch(np.zeros_like(precedence), precedence)
    if objective == "precedence":
        return pairs
    return WeightedOrderSearch((model.order_search(document), pairs), np.ones(2))


def _own_rule(objective: str) -> ConfigError:
    return ConfigError(
        "this model orders by a rule of its own, which no objective changes",
        seen=objective,
        allowed="auto, coherence",
        next_step="omit `objective`",
    )


def _no_precedence(objective: str) -> ConfigError:
    return ConfigError(
        "this model has not learned which of two sentences comes first",
        seen=objective,
        allowed="auto, coherence",
        next_step="use another model, such as weft-small, or omit `objective`",
    )


def _shuffle(size: int, first: int | None, seed: int, name: str) -> list[int]:
    """Return a random order of the input that starts with the given sentence."""
    order = hash_order(size, seed, name, "shuffle")
    return list(order) if first is None else [first, *(i for i in order if i != first)]


def _search(
    table: Table, precedence: Table | None, first: int | None, search: Search, beam: int
) -> tuple[tuple[int, ...], str]:
    if len(table) < 2:
        return tuple(range(len(table))), "none"
    if search == "greedy":
        return greedy_order(table, precedence, first=first), "greedy"
    if search == "exact" or (search == "auto" and len(table) <= EXACT_LIMIT):
        return exact_order(table, precedence, first=first), "exact"
    found = beam_order(table, precedence, first=first, beam=beam), f"beam-{beam}"
    if search == "beam" or first is not None or precedence is not None:
        return found
    # Without a first sentence, a left-to-right beam may start in the middle of a text; growth at both ends does not.
    other = greedy_order(table), "greedy"
    return max(found, other, key=lambda pair: order_gain(table, None, pair[0]))


def beam_by_scores(
    model: DocumentScorer, document: Document, *, first: int | None = None, beam: int = 10
) -> tuple[int, ...]:
    """Return an order by beam search for any model that scores documents; each step scores one batch."""
    size = len(document)
    if not size:
        return ()
    paths: list[tuple[int, ...]] = [(i,) for i in range(size)] if first is None else [(first,)]
    for _ in range(size - 1):
        grown = [(*path, i) for path in paths for i in range(size) if i not in path]
        scores = model.score([document.reorder(path) for path in grown])
        ranked = sorted(range(len(grown)), key=lambda n: -_value(scores[n].value))
        paths = [grown[n] for n in ranked[:beam]]
    return paths[0]


def _value(value: float | None) -> float:
    return -np.inf if value is None else value


def _check(size: int, first: int | None, search: str, beam: int, seed: int) -> None:
    check_known("search", search, SEARCHES)
    check_count("beam", beam)
    check_type("seed", seed, 1)
    if first is not None and not 0 <= first < size:
        raise ConfigError(
            "the first sentence does not exist",
            seen=first,
            allowed=f"0 to {size - 1}",
            next_step="count sentences from 0",
        )
    if search == "exact" and size > EXACT_MOST:
        raise ConfigError(
            "too many sentences for an exact search",
            seen=size,
            allowed=f"at most {EXACT_MOST}",
            next_step='use `search="beam"`',
        )
