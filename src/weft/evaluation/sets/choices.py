"""Questions with one right choice: the outcome that the tasks `endings`, `sp` and `bso` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.evaluation.result import Measure
from weft.evaluation.task_contract import Outcome


@dataclass(frozen=True, slots=True)
class Question:
    """A text with several choices.

    Attributes:
        id: Name of the text.
        length: Number of its sentences.
        right: Number of the right choice, from 0.
    """

    id: str
    length: int
    right: int


def choices_outcome(chosen: Sequence[Sequence[int]], questions: Sequence[Question]) -> Outcome:
    """Return the share of questions whose only best choice is the right one.

    Args:
        chosen: For every question, the choices that score highest; several of them are a tie, which is wrong.
        questions: The questions.

    Example:
        >>> questions = [Question("a", 5, right=1), Question("b", 5, right=0)]
        >>> found = choices_outcome([[1], [0, 1]], questions)
        >>> found.measures["accuracy"].numerators, found.ties
        ((1.0, 0.0), 1)
    """
    right = tuple(float(list(best) == [one.right]) for best, one in zip(chosen, questions, strict=True))
    return Outcome(
        measures={"accuracy": Measure(right, (1.0,) * len(questions))},
        documents=[question.id for question in questions],
        lengths=[question.length for question in questions],
        n_pairs=len(questions),
        ties=sum(len(best) > 1 for best in chosen),
    )
