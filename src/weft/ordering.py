"""Putting sentences in order: exact for short texts, beam for long ones, greedy at both ends.

All searches work on a table of pairwise scores where the model has one; a model with memory is asked to score
prefixes. Inputs are shuffled first and ties fall by the seed, so that the order a text came in can never help.

What is searched for is the highest sum of transitions (coherence, as in the paper) and, where the model has learned
it, of the log-odds of all pairs, near or far, to stand in this order (precedence). Both are sums over sentences
placed one after the other, so that one search does for both: a sentence placed next gains its transition, and its
precedence over all that are still to come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from weft.corpora.corruption import hash_order
from weft.document import Document
from weft.errors import ConfigError, check_known
from weft.models import Arranger, DocumentScorer, PairwiseModel, PrecedenceModel, PrefixModel, PrefixSteps
from weft.scoring import Table, check_numbers, order_values, path_value

Search = Literal["auto", "exact", "beam", "greedy"]
EXACT_LIMIT = 12  # 2^12 subsets × 12² steps take a tenth of a second; each sentence more doubles it
EXACT_MOST = 16  # a second or two; asked for by name only
SEARCHES = ("auto", "exact", "beam", "greedy")
Objective = Literal["auto", "coherence", "precedence", "both"]
OBJECTIVES = ("auto", "coherence", "precedence", "both")


@dataclass(frozen=True, slots=True)
class Ordering:
    """A proposed order.

    Attributes:
        order: Indices into the input, in the proposed order.
        value: The score of that order.
        input_value: The score of the order the sentences came in.
        search: What found it: ``exact``, ``beam-10``, ``greedy``, or ``rule`` for a model that sorts.
        objective: What was searched for: ``coherence``, ``precedence`` or ``both``.
    """

    order: tuple[int, ...]
    value: float | None
    input_value: float | None
    search: str
    objective: str = "coherence"


def order_document(
    model: DocumentScorer,
    document: Document,
    *,
    first: int | None = None,
    search: Search = "auto",
    objective: Objective = "auto",
    beam: int = 10,
    seed: int = 1,
) -> Ordering:
    """Find the most coherent order of a document's sentences.

    Args:
        model: What scores an order.
        document: The sentences, in any order.
        first: The index of the sentence that must come first, if that is known.
        search: ``auto`` takes exact up to 12 sentences, then beam, or with no first sentence the better of beam and
            greedy.
        objective: ``coherence`` (transitions, as in the paper), ``precedence`` (which of two comes first, for every
            pair) or ``both``; ``auto`` takes both where the model has learned precedence.
        beam: Beam width.
        seed: Breaks ties.

    Example:
        >>> from weft.models import create_model
        >>> years = Document("d", ("He died in 1870.", "He was born in 1812."))
        >>> order_document(create_model("year-sort"), years).order
        (1, 0)
    """
    _check(len(document), first, search, beam)
    check_objective(objective)
    if isinstance(model, PairwiseModel) and not isinstance(model, Arranger):
        table, precedence, chosen = search_tables(model, document, objective)
        return order_table(
            table, precedence, objective=chosen, name=document.id, first=first, search=search, beam=beam, seed=seed
        )
    if objective in {"precedence", "both"}:
        raise _no_precedence(objective)
    shuffled = _shuffle(len(document), first, seed, document.id)
    searched, given = document.reorder(shuffled), None if first is None else 0
    if isinstance(model, Arranger):
        found, how = model.arrange(searched, first=given, seed=seed), "rule"
    elif isinstance(model, PrefixModel) and len(searched) > 1:
        found, how = beam_search(model.prefix_steps(searched), len(searched), first=given, beam=beam), f"beam-{beam}"
    else:
        found, how = beam_by_prefix(model, searched, first=given, beam=beam), f"beam-{beam}"
    order = tuple(shuffled[i] for i in found)
    value, input_value = order_values(model, document, [order, range(len(document))])
    return Ordering(order, value, input_value, how)


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
    """Find the best order in tables of pairwise scores, each [sentences, sentences]; ``name`` seeds the ties.

    Args:
        table: What each sentence gains by standing right after another.
        precedence: What each gains by standing anywhere before another.
        objective: What the tables stand for; ``precedence`` leaves transitions out of the search.
        name: Of the text.
        first: The sentence that must come first.
        search: How.
        beam: How wide.
        seed: Breaks ties.

    Example:
        >>> order_table(np.array([[0, 0, 5], [5, 0, 0], [0, 0, 0]], dtype=float)).order
        (1, 0, 2)
    """
    _check(len(table), first, search, beam)
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
    """Refuse an unknown objective.

    Raises:
        ConfigError: It is none of `OBJECTIVES`.
    """
    check_known("objective", objective, OBJECTIVES)


def search_tables(
    model: PairwiseModel, document: Document, objective: Objective = "auto"
) -> tuple[Table, Table | None, str]:
    """What `order_table` searches with: transitions, precedence if any, and what the search is then for."""
    check_objective(objective)
    table = model.pair_table(document)
    if objective == "coherence":
        return table, None, objective
    found = model.precedence_table(document) if isinstance(model, PrecedenceModel) else None
    if found is not None:
        return table, found, "both" if objective == "auto" else objective
    if objective == "auto":
        return table, None, "coherence"
    raise _no_precedence(objective)


def _no_precedence(objective: str) -> ConfigError:
    return ConfigError(
        "this model has not learned which of two sentences comes first",
        seen=objective,
        allowed="auto, coherence",
        next_step="use another model, such as weft-small, or leave --objective away",
    )


def _shuffle(size: int, first: int | None, seed: int, name: str) -> list[int]:
    """A random order of the input, the given sentence in front."""
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
    # With no first sentence a left-to-right beam can start in the middle; growth at both ends cannot.
    other = greedy_order(table), "greedy"
    return max(found, other, key=lambda pair: order_gain(table, None, pair[0]))


def order_gain(table: Table, precedence: Table | None, order: Sequence[int]) -> float:
    """What an order gains in all: the sum of its transitions and of the precedence of its pairs.

    Example:
        >>> order_gain(np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([[0.0, -1.0], [1.0, 0.0]]), [1, 0])
        4.0
    """
    steps = (path_value(table, order) or 0.0) * (len(order) - 1)
    if precedence is None:
        return steps
    return steps + float(np.triu(precedence[np.ix_(order, order)], k=1).sum())


def exact_order(table: Table, precedence: Table | None = None, *, first: int | None = None) -> tuple[int, ...]:
    """The order with the highest sum, by dynamic programming over subsets (Held and Karp 1962).

    Example:
        >>> exact_order(np.array([[0, 0, 5], [5, 0, 0], [0, 0, 0]], dtype=float))
        (1, 0, 2)
    """
    size = len(table)
    best = np.full((1 << size, size), -np.inf)  # [subset, last sentence]
    came_from = np.zeros((1 << size, size), dtype=np.int16)
    for start in range(size) if first is None else [first]:
        best[1 << start, start] = 0.0
    everyone = np.arange(size)
    for subset in range(1, 1 << size):
        reached = best[subset]
        if not np.isfinite(reached).any():
            continue
        through = reached[:, None] + table  # [last, next]
        previous = through.argmax(axis=0)  # [next]
        gains = through[previous, everyone]  # [next]
        if precedence is not None:  # the placed stand before the next, whatever their own order: it needs no memory
            gains = gains + precedence[(subset >> everyone) & 1 == 1].sum(axis=0)
        # Every (grown subset, next) cell is reached from exactly one subset, so it is written once.
        new = everyone[(subset >> everyone) & 1 == 0]
        best[subset | (1 << new), new] = gains[new]
        came_from[subset | (1 << new), new] = previous[new]
    return _walk_back(best, came_from, size)


def _walk_back(best: Table, came_from: npt.NDArray[np.int16], size: int) -> tuple[int, ...]:
    subset = (1 << size) - 1
    last = int(best[subset].argmax())
    order = [last]
    while len(order) < size:
        before = int(came_from[subset, last])
        subset ^= 1 << last
        last = before
        order.append(last)
    return tuple(reversed(order))


def beam_order(
    table: Table, precedence: Table | None = None, *, first: int | None = None, beam: int = 10
) -> tuple[int, ...]:
    """Left to right, keeping the best ``beam`` partial texts (the paper's section 4.2.2, beam 10).

    Example:
        >>> beam_order(np.array([[0, 0, 5], [5, 0, 0], [0, 0, 0]], dtype=float), first=1)
        (1, 0, 2)
    """
    return beam_search(_TableSteps(table, precedence), len(table), first=first, beam=beam)


def beam_search(steps: PrefixSteps, size: int, *, first: int | None = None, beam: int = 10) -> tuple[int, ...]:
    """The one beam search: partial texts grow to the right, and ``steps`` says what each next sentence gains."""
    paths = np.array([[i] for i in range(size)] if first is None else [[first]])  # [beam, placed]
    totals = steps.begin(paths[:, 0].tolist())  # [beam]
    for _ in range(size - 1):
        scores = totals[:, None] + steps.gains()  # [beam, sentences]
        scores[np.arange(len(paths))[:, None], paths] = -np.inf  # a sentence is used once
        flat = scores.ravel()
        kept = _highest(flat, beam)
        rows, columns = np.divmod(kept, size)
        paths = np.concatenate([paths[rows], columns[:, None]], axis=1)
        totals = flat[kept]
        steps.keep(rows.tolist(), columns.tolist())
    return tuple(int(i) for i in paths[0])


class _TableSteps:
    """What a sentence gains by tables: its transition, and its precedence over all that are still to come."""

    def __init__(self, table: Table, precedence: Table | None) -> None:
        self.table, self.before = table, np.zeros_like(table) if precedence is None else precedence

    def begin(self, firsts: Sequence[int]) -> Table:
        """A path is charged now for what it will stand before, so that paths of one length compare: [beam]."""
        self.last = np.asarray(firsts, dtype=np.int64)  # [beam]
        self.ahead = self.before.sum(axis=1) - self.before[:, self.last].T  # [beam, sentences]: over what is not placed
        totals: Table = self.before[self.last].sum(axis=1)
        return totals

    def gains(self) -> Table:
        """[beam, sentences]."""
        found: Table = self.table[self.last] + self.ahead
        return found

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Go on with some paths, one sentence longer."""
        self.last = np.asarray(columns, dtype=np.int64)
        self.ahead = self.ahead[np.asarray(rows, dtype=np.int64)] - self.before[:, self.last].T


def _highest(values: Table, count: int) -> npt.NDArray[np.int64]:
    """Places of the highest finite values, highest first; of equal ones the earlier, as a stable sort has it."""
    threshold = np.partition(values, -count)[-count] if count < len(values) else -np.inf
    candidates = np.flatnonzero((values >= threshold) & np.isfinite(values))
    return candidates[np.argsort(-values[candidates], kind="stable")[:count]]


def greedy_order(table: Table, precedence: Table | None = None, *, first: int | None = None) -> tuple[int, ...]:
    """Start with the best pair and grow at whichever end gains most (Lapata 2003).

    With ``first``, and with precedence, it only grows to the right: precedence says where a text begins, and growth at
    both ends could never put a sentence between two that are placed.

    Example:
        >>> greedy_order(np.array([[0, 0, 5], [4, 0, 0], [0, 0, 0]], dtype=float))
        (1, 0, 2)
    """
    if first is not None or precedence is not None:
        return beam_order(table, precedence, first=first, beam=1)
    used = np.zeros(len(table), dtype=bool)
    placed: deque[int] = deque(_best_pair(table))
    used[list(placed)] = True
    while len(placed) < len(table):
        after = np.where(used, -np.inf, table[placed[-1]])  # [sentences]
        before = np.where(used, -np.inf, table[:, placed[0]])  # [sentences]
        if before.max() > after.max():
            placed.appendleft(int(before.argmax()))
            used[placed[0]] = True
        else:
            placed.append(int(after.argmax()))
            used[placed[-1]] = True
    return tuple(placed)


def _best_pair(table: Table) -> tuple[int, int]:
    """The pair with the highest score, row by row, so that no copy of a large table is made."""
    rows = []
    for i, row in enumerate(table):
        others = np.where(np.arange(len(row)) == i, -np.inf, row)
        rows.append((float(others.max()), i, int(others.argmax())))
    _, left, right = max(rows, key=lambda entry: entry[0])
    return left, right


def beam_by_prefix(
    model: DocumentScorer, document: Document, *, first: int | None = None, beam: int = 10
) -> tuple[int, ...]:
    """Beam search for any model that scores documents: every extension of every kept prefix, in one batch a step."""
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


def _check(size: int, first: int | None, search: str, beam: int) -> None:
    check_known("search", search, SEARCHES)
    if beam < 1:
        raise ConfigError("the beam is too narrow", seen=beam, allowed="1 or more", next_step="use the default, 10")
    if first is not None and not 0 <= first < size:
        raise ConfigError(
            "there is no such first sentence",
            seen=first,
            allowed=f"0 to {size - 1}",
            next_step="count sentences from 0",
        )
    if search == "exact" and size > EXACT_MOST:
        raise ConfigError(
            "too many sentences for an exact search",
            seen=size,
            allowed=f"{EXACT_MOST} at most",
            next_step="use --search beam",
        )
