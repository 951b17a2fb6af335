"""A document together with its negatives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from weft.corpora.text.text_limits import readable, readable_sentence
from weft.document import Document


@dataclass(frozen=True, slots=True)
class Replacement:
    """A sentence to put at the position of one of a document's sentences; `replace_sentence` applies it."""

    position: int
    sentence: str


@dataclass(frozen=True, slots=True)
class PermutedDocument:
    """A document and its negatives.

    Attributes:
        document: The original.
        orders: Permutations of its sentence indices. An order may omit sentences; it is then compared with the
            document restricted to the same sentences.
        replacements: Replacements of single sentences.
    """

    document: Document
    orders: tuple[tuple[int, ...], ...]
    replacements: tuple[Replacement, ...] = ()


def readable_negatives(item: PermutedDocument) -> PermutedDocument:
    """Return a document and its negatives with what models read of their sentences.

    Example:
        >>> found = readable_negatives(PermutedDocument(Document("d", ("It rained.", "and then " * 1000)), ((1, 0),)))
        >>> [len(sentence) for sentence in found.document.sentences]
        [10, 3999]
    """
    changed = (replace(one, sentence=readable_sentence(one.sentence)) for one in item.replacements)
    return replace(item, document=readable(item.document), replacements=tuple(changed))


def fingerprint_orders(documents: Iterable[PermutedDocument]) -> str:
    """Return a hash of all negatives and document ids.

    Every result records it; two results are comparable if it is the same.
    """
    digest = hashlib.sha256()
    for item in documents:
        # Documents without replacements hash as before replacements existed, so that old results stay comparable.
        replaced = [[[one.position, one.sentence] for one in item.replacements]] if item.replacements else []
        digest.update(json.dumps([item.document.id, item.orders, *replaced]).encode("utf-8"))
    return digest.hexdigest()
