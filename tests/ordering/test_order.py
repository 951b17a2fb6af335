from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from tests.helpers.scorers import AntiOracle, Constant, OracleTable, OracleWhole, TestScorer, synthetic

from weft.document import Document, Score
from weft.errors import ConfigError
from weft.evaluation.metrics import kendall_tau
from weft.ordering.order import MOST_ORDERED, SEARCHES, Search, beam_by_scores, order_document
from weft.ordering.search import beam_order, exact_order, greedy_order
from weft.registry import create_model
from weft.scoring.uni_bi_mmi import path_value


def best_by_enumeration(table: np.ndarray, first: int | None) -> float:
    orders = [p for p in permutations(range(len(table))) if first is None or p[0] == first]
    return max(path_value(table, order) or 0.0 for order in orders)


@pytest.mark.parametrize("first", [None, 2])
@pytest.mark.parametrize("size", [3, 5, 6])
def test_exact_search_equals_enumeration(size: int, first: int | None) -> None:
    generator = np.random.default_rng(size)
    for _ in range(20):
        table = generator.normal(size=(size, size))
        order = exact_order(table, first=first)
        assert sorted(order) == list(range(size))
        assert first is None or order[0] == first
        assert path_value(table, order) == pytest.approx(best_by_enumeration(table, first))


def test_a_wide_beam_is_exact_and_a_narrow_one_is_greedy_to_the_right() -> None:
    table = np.random.default_rng(1).normal(size=(5, 5))
    assert path_value(table, beam_order(table, first=0, beam=1000)) == pytest.approx(best_by_enumeration(table, 0))
    steps = [0]
    while len(steps) < 5:
        steps.append(max((i for i in range(5) if i not in steps), key=lambda i: table[steps[-1], i]))
    assert beam_order(table, first=0, beam=1) == tuple(steps)


def test_greedy_grows_at_both_ends() -> None:
    table = np.zeros((4, 4))
    table[1, 2], table[0, 1], table[2, 3] = 9, 5, 4
    assert greedy_order(table) == (0, 1, 2, 3)
    table[2, 3] = 8
    table[3, 0] = 7  # after 1-2-3 the right end gains 7 by adding 0, the left end 5
    assert greedy_order(table) == (1, 2, 3, 0)
    assert greedy_order(table, first=3) == (3, 0, 1, 2)


@pytest.mark.parametrize("search", [s for s in SEARCHES if s != "exact"])
def test_the_oracle_restores_every_order_whatever_the_search(search: Search) -> None:
    for document in synthetic(3, 15):
        shuffled = document.reorder([7, 3, 14, 0, 9, 1, 12, 5, 2, 8, 4, 13, 6, 10, 11])
        found = order_document(OracleTable(), shuffled, first=3, search=search)
        assert shuffled.reorder(found.order).sentences == document.sentences
        assert found.value == 1.0
        assert found.input_value is not None and found.input_value < 1.0


def test_models_with_memory_are_searched_by_prefix() -> None:
    document = synthetic(1, 8)[0].reorder([3, 1, 7, 0, 2, 6, 5, 4])
    found = order_document(OracleWhole(), document, first=3)
    assert kendall_tau([[3, 1, 7, 0, 2, 6, 5, 4][i] for i in found.order]) == 1.0
    assert found.search == "beam-10"
    backwards = order_document(AntiOracle(), document, first=2)
    assert kendall_tau([[3, 1, 7, 0, 2, 6, 5, 4][i] for i in backwards.order]) == -1.0


def test_ties_fall_by_the_seed_and_never_by_the_input_order() -> None:
    """A scorer that cannot decide must not return the order it was given."""
    taus = [kendall_tau(order_document(Constant(), document, first=0).order[1:]) for document in synthetic(300, 16)]
    assert abs(np.mean([tau for tau in taus if tau is not None])) < 0.05
    document = synthetic(1, 16)[0]
    orders = {order_document(Constant(), document, seed=seed).order for seed in range(5)}
    assert len(orders) == 5
    assert order_document(Constant(), document, seed=3) == order_document(Constant(), document, seed=3)


def test_a_given_first_sentence_stays_first() -> None:
    document = synthetic(1, 14)[0]
    for search in ("auto", "beam", "greedy"):
        assert order_document(create_model("random"), document, first=5, search=search).order[0] == 5


def test_auto_is_exact_for_short_texts() -> None:
    assert order_document(create_model("random"), synthetic(1, 12)[0]).search == "exact"
    assert order_document(create_model("random"), synthetic(1, 13)[0], first=0).search == "beam-10"


def test_with_precedence_greedy_growth_puts_a_sentence_between_two() -> None:
    """The best pair is (0, 2), and precedence says 0, 1, 2: growth at both ends could not part the pair again."""
    table = np.zeros((3, 3))
    table[0, 2] = 1.0
    precedence = np.triu(np.full((3, 3), 3.0), k=1) - np.tril(np.full((3, 3), 3.0), k=-1)
    assert greedy_order(table) in ((0, 2, 1), (1, 0, 2))
    assert greedy_order(table, precedence) == (0, 1, 2)


def test_with_nothing_given_auto_takes_the_better_of_beam_and_greedy() -> None:
    for document in synthetic(20, 20):
        values = {
            search: order_document(create_model("random"), document, search=search).value or 0.0
            for search in ("auto", "beam", "greedy")
        }
        assert values["auto"] == max(values["beam"], values["greedy"])


def test_sixty_sentences_are_ordered_in_seconds() -> None:
    started = time.process_time()
    found = order_document(OracleTable(), synthetic(1, 60)[0], first=0)
    assert found.order == tuple(range(60))
    assert time.process_time() - started < 5


@pytest.mark.parametrize("length", [0, 1])
def test_nothing_to_order(length: int) -> None:
    found = order_document(create_model("random"), synthetic(1, length)[0])
    assert found.order == tuple(range(length))
    assert found.value is None


def test_bad_options_are_named() -> None:
    document = Document("d", ("a", "b"))
    with pytest.raises(ConfigError, match="unknown search.*'best'.*beam"):
        order_document(create_model("random"), document, search="best")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="first sentence does not exist.*saw 2.*0 to 1"):
        order_document(create_model("random"), document, first=2)
    with pytest.raises(ConfigError, match="beam"):
        order_document(create_model("random"), document, beam=0)
    with pytest.raises(ConfigError, match="too many sentences"):
        order_document(create_model("random"), synthetic(1, 17)[0], search="exact")


class Undecided(TestScorer):
    """A scorer without a table that finds everything equal, and keeps count of what it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def score(self, documents: Sequence[Document]) -> list[Score]:
        self.asked.append(len(documents))
        return [Score(1.0) for _ in documents]


def test_a_scorer_without_a_table_that_cannot_decide_does_not_return_the_input_order() -> None:
    taus = [kendall_tau(order_document(Undecided(), document, beam=2).order) for document in synthetic(200, 7)]
    assert abs(np.mean([tau for tau in taus if tau is not None])) < 0.1  # four standard errors
    given = [order_document(Undecided(), document, first=0, beam=2).order for document in synthetic(200, 7)]
    assert {order[0] for order in given} == {0}
    assert abs(np.mean([kendall_tau(order[1:]) or 0.0 for order in given])) < 0.12
    document = synthetic(1, 7)[0]
    assert len({order_document(Undecided(), document, seed=seed, beam=2).order for seed in range(5)}) == 5


def slow_beam(table: np.ndarray, beam: int) -> tuple[int, ...]:
    """The beam search of a textbook, from sentence 0."""
    paths: list[tuple[int, ...]] = [(0,)]
    for _ in range(len(table) - 1):
        grown = [(*path, i) for path in paths for i in range(len(table)) if i not in path]
        paths = sorted(grown, key=lambda path: -(path_value(table, path) or 0.0))[:beam]
    return paths[0]


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_the_beam_is_exactly_as_wide_as_asked(beam: int) -> None:
    generator = np.random.default_rng(beam)
    tables = [generator.normal(size=(7, 7)) for _ in range(40)]
    found = [beam_order(table, first=0, beam=beam) for table in tables]
    assert found == [slow_beam(table, beam) for table in tables]
    assert found != [slow_beam(table, beam + 1) for table in tables]


def test_the_beam_over_prefixes_is_exactly_as_wide_as_asked() -> None:
    model = Undecided()
    beam_by_scores(model, synthetic(1, 6)[0], first=0, beam=2)
    assert model.asked == [5, 2 * 4, 2 * 3, 2 * 2, 2 * 1]


def test_greedy_growth_that_gains_alike_on_both_sides_goes_on_reading() -> None:
    table = np.zeros((3, 3))
    table[0, 1], table[1, 2], table[2, 0] = 9, 5, 5
    assert greedy_order(table) == (0, 1, 2)


def test_a_text_too_long_is_refused_unless_the_model_sorts() -> None:
    text = Document("long", tuple(f"In {1000 + n} it rained." for n in range(MOST_ORDERED + 1)))
    with pytest.raises(ConfigError, match="too long to order") as caught:
        order_document(create_model("random"), text)
    assert str(MOST_ORDERED + 1) in str(caught.value.seen)
    assert 'format="blocks"' in str(caught.value.next_step)
    assert order_document(create_model("year-sort"), text).search == "rule"
