"""The task `insertion`: put one sentence back where it was (Elsner & Charniak 2011)."""

from __future__ import annotations

from collections.abc import Sequence

from weft.document import Document
from weft.evaluation.metrics import best_alone
from weft.evaluation.result import Measure
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer
from weft.scoring.uni_bi_mmi import order_values


def measure_insertion(
    subject: Subject,
    data: DataFile,
    options: EvaluateOptions,  # noqa: ARG001  part of the contract
    progress: Progress,
) -> Outcome:
    """Insert every sentence of every document at its best place."""
    return insert_sentences(subject.model, data.documents(), progress=progress)


def insert_sentences(model: DocumentScorer, documents: Sequence[Document], *, progress: Progress = silent) -> Outcome:
    """Remove every sentence of every document in turn, and find the place where it scores highest.

    Returns:
        ``accuracy``: share of sentences whose own place scored strictly highest. ``distance``: mean distance of the
        chosen place from the true one, as a share of the document's length; a tie counts as the farthest place.
        Documents of fewer than two sentences are excluded.

    Example:
        >>> from weft.registry import create_model
        >>> text = Document("d", ("Born in 1800.", "Wed in 1820.", "Died in 1880."))
        >>> insert_sentences(create_model("year-sort"), [text]).measures["accuracy"].numerators
        (3.0,)
    """
    correct, distance, tried, ties = [], [], [], 0
    for number, document in enumerate(documents):
        places = best_places(model, document)
        correct.append(float(sum(best == [own] for own, best in enumerate(places))))
        # Of equal places the farthest counts, so that a constant scorer gains nothing.
        off = [max(abs(own - place) for place in best) for own, best in enumerate(places)]
        distance.append(sum(off) / max(len(document) - 1, 1))
        tried.append(float(len(places)))
        ties += sum(len(best) > 1 for best in places)
        progress("inserting sentences", number + 1, len(documents))
    measures = {
        "accuracy": Measure(tuple(correct), tuple(tried)),
        "distance": Measure(tuple(distance), tuple(tried)),
    }
    return Outcome(
        measures,
        [document.id for document in documents],
        [len(document) for document in documents],
        n_pairs=int(sum(tried)),
        ties=ties,
        n_excluded=sum(not n for n in tried),
    )


def best_places(model: DocumentScorer, document: Document) -> list[list[int]]:
    """Return for every sentence the places that score highest when it is put back; several in case of a tie."""
    size = len(document)
    if size < 2:
        return []
    orders = [_put_back(size, taken, place) for taken in range(size) for place in range(size)]
    values = order_values(model, document, orders)
    return [best_alone(values[taken * size : (taken + 1) * size]) for taken in range(size)]


def _put_back(size: int, taken: int, place: int) -> list[int]:
    rest = [i for i in range(size) if i != taken]
    return [*rest[:place], taken, *rest[place:]]
