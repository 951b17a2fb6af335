"""Lengths of both sides: what they give away, and AdverSuc where they are alike."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from weft.tasks.adversarial.boosting import judge_by_lengths
from weft.tasks.adversarial.lengths import like_lengths, tokens_a_sentence
from weft.tasks.adversarial.opponents import Bout
from weft.tasks.adversarial.rows import IdRows
from weft.tasks.adversarial.verdicts import Verdicts, measured

PARTS = ("train", "dev", "test")


def bout_of(human: list[int], machine: list[int]) -> Bout:
    """Chunks of one turn: sentences as long as asked, after a context of sentences of one token."""
    rows = IdRows.of([[1] * length for length in range(1, 60)])
    sides = [
        {part: np.array([[0, 0, 0, length - 1] for length in lengths]) for part in PARTS}
        for lengths in (human, machine)
    ]
    names = [[f"page {number}" for number in range(len(side))] for side in (human, machine)]
    return Bout(rows, sides[0], sides[1], dict.fromkeys(PARTS, (names[0], names[1])))


def test_mean_lengths_are_those_of_the_continuations() -> None:
    assert tokens_a_sentence(bout_of([10, 20], [5, 6])) == (15.0, 5.5)


def test_weights_give_the_opponent_the_lengths_of_people() -> None:
    generator = np.random.default_rng(1)
    human, machine = generator.integers(20, 50, 4000), np.clip(generator.normal(22, 8, 4000).astype(int), 1, 58)
    weights = like_lengths(bout_of(human.tolist(), machine.tolist()))
    assert machine.mean() == pytest.approx(22, abs=1) and human.mean() == pytest.approx(34.5, abs=1)
    assert np.average(machine, weights=weights) == pytest.approx(human.mean(), abs=1)
    assert weights[machine < 15].max() == 0, "where people write none, the opponent does not count"
    assert like_lengths(bout_of(human.tolist(), human.tolist())) == pytest.approx(np.ones(4000))


def test_adversuc_by_like_lengths_weighs_chunks() -> None:
    """Long machine chunks pass, short ones do not; people write long ones three times as often."""
    bout = bout_of([50, 50, 50, 5], [50, 5, 5, 5])
    odds = np.array([1.0, -1.0, -1.0, -1.0], dtype=np.float32)
    human = {"dev": np.array([1.0, 1.0, -1.0, -1.0], dtype=np.float32), "test": np.ones(4, dtype=np.float32)}
    machine = {"dev": np.array([1.0, 1.0, -1.0, -1.0], dtype=np.float32), "test": odds}
    pages = [f"page {number}" for number in range(4)]
    found = measured(bout, [Verdicts(human, machine, {})], 1, pages)
    plain, matched = found["adversuc_1"], found["matched_adversuc_1"]
    assert sum(plain.numerators) / sum(plain.denominators) == 0.25
    assert sum(matched.numerators) / sum(matched.denominators) == pytest.approx(0.75)


def test_lengths_alone_tell_long_from_short_and_nothing_from_the_same() -> None:
    generator = np.random.default_rng(2)
    long, short = generator.integers(30, 50, 300).tolist(), generator.integers(5, 25, 300).tolist()
    told = judge_by_lengths(bout_of(long, short), seed=1)
    assert told.taken("machine", "test").mean() < 0.02 and told.taken("human", "test").mean() > 0.98
    alike = judge_by_lengths(bout_of(long, long), seed=1)
    assert alike.taken("machine", "test").mean() == pytest.approx(0.5, abs=0.02)
