"""The single best move, and keeping the given order."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.scorers import OracleTable, OracleWhole, synthetic
from tests.helpers.zoo_models import WEFT_SMALL

import weft
from weft.document import Document
from weft.errors import ConfigError
from weft.ordering.best_move import MOST_MOVED, _moved, _score_gains, best_move, table_gains
from weft.ordering.order import _better, order_document
from weft.ordering.ordering import Ordering
from weft.ordering.search import order_gain
from weft.registry import create_model


def test_gains_are_differences_of_the_objective() -> None:
    follows, drawn = np.random.default_rng(1).normal(size=(2, 6, 6))
    precedence = drawn - drawn.T
    gains, value = table_gains(follows, precedence), order_gain(follows, precedence, range(6))
    for was in range(6):
        for place in range(6):
            if was != place:
                expected = order_gain(follows, precedence, _moved(6, was, place)) - value
                assert gains[was, place] * 5 == pytest.approx(expected)


def test_tables_and_scores_give_the_same_gains() -> None:
    document, model = synthetic(1, 6)[0].reorder([0, 2, 3, 1, 4, 5]), OracleTable()
    gains = _score_gains(model, document)
    np.fill_diagonal(gains, 0.0)
    tables = table_gains(model.pair_table(document), np.zeros((6, 6)))
    np.fill_diagonal(tables, 0.0)
    assert gains == pytest.approx(tables)


@pytest.mark.parametrize("model", [OracleTable(), OracleWhole()], ids=["table", "memory"])
def test_the_sentence_in_the_wrong_place_is_found(model: OracleTable | OracleWhole) -> None:
    text = synthetic(1, 8)[0]
    for shuffled in ([0, 5, 1, 2, 3, 4, 6, 7], [1, 2, 3, 4, 5, 6, 7, 0]):
        document = text.reorder(shuffled)
        found = best_move(model, document)
        assert document.reorder(found.order(8)).sentences == text.sentences
        assert found.was is not None and found.sentence == document.sentences[found.was]
        assert found.value is not None and found.input_value is not None
        assert found.gain == pytest.approx(found.value - found.input_value) and found.gain > 0


def test_no_move_helps_a_text_in_order() -> None:
    found = best_move(OracleTable(), synthetic(1, 8)[0])
    assert (found.was, found.place, found.gain) == (None, None, 0.0)
    assert found.order(8) == tuple(range(8)) and found.value == found.input_value == 1.0
    assert "no move helps" in repr(found)


@pytest.mark.parametrize("size", [0, 1])
def test_nothing_to_move(size: int) -> None:
    found = best_move(OracleTable(), synthetic(1, size)[0])
    assert found.was is None and found.value is None


def test_the_first_sentence_stays() -> None:
    document = synthetic(1, 6)[0].reorder([1, 2, 3, 4, 5, 0])
    found = best_move(OracleTable(), document, first_given=True)
    assert found.order(6)[0] == 0


def test_a_model_that_reads_whole_texts_takes_short_ones() -> None:
    with pytest.raises(ConfigError, match=f"too long to try all moves.*up to {MOST_MOVED} sentences"):
        best_move(OracleWhole(), synthetic(1, MOST_MOVED + 1)[0])
    assert best_move(OracleTable(), synthetic(1, 300)[0]).was is None


def test_the_public_function() -> None:
    text = "Born in 1812. Died in 1870. Wed in 1836. Rich in 1840."
    found = weft.best_move(text, model="year-sort")
    assert found.order(4) == (0, 2, 3, 1)
    assert found.to_dict()["was"] == 1 and "sentence 1 to place 3" in repr(found)
    assert "<table" in found._repr_html_()
    assert weft.best_move("Hello.", model="foltz-sif").warnings
    text = "A cat sat. Rates rose. It purred. Banks fell."
    assert weft.best_move(text, model=WEFT_SMALL, objective="both").objective == "both"
    with pytest.raises(ConfigError, match="a rule of its own"):
        weft.best_move(text, objective="both")


# Keeping the given order ----------------------------------------------------------------------------------------------


def test_the_given_order_is_kept_unless_another_is_better() -> None:
    worse = Ordering((1, 0, 2), 0.1, 0.5, "greedy")
    assert _better(worse, None, None).order == (0, 1, 2) and _better(worse, None, 0).kept
    kept = _better(worse, None, None)
    assert kept.kept and kept.value == kept.input_value == 0.5
    assert _better(worse, None, 1) is worse  # the given order does not begin as asked
    equal = Ordering((1, 0, 2), 0.5, 0.5, "greedy")
    assert _better(equal, None, None).order == (0, 1, 2) and _better(equal, None, None).kept
    found_again = Ordering((0, 1, 2), 0.5, 0.5, "exact")
    assert _better(found_again, None, None).kept
    better = Ordering((1, 0, 2), 0.6, 0.5, "greedy")
    assert _better(better, None, None) is better
    precedence = np.array([[0.0, -9.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    both = Ordering((1, 0, 2), 0.1, 0.5, "greedy", "both")
    assert _better(both, precedence, None) is both  # precedence outweighs the lower coherence


def test_only_who_asks_gets_the_given_order() -> None:
    """A search that finds less than the given order: greedy, on texts of a random model."""
    model, kept = create_model("random"), 0
    for document in synthetic(30, 14):
        best = order_document(model, document, search="beam", beam=200)
        ordered = document.reorder(best.order)
        plain = order_document(model, ordered, search="greedy")
        safe = order_document(model, ordered, search="greedy", keep_given=True)
        assert not plain.kept
        assert (safe.value or 0) >= (plain.value or 0) - 1e-9
        kept += safe.kept
    assert kept


def test_weft_order_says_that_it_kept_the_order() -> None:
    document = Document("d", tuple(synthetic(1, 14)[0].sentences))
    best = weft.order(document, model="random", search="beam", beam=200)
    again = weft.order(document.reorder(best.order), model="random", search="greedy")
    assert (again.value or 0) >= (best.value or 0) - 1e-9
    assert again.to_dict()["kept"] is again.kept
