"""After an edit only what changed is computed; caches are bounded, whatever is scored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.helpers.toy_language_model import CacheBigram

from weft.document import Document, Window
from weft.scoring.known_pairs import PairMemory
from weft.scoring.uni_bi_mmi import CACHED_BYTES, LONG_STEP_PAIRS, STEP_PAIRS, Scorer, table_cache

TEXT = Document("d", ("a b c", "b c", "c d d a", "a", "b d", "c"))
PARTS = CacheBigram(["a b c", "b c d", "a a"], cache=0.3)


class Counting:
    """A sentence model that counts the windows it computes."""

    def __init__(self) -> None:
        self.windows: list[Window] = []

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        self.windows += windows
        return PARTS.log_prob(windows)

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        return PARTS.token_counts(sentences)


def edited(document: Document, place: int, sentence: str) -> Document:
    sentences = list(document.sentences)
    sentences[place] = sentence
    return Document(document.id, tuple(sentences))


def test_after_an_edit_two_pairs_are_computed_and_the_score_is_the_same() -> None:
    forward = Counting()
    scorer = Scorer(forward, PARTS, PARTS, known=PairMemory())
    scorer.score([TEXT])
    forward.windows.clear()
    changed = edited(TEXT, 2, "d d")
    (score,) = scorer.score([changed])
    assert forward.windows == [Window(("b c",), "d d"), Window(("d d",), "a")]
    assert score == Scorer(PARTS, PARTS, PARTS).score([changed])[0]


def test_a_table_in_steps_is_the_table_at_once_and_after_an_edit_needs_one_row_and_one_column() -> None:
    forward = Counting()
    scorer = Scorer(forward, PARTS, PARTS, known=PairMemory())
    assert len(list(scorer.table_steps(TEXT))) == -(-30 // STEP_PAIRS)
    computed = len(forward.windows)
    assert np.array_equal(scorer.pair_table(TEXT), Scorer(PARTS, PARTS, PARTS).pair_table(TEXT))
    assert len(forward.windows) == computed == 30
    changed = edited(TEXT, 5, "d")
    assert len(list(scorer.table_steps(changed))) == 1
    assert len(forward.windows) == computed + 10
    assert list(Scorer(forward, PARTS, PARTS).table_steps(TEXT)) == []


def test_a_long_text_in_steps_scores_as_at_once() -> None:
    long = Document("long", tuple(f"a b {number}" for number in range(2 * LONG_STEP_PAIRS + 2)))
    forward = Counting()
    scorer = Scorer(forward, PARTS, PARTS, known=PairMemory())
    assert len(list(scorer.score_steps(long))) == 3
    computed = len(forward.windows)
    assert scorer.score([long]) == Scorer(PARTS, PARTS, PARTS).score([long])
    assert len(forward.windows) == computed == len(long) - 1


def test_the_memory_of_pairs_is_bounded_and_has_no_text() -> None:
    memory = PairMemory(limit=3)
    scorer = Scorer(PARTS, PARTS, PARTS, known=memory)
    for word in "abcdefgh":
        scorer.score([Document("d", (f"{word} secret", "b", f"{word} c"))])
    kept = [value for value in vars(memory).values() if isinstance(value, dict)]
    assert [len(known) for known in kept] == [3, 3]
    assert b"secret" not in b"".join(key for known in kept for key in known)


def test_tables_of_long_texts_are_dropped_before_they_fill_the_memory() -> None:
    cache = table_cache()
    scorer = Scorer(PARTS, PARTS, PARTS, memory=cache)
    large = scorer._table_log_probs([f"a {number}" for number in range(30)])
    for number in range(2 * CACHED_BYTES // large.nbytes):
        cache.get((f"text {number}",), lambda: large)
    assert cache.total <= CACHED_BYTES
    assert ("text 0",) not in cache and (f"text {number}",) in cache


@pytest.mark.parametrize("texts", [[TEXT], [TEXT, edited(TEXT, 0, "d"), Document("one", ("a",)), Document("none", ())]])
def test_a_remembering_scorer_scores_batches_as_others_do(texts: list[Document]) -> None:
    scorer = Scorer(PARTS, PARTS, PARTS, known=PairMemory())
    assert scorer.score(texts) == scorer.score(texts) == Scorer(PARTS, PARTS, PARTS).score(texts)
