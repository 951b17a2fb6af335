"""Boosted trees over features of chunks: evaluators of another kind, to check the ranking of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from weft.evaluation.adversarial.evaluators.features import Floats, SentenceFeatures, SentenceScores, chunk_features
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks
from weft.evaluation.adversarial.token_rows import Integers
from weft.evaluation.adversarial.verdicts import Verdicts

ROUNDS, RATE, LEAVES = 1000, 0.1, 31
FEW_ROUNDS = 100  # for few features
Tables = dict[tuple[str, str], Floats]  # by side and part: features of chunks


def tree_verdicts(
    labelled: LabelledChunks,
    features: SentenceFeatures,
    scored: tuple[SentenceScores, Floats] | None = None,
    *,
    seed: int,
) -> Verdicts:
    """Train boosted trees, keep as many as are best on the dev part, and return their verdicts.

    An informed evaluator has ``scored``: the reader's networks, and their scores of all sentences alone [sentences].
    """
    tables = _tables(labelled, lambda chunks: chunk_features(chunks, features, labelled.rows, scored))
    return _train(tables, ROUNDS, seed)


def length_verdicts(labelled: LabelledChunks, *, seed: int) -> Verdicts:
    """Train boosted trees on the lengths of sentences alone, and return their verdicts."""
    return _train(_tables(labelled, lambda chunks: labelled.rows.lengths[chunks].astype(np.float32)), FEW_ROUNDS, seed)


def _tables(labelled: LabelledChunks, features: Callable[[Integers], Floats]) -> Tables:
    return {
        (side, part): features(chunks[part])
        for side, chunks in (("human", labelled.human), ("machine", labelled.machine))
        for part in ("train", "dev", "test")
    }


def _train(tables: Tables, rounds: int, seed: int) -> Verdicts:
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


def _both(tables: Tables, part: str) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    human, machine = tables["human", part], tables["machine", part]
    labels = np.concatenate([np.ones(len(human), dtype=np.int64), np.zeros(len(machine), dtype=np.int64)])
    return np.concatenate([human, machine]), labels


def _staged(trees: Any, features: Floats) -> Iterator[Floats]:
    """Return the log-odds of being human after one tree, two trees and so on: [chunks] each."""
    return (odds.ravel() for odds in trees.staged_decision_function(features))


def _at(trees: Any, features: Floats, best: int) -> Floats:
    return next(islice(_staged(trees, features), best, None)).astype(np.float32)
