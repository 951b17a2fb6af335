"""The task `endings`: choose the right ending of a story (Story Cloze Test, Mostafazadeh et al. 2016).

A model scores the story with each ending; nothing is learned from the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.corpora.readers.jsonl import Record
from weft.document import Document
from weft.evaluation.metrics import best_alone
from weft.evaluation.sets.choices import Question, choices_outcome
from weft.evaluation.sets.records import id_of, label_of, read_items, sentences_of
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer

STORIES_AT_ONCE = 16
FORM = '{"id": …, "context": [sentences], "endings": [two or more sentences], "label": number of the right one, from 0}'


@dataclass(frozen=True, slots=True)
class Story:
    """The beginning of a story and its endings, one of which is right."""

    id: str
    context: tuple[str, ...]
    endings: tuple[str, ...]
    right: int

    def texts(self) -> list[Document]:
        """Return the story with each ending."""
        return [Document(f"{self.id}:{number}", (*self.context, one)) for number, one in enumerate(self.endings)]


def measure_endings(
    subject: Subject,
    data: DataFile,
    options: EvaluateOptions,  # noqa: ARG001  part of the contract
    progress: Progress,
) -> Outcome:
    """Score every story with each of its endings."""
    return choose_endings(subject.model, read_items(data, FORM, _story), progress=progress)


def _story(record: Record) -> Story:
    endings = sentences_of(record, "endings", least=2)
    return Story(id_of(record), sentences_of(record, "context"), endings, label_of(record, range(len(endings))))


def choose_endings(model: DocumentScorer, stories: Sequence[Story], *, progress: Progress = silent) -> Outcome:
    """Score every story with each of its endings.

    Returns:
        ``accuracy``: the share of stories whose right ending scores strictly highest.

    Example:
        >>> from weft.registry import create_model
        >>> story = Story("s", ("He was born in 1800.",), ("He died in 1790.", "He died in 1870."), 1)
        >>> choose_endings(create_model("year-sort"), [story]).measures["accuracy"].numerators
        (1.0,)
    """
    chosen: list[list[int]] = []
    for start in range(0, len(stories), STORIES_AT_ONCE):
        batch = stories[start : start + STORIES_AT_ONCE]
        values = iter([score.value for score in model.score([text for story in batch for text in story.texts()])])
        chosen += [best_alone([next(values) for _ in story.endings]) for story in batch]
        progress("choosing endings", len(chosen), len(stories))
    return choices_outcome(chosen, [Question(story.id, len(story.context) + 1, story.right) for story in stories])
