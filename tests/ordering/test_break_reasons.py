"""Reasons for breaks, from tables whose cause is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from tests.helpers.scorers import OracleTable, OracleWhole, TestScorer, synthetic

from weft.document import Document, Score
from weft.ordering.break_reasons import break_reasons, gives_reasons
from weft.registry import create_model


class Subjects(TestScorer):
    """Links sentences of one subject, which is their first word, strongly, and others weakly."""

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        subjects = [sentence.split()[0] for sentence in document.sentences]
        noise = np.random.default_rng(1).normal(0, 0.05, (len(subjects), len(subjects)))
        table: npt.NDArray[np.float64] = noise + [[float(one == other) for other in subjects] for one in subjects]
        return table

    def score(self, documents: Sequence[Document]) -> list[Score]:
        raise NotImplementedError


def reasons(subjects: str, gap: int) -> list[tuple[str, int]]:
    document = Document("d", tuple(f"{subject} {number}" for number, subject in enumerate(subjects)))
    found = break_reasons(Subjects(), document, [gap])
    return [(reason.code, reason.sentence) for reason in found.values()]


def test_a_sentence_of_another_subject_is_foreign_on_both_sides() -> None:
    assert reasons("aaabaaa", 2) == reasons("aaabaaa", 3) == [("foreign", 3)]


def test_a_second_subject_starts_the_text_over() -> None:
    assert reasons("aaaabbbb", 3) == [("restart", 4)]
    assert reasons("aaaaaaaa", 3) == []


def test_a_moved_sentence_is_sent_back() -> None:
    (document,) = synthetic(1, 8)
    moved = document.reorder([0, 1, 2, 6, 3, 4, 5, 7])
    found = break_reasons(OracleTable(), moved, [2, 3])
    assert {(reason.code, reason.sentence, reason.after) for reason in found.values()} == {("moved", 3, 6)}
    assert str(found[2]) == "sentence 4 fits better after sentence 7"
    first = break_reasons(OracleTable(), document.reorder([1, 2, 3, 4, 0, 5, 6, 7]), [3])
    assert str(first[3]) == "sentence 5 fits better at the beginning of the text"


@pytest.mark.parametrize("size", [0, 1, 2])
def test_short_texts_have_no_reasons(size: int) -> None:
    document = Document("d", tuple(f"A cat sat {number}." for number in range(size)))
    assert break_reasons(create_model("foltz-sif"), document, range(max(0, size - 1))) == {}


def test_a_model_without_tables_gives_none() -> None:
    (document,) = synthetic(1, 6)
    assert not gives_reasons(OracleWhole()) and not gives_reasons(create_model("year-sort"))
    assert break_reasons(OracleWhole(), document, range(5)) == {}
