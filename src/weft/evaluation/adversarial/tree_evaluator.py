"""Boosted trees over features of a chunk: evaluators of a different kind, to check the ranking by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.evaluation.adversarial.features import Reals, SentenceFeatures, SentenceScores, chunk_features
from weft.evaluation.adversarial.opponents import Bout
from weft.evaluation.adversarial.token_rows import Whole
from weft.evaluation.adversarial.verdicts import Verdicts

ROUNDS, RATE, LEAVES = 1000, 0.1, 31
FEW_ROUNDS = 100  # for a few features
Tables = dict[tuple[str, str], Reals]  # features of the chunks of a side and a part


def judge_by_features(
    bout: Bout, known: SentenceFeatures, scores: SentenceScores | None, shared: int, *, seed: int
) -> Verdicts:
    """Train boosted trees, take as many as serve the dev part best, and ask them about dev and test.

    Args:
        bout: Human chunks and their opponents.
        known: Features of its sentences.
        scores: What the networks say of sentences, for an evaluator that is to know it.
        shared: How many of the sentences, at the beginning, people wrote.
        seed: Of the trees.
    """
    scored = None if scores is None else (scores, scores.alone(bout.rows, shared))
    tables = _tables(bout, lambda chunks: chunk_features(chunks, known, bout.rows, scored))
    return _judged(tables, ROUNDS, seed)


def judge_by_lengths(bout: Bout, *, seed: int) -> Verdicts:
    """The same by nothing but how many tokens each sentence of a chunk has: what may be known before reading."""
    return _judged(_tables(bout, lambda chunks: bout.rows.lengths[chunks].astype(np.float32)), FEW_ROUNDS, seed)


def _tables(bout: Bout, features: Callable[[Whole], Reals]) -> Tables:
    return {
        (side, part): features(chunks[part])
        for side, chunks in (("human", bout.human), ("machine", bout.machine))
        for part in ("train", "dev", "test")
    }


def _judged(tables: Tables, rounds: int, seed: int) -> Verdicts:
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(
        max_iter=rounds, learning_rate=RATE, max_leaf_nodes=LEAVES, early_stopping=False, random_state=seed
    )
    trees.fit(*_both(tables, "train"))
    features, labels = _both(tables, "dev")
    losses = [float(np.logaddexp(0, np.where(labels, -odds, odds)).mean()) for odds in _staged(trees, features)]
    best = int(np.argmin(losses))
    found = [{part: _at(trees, tables[side, part], best) for part in ("dev", "test")} for side in ("human", "machine")]
    right = float(np.mean(np.concatenate([found[0]["dev"] > 0, found[1]["dev"] <= 0])))
    return Verdicts(found[0], found[1], {"trees": best + 1, "dev": {"loss": losses[best], "accuracy": right}})


def _both(tables: Tables, part: str) -> tuple[Reals, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    human, machine = tables["human", part], tables["machine", part]
    labels = np.concatenate([np.ones(len(human), dtype=np.int64), np.zeros(len(machine), dtype=np.int64)])
    return np.concatenate([human, machine]), labels


def _staged(trees: object, features: Reals) -> list[Reals]:
    return [odds.ravel() for odds in trees.staged_decision_function(features)]  # type: ignore[attr-defined]


def _at(trees: object, features: Reals, best: int) -> Reals:
    """Log-odds of being human after the best number of trees: [chunks]."""
    for number, odds in enumerate(trees.staged_decision_function(features)):  # type: ignore[attr-defined]
        if number == best:
            return odds.ravel().astype(np.float32)  # type: ignore[no-any-return]
    raise AssertionError("there are as many stages as trees")
