from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from tests.helpers.toy_language_model import CacheBigram

from weft.document import Document, Window
from weft.errors import ConfigError
from weft.protocols import PairwiseModel
from weft.scoring.sequence_scorer import SequenceScorer
from weft.scoring.uni_bi_mmi import Combine, Scorer, Table, order_values, path_value

TEXT = Document("d", ("a b c", "b c", "c d d a", "a"))
FORWARD = CacheBigram(["a b c", "b c d", "a a"], cache=0.3)
BACKWARD = CacheBigram(["c d", "d a b", "b"], cache=0.5)
PRIOR = CacheBigram(["a b", "c d a"])


def by_hand(combine: str, left: str, right: str) -> float:
    """The paper's equations, written out slowly (N counts </s>)."""
    n_left, n_right = len(left.split()) + 1, len(right.split()) + 1
    forward = FORWARD.log_prob([Window((left,), right)])[0]
    backward = BACKWARD.log_prob([Window((right,), left)])[0]
    prior_left, prior_right = PRIOR.log_prob([Window((), left), Window((), right)])
    if combine == "uni":
        return forward / n_right
    if combine == "bi":
        return backward / n_left + forward / n_right
    return (backward - prior_left) / n_left + (forward - prior_right) / n_right


@pytest.mark.parametrize("combine", ["uni", "bi", "mmi"])
def test_the_three_scores_are_the_equations(combine: Combine) -> None:
    scorer = Scorer(FORWARD, BACKWARD, PRIOR, combine)
    expected = [by_hand(combine, TEXT.sentences[i], TEXT.sentences[i + 1]) for i in range(3)]
    score = scorer.score([TEXT])[0]
    assert score.transitions == pytest.approx(expected)
    assert score.value == pytest.approx(np.mean(expected))
    table = scorer.pair_table(TEXT)
    for i, left in enumerate(TEXT.sentences):
        for j, right in enumerate(TEXT.sentences):
            if i != j:
                assert table[i, j] == pytest.approx(by_hand(combine, left, right))


def test_a_scorer_is_pairwise_and_orders_are_look_ups() -> None:
    scorer = Scorer(FORWARD, BACKWARD, PRIOR)
    assert isinstance(scorer, PairwiseModel)
    orders = [(3, 1, 0, 2), (0, 1, 2, 3), (2, 0)]
    looked_up = [path_value(scorer.pair_table(TEXT), order) for order in orders]
    rescored = [scorer.score([TEXT.reorder(order)])[0].value for order in orders]
    assert looked_up == pytest.approx(rescored)


def test_documents_in_a_batch_keep_their_own_parts() -> None:
    scorer = Scorer(FORWARD, BACKWARD, PRIOR)
    together = scorer.score([TEXT, Document("one", ("a",)), TEXT.reorder([1, 0]), Document("none", ())])
    assert together[0] == scorer.score([TEXT])[0]
    assert together[1].value is None
    assert together[3].value is None
    assert together[2] == scorer.score([TEXT.reorder([1, 0])])[0]


def test_missing_parts_are_named() -> None:
    assert Scorer(FORWARD, combine="uni").score([TEXT])[0].value is not None
    with pytest.raises(ConfigError, match="bi needs the backward model"):
        Scorer(FORWARD, combine="bi")
    with pytest.raises(ConfigError, match="mmi needs the prior model"):
        Scorer(FORWARD, BACKWARD)


def test_path_value_is_exact() -> None:
    """The same numbers in another order of summation give the same mean to the last bit."""
    table = np.random.default_rng(0).normal(size=(40, 40))
    table = (table + table.T) / 2
    order = list(range(40))
    assert path_value(table, order) == path_value(table, order[::-1])


def test_order_values_of_short_orders_are_null() -> None:
    assert order_values(Scorer(FORWARD, combine="uni"), TEXT, [(), (1,)]) == [None, None]


class Remembering:
    """A toy bigram model as a model that reads all sentences before, of which it uses the last."""

    def __init__(self, model: CacheBigram) -> None:
        self.model = model

    def log_probs(self, sentences: Sequence[str], orders: Sequence[Sequence[int]]) -> list[Table]:
        return [
            np.array(self.model.log_prob([Window((sentences[i],), sentences[j]) for i, j in pairwise(order)]))
            for order in orders
        ]

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        return list(self.model.token_counts(sentences))


@pytest.mark.parametrize("combine", ["uni", "bi", "mmi"])
def test_models_of_whole_texts_have_the_same_equations(combine: Combine) -> None:
    scorer = SequenceScorer(Remembering(FORWARD), Remembering(BACKWARD), PRIOR, combine)
    expected = [by_hand(combine, left, right) for left, right in pairwise(TEXT.sentences)]
    assert scorer.score([TEXT])[0].transitions == pytest.approx(expected)
    order = (2, 0, 3, 1)
    turned = TEXT.reorder(order)
    expected = [by_hand(combine, left, right) for left, right in pairwise(turned.sentences)]
    assert scorer.order_scores(TEXT, [order]) == pytest.approx([np.mean(expected)])
