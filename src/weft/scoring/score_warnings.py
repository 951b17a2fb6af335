"""Why a text has no score, and what a model says about a text."""

from __future__ import annotations

from weft.document import Document
from weft.protocols import RemarkingModel

ONE_SENTENCE = "no score: the text has one sentence, and a score needs two or more"
NO_SENTENCE = "no score: the text has no sentence"
NOTHING_TO_JUDGE = "no score: the model finds nothing to judge in the text"


def warnings_of(model: object, document: Document, value: float | None) -> tuple[str, ...]:
    """Return why a text has no score, and what the model says about the text.

    Example:
        >>> warnings_of(object(), Document("d", ("Hello.",)), None)
        ('no score: the text has one sentence, and a score needs two or more',)
    """
    if len(document) < 2:
        return (ONE_SENTENCE if len(document) else NO_SENTENCE,)
    found = model.remarks(document) if isinstance(model, RemarkingModel) else ()
    if value is not None:
        return found
    return (f"no score: {found[0]}", *found[1:]) if found else (NOTHING_TO_JUDGE,)
