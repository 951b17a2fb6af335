"""Why a text has no score, what a model says about a text, and why its score means little."""

from __future__ import annotations

from weft.corpora.text.text_limits import readable
from weft.corpora.text.text_warnings import FEW_SENTENCES, text_warnings
from weft.document import Document, TextWarning
from weft.protocols import RemarkingModel

FEWEST = 2  # sentences of a text that has a transition
NO_SCORE, REMARK = "no-score", "model"  # codes; a remark is what a model itself says about a text
ONE_SENTENCE = TextWarning(
    NO_SCORE,
    "no score: the text has one sentence, and a score needs two or more; if each line is a sentence, pass `sentences`",
)
NO_SENTENCE = TextWarning(NO_SCORE, "no score: the text has no sentence")
NOTHING_TO_JUDGE = TextWarning(NO_SCORE, "no score: the model finds nothing to judge in the text")


def warnings_of(model: object, document: Document, value: float | None) -> tuple[TextWarning, ...]:
    """Return why a text has no score, what the model says about the text, and why a score of it would mean little.

    Example:
        >>> [warning.code for warning in warnings_of(object(), Document("d", ("Hello.",)), None)]
        ['no-score']
    """
    general = [one for one in text_warnings(document) if len(document) >= FEWEST or one != FEW_SENTENCES]
    said = {warning.code for warning in general}
    return (*(one for one in _model_warnings(model, document, value) if one.code not in said), *general)


def _model_warnings(model: object, document: Document, value: float | None) -> tuple[TextWarning, ...]:
    if len(document) < FEWEST:
        return (ONE_SENTENCE if len(document) else NO_SENTENCE,)
    remarks = model.remarks(readable(document)) if isinstance(model, RemarkingModel) else ()
    found = tuple(one if isinstance(one, TextWarning) else TextWarning(REMARK, one) for one in remarks)
    if value is not None:
        return found
    return (TextWarning(NO_SCORE, f"no score: {found[0]}"), *found[1:]) if found else (NOTHING_TO_JUDGE,)
