"""All that can be said about a model's score: percentiles, shuffles beaten, breaks and warnings."""

from __future__ import annotations

from dataclasses import replace

from weft.document import Document, Score, weak_links
from weft.protocols import BreakModel, CalibratedModel, CoherenceModel, ShuffleJudge
from weft.scoring.percentiles import placed
from weft.scoring.score_warnings import warnings_of


def completed(score: Score, document: Document, model: CoherenceModel, name: str) -> Score:
    """Return a model's score of a document with all that can be said about it.

    Args:
        score: The score as the model gave it.
        document: The text.
        model: The model.
        name: Its name for results and messages.
    """
    found = replace(score, document=document, model=name, warnings=warnings_of(model, document, score.value))
    if score.value is None:
        return found
    found = _with_breaks(found, document, model)
    if isinstance(model, ShuffleJudge):
        found = replace(found, shuffles_beaten=model.shuffles_beaten(document))
    reference = model.reference if isinstance(model, CalibratedModel) else None
    return placed(found, reference, len(document)) if reference is not None else found


def _with_breaks(score: Score, document: Document, model: CoherenceModel) -> Score:
    """Return a score with the gaps that the model marks; one that has no threshold yet marks none."""
    if not isinstance(model, BreakModel):
        return replace(score, breaks=weak_links(score.transitions))
    calibration, probabilities = model.break_calibration, model.break_probabilities(document)
    if calibration is None:
        return replace(score, break_probabilities=probabilities)
    marked, threshold = calibration.marks(probabilities), calibration.threshold
    return replace(score, breaks=marked, break_probabilities=probabilities, break_threshold=threshold)
