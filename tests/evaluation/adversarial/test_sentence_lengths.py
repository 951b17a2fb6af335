"""Lengths of both sides: what they give away, and AdverSuc where they are alike."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from weft.evaluation.adversarial.evaluators.tree_evaluator import length_verdicts
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks, match_lengths, mean_tokens
from weft.evaluation.adversarial.token_rows import TokenRows

PARTS = ("train", "dev", "test")


def bout_of(human: list[int], machine: list[int]) -> LabelledChunks:
    """Chunks of one turn: sentences as long as asked, after a context of sentences of one token."""
    rows = TokenRows.of([[1] * length for length in range(1, 60)])
    sides = [
        {part: np.array([[0, 0, 0, length - 1] for length in lengths]) for part in PARTS}
        for lengths in (human, machine)
    ]
    names = [[f"page {number}" for number in range(len(side))] for side in (human, machine)]
    return LabelledChunks(rows, sides[0], sides[1], dict.fromkeys(PARTS, (names[0], names[1])))


def test_mean_lengths_are_those_of_the_continuations() -> None:
    assert mean_tokens(bout_of([10, 20], [5, 6])) == (15.0, 5.5)


def test_of_every_length_both_sides_are_left_with_equally_many() -> None:
    generator = np.random.default_rng(1)
    human, machine = generator.integers(20, 50, 400), np.clip(generator.normal(22, 8, 300).astype(int), 1, 58)
    labelled = bout_of(human.tolist(), machine.tolist())
    alike = match_lengths(labelled, seed=1)
    room = sum(min((human == length).sum(), (machine == length).sum()) for length in range(60))
    for part in PARTS:
        one, other = (np.sort(side[part][:, 3]) for side in (alike.human, alike.machine))
        assert one.tolist() == other.tolist() and len(one) == room > 50
        for side, names in zip((alike.human[part], alike.machine[part]), alike.pages[part], strict=True):
            assert len(side) == len(names) == len(set(names))  # no chunk twice, and each with its own page
    for place, length in zip(alike.pages["test"][1], alike.machine["test"][:, 3], strict=True):
        assert machine[int(place.removeprefix("page "))] == length + 1
    again, other_seed = match_lengths(labelled, seed=1), match_lengths(labelled, seed=2)
    assert again.pages == alike.pages != other_seed.pages
    same = match_lengths(bout_of(human.tolist(), human.tolist()), seed=1)
    assert len(same.human["test"]) == 400, "nothing is left out where nothing differs"


def test_lengths_alone_tell_long_from_short_and_nothing_from_the_same() -> None:
    generator = np.random.default_rng(2)
    long, short = generator.integers(30, 50, 300).tolist(), generator.integers(5, 25, 300).tolist()
    told = length_verdicts(bout_of(long, short), seed=1)
    assert told.judged_human("machine", "test").mean() < 0.02 and told.judged_human("human", "test").mean() > 0.98
    alike = length_verdicts(bout_of(long, long), seed=1)
    assert alike.judged_human("machine", "test").mean() == pytest.approx(0.5, abs=0.02)
