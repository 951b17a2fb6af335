"""Documents with one damage and the gaps where they break: an intruding sentence, or another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from weft.corpora.negatives.damaged_windows import CHANGE_SHARES, CHANGES, changed_order
from weft.document import Document

INTRUDERS = 0.5  # share of the copies with an intruding sentence; the others have another order


@dataclass(frozen=True, slots=True)
class DamagedDocument:
    """A damaged copy of a document.

    Attributes:
        document: The copy.
        broken: Whether the text breaks after each sentence but the last. None: one sentence was taken out there, and
            such a gap often reads well.
    """

    document: Document
    broken: tuple[bool | None, ...]


def damaged_copies(documents: Sequence[Document], *, seed: int = 1) -> Iterator[DamagedDocument]:
    """Yield one damaged copy of each document; intruding sentences come from the next document of the list.

    Example:
        >>> texts = [Document("a", ("A one.", "A two.", "A three.")), Document("b", ("B one.", "B two."))]
        >>> [(one.document.sentences, one.broken) for one in damaged_copies(texts, seed=3)][1]
        (('B one.', 'A two.', 'B two.'), (True, True))
    """
    for number, document in enumerate(documents):
        generator = np.random.default_rng([seed, number])
        other = documents[(number + 1) % len(documents)]
        if other is not document and generator.random() < INTRUDERS:
            stranger = other.sentences[int(generator.integers(len(other)))]
            yield _intruded(document, stranger, int(generator.integers(len(document) + 1)))
        else:
            change = str(generator.choice(CHANGES, p=CHANGE_SHARES))
            yield _reordered(document, changed_order(len(document), change, generator).tolist())


def _intruded(document: Document, sentence: str, place: int) -> DamagedDocument:
    sentences, places = list(document.sentences), list[int | None](range(len(document)))
    sentences.insert(place, sentence)
    places.insert(place, None)
    return DamagedDocument(Document(document.id, tuple(sentences), document.title), _broken(places))


def _reordered(document: Document, order: Sequence[int]) -> DamagedDocument:
    return DamagedDocument(document.reorder(order), _broken(order))


def _broken(places: Sequence[int | None]) -> tuple[bool | None, ...]:
    """Return whether each gap breaks, given the place of each sentence in its text; None for an intruder.

    Example:
        >>> _broken([0, None, 1, 2, 4, 3])
        (True, True, False, None, True)
    """
    labels = {1: False, 2: None}
    return tuple(
        True if left is None or right is None else labels.get(right - left, True) for left, right in pairwise(places)
    )
