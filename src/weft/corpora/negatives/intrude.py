"""Texts with one sentence that does not belong: from another text, or from elsewhere in the same text.

The beginning of a text, at most `KEPT` sentences, gets one more sentence between two others. The text, the sentence and
the place are pure functions of (seed, document ids), so they are the same for every model and machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from weft.document import Document
from weft.io.seeded_hash import hash_order

KEPT = 11  # sentences that are kept of a text: 12 with the intruder
LEAST = 8  # sentences of the shortest texts that are used
FEWEST_WORDS = 5  # words of the shortest intruders: "Yes." belongs nearly anywhere


@dataclass(frozen=True, slots=True)
class Intruded:
    """A text with an intruder.

    Attributes:
        document: The text, with the intruder.
        place: The index of the intruder; never that of the first or the last sentence.
        source: The id of the text that the intruder comes from.
    """

    document: Document
    place: int
    source: str


def beginning(document: Document) -> Document | None:
    """Return the first sentences of a text, those that get an intruder; None for a text that is too short."""
    return document.reorder(range(min(KEPT, len(document)))) if len(document) >= LEAST else None


def with_stranger(document: Document, others: Sequence[Document], *, seed: int = 1) -> Intruded | None:
    """Return the beginning of a text with a sentence of another text.

    Args:
        document: The text.
        others: Texts of the same kind; those of the same work (`same_work`) are not used.
        seed: Seed of the choice.

    Returns:
        The text with the intruder; None if it is too short, or if no other text has a sentence of `FEWEST_WORDS`.

    Example:
        >>> text = Document("a", tuple(f"This is sentence number {n}." for n in range(9)))
        >>> other = Document("b", ("A stranger came into the village.",))
        >>> found = with_stranger(text, [text, other])
        >>> len(found.document), found.document.sentences[found.place], found.source
        (10, 'A stranger came into the village.', 'b')
    """
    kept = beginning(document)
    if kept is None:
        return None
    for number in hash_order(len(others), seed, document.id, "stranger"):
        other = others[number]
        if not same_work(document, other):
            sentence = _chosen(other.sentences, document, (seed, document.id, "stranger", other.id))
            if sentence is not None:
                return _put_in(kept, sentence, other.id, (seed, document.id, "stranger"))
    return None


def with_own_sentence(document: Document, *, seed: int = 1) -> Intruded | None:
    """Return the beginning of a text with a sentence from further on in the same text.

    The sentence that follows the beginning is not used. The result is None for a text of fewer than `KEPT` + 2
    sentences, or without a sentence of `FEWEST_WORDS` there.

    Example:
        >>> text = Document("a", tuple(f"This is sentence number {n}." for n in range(13)))
        >>> found = with_own_sentence(text)
        >>> found.document.sentences[found.place], len(found.document)
        ('This is sentence number 12.', 12)
    """
    kept = beginning(document)
    if kept is None:
        return None
    seeds = (seed, document.id, "elsewhere")
    sentence = _chosen(document.sentences[KEPT + 1 :], kept, seeds)
    return None if sentence is None else _put_in(kept, sentence, document.id, seeds)


def same_work(one: Document, other: Document) -> bool:
    """Return whether two texts are parts of one work: equal titles, or equal ids up to ``@``, ``#`` marks of excerpts.

    Example:
        >>> same_work(Document("novel@0", ("A.",)), Document("novel@40", ("B.",)))
        True
    """
    return bool(one.title and one.title == other.title) or _work(one.id) == _work(other.id)


def _work(name: str) -> str:
    return name.split("@")[0].split("#")[0]


def _chosen(sentences: Sequence[str], document: Document, seeds: tuple[object, ...]) -> str | None:
    """Return a sentence that is long enough and is not in the document."""
    for number in hash_order(len(sentences), *seeds, "sentence"):
        if len(sentences[number].split()) >= FEWEST_WORDS and sentences[number] not in document.sentences:
            return sentences[number]
    return None


def _put_in(kept: Document, sentence: str, source: str, seeds: tuple[object, ...]) -> Intruded:
    place = 1 + hash_order(len(kept) - 1, *seeds, "place")[0]
    sentences = (*kept.sentences[:place], sentence, *kept.sentences[place:])
    return Intruded(Document(kept.id, sentences, kept.title), place, source)


def by_group(documents: Iterable[Document], groups: Mapping[str, str]) -> dict[str, list[Document]]:
    """Return the documents of each group, such as a genre; documents without a group form one together."""
    found: dict[str, list[Document]] = {}
    for document in documents:
        found.setdefault(groups.get(document.id, ""), []).append(document)
    return found


def fingerprint_intruders(items: Iterable[Intruded | None]) -> str:
    """Return a hash of all texts with intruders and of the places of the intruders."""
    digest = hashlib.sha256()
    for item in items:
        parts = None if item is None else [item.document.id, item.place, item.source, item.document.sentences]
        digest.update(json.dumps(parts).encode("utf-8"))
    return digest.hexdigest()
