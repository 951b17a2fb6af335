"""All that can be said about a model's score: percentiles, shuffles beaten, breaks and warnings."""

from __future__ import annotations

from dataclasses import replace

from weft.corpora.text.text_limits import readable
from weft.document import Document, Score, weak_links
from weft.protocols import (
    BreakModel,
    CalibratedModel,
    CoherenceModel,
    CombinableModel,
    FluencyModel,
    ShuffleJudge,
)
from weft.scoring.genre_choice import choose_genre
from weft.scoring.percentiles import placed
from weft.scoring.score_warnings import warnings_of

LOG_PROBABILITIES = (-8.0, 0.0)  # bars of uni and bi: log-probabilities per token


def completed(score: Score, document: Document, model: CoherenceModel, name: str, genre: str = "") -> Score:
    """Return a model's score of a document with all that can be said about it.

    Args:
        score: The score as the model gave it.
        document: The text; the model has read as much of it as `weft.corpora.text.text_limits` allows.
        model: The model.
        name: Its name for results and messages.
        genre: Genre of the text; empty to take that of the document, or to guess it.
    """
    warnings = warnings_of(model, document, score.value)
    found = replace(score, document=document, model=name, warnings=warnings, bar_range=_bar_range(model))
    if score.value is None:
        return found
    read = readable(document)
    found = _with_breaks(found, read, model)
    if isinstance(model, ShuffleJudge):
        found = replace(found, shuffles_beaten=model.shuffles_beaten(read))
    if isinstance(model, FluencyModel):
        found = replace(found, fluency=model.fluency(read))
    reference = model.reference if isinstance(model, CalibratedModel) else None
    if reference is None:
        return found
    choice = choose_genre(reference, document, genre)
    found = replace(found, genre=choice.name, genre_guessed=choice.guessed, genre_probability=choice.probability)
    return placed(found, reference, len(document), choice.key)


def _bar_range(model: CoherenceModel) -> tuple[float, float]:
    """Return the values whose bars are empty and full, the same for all texts."""
    conditional = isinstance(model, CombinableModel) and model.combine != "mmi"
    return LOG_PROBABILITIES if conditional else model.card.bar_range


def _with_breaks(score: Score, document: Document, model: CoherenceModel) -> Score:
    """Return a score with the gaps that the model marks; one that has no threshold yet marks none."""
    if not isinstance(model, BreakModel):
        return replace(score, breaks=weak_links(score.transitions))
    calibration, probabilities = model.break_calibration, model.break_probabilities(document)
    if calibration is None:
        return replace(score, break_probabilities=probabilities)
    marked, threshold = calibration.marks(probabilities), calibration.threshold
    return replace(score, breaks=marked, break_probabilities=probabilities, break_threshold=threshold)
