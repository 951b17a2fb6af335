"""Putting one sentence back where it was (Elsner & Charniak 2011): harder than telling whole permutations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.document import Document
from weft.evaluation.result import Measure
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer
from weft.scoring.pairs import order_values


@dataclass(frozen=True)
class Insertion:
    """What an insertion run found.

    Attributes:
        measures: ``accuracy``: share of sentences whose own place scored strictly highest; ``distance``: mean distance
            of the chosen place from the true one, as a share of the text's length (a tie chooses the farthest).
        n_pairs: Sentences tried.
        ties: Sentences for which another place scored as high as the best.
        n_excluded: Documents with fewer than two sentences.
    """

    measures: dict[str, Measure]
    n_pairs: int
    ties: int
    n_excluded: int


def insert_sentences(model: DocumentScorer, documents: Sequence[Document], *, progress: Progress = silent) -> Insertion:
    """Take every sentence out of every document in turn and look where the model would put it back.

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
        # A tie must not help: of equal places the farthest counts, so a constant scorer gains nothing.
        off = [max(abs(own - place) for place in best) for own, best in enumerate(places)]
        distance.append(sum(off) / max(len(document) - 1, 1))
        tried.append(float(len(places)))
        ties += sum(len(best) > 1 for best in places)
        progress("putting sentences back", number + 1, len(documents))
    measures = {
        "accuracy": Measure(tuple(correct), tuple(tried)),
        "distance": Measure(tuple(distance), tuple(tried)),
    }
    return Insertion(measures, int(sum(tried)), ties, sum(not n for n in tried))


def best_places(model: DocumentScorer, document: Document) -> list[list[int]]:
    """For every sentence, the places that score highest when it is put back; more than one means a tie."""
    size = len(document)
    if size < 2:
        return []
    orders = [_put_back(size, taken, place) for taken in range(size) for place in range(size)]
    # An undefined score can only lose, wherever it stands.
    scores = order_values(model, document, orders)
    values = [float("-inf") if value is None or value != value else value for value in scores]
    rows = [values[taken * size : (taken + 1) * size] for taken in range(size)]
    return [[place for place, value in enumerate(row) if value == max(row)] for row in rows]


def _put_back(size: int, taken: int, place: int) -> list[int]:
    rest = [i for i in range(size) if i != taken]
    return [*rest[:place], taken, *rest[place:]]
