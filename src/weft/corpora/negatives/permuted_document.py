"""A document together with its negatives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from weft.document import Document


@dataclass(frozen=True, slots=True)
class Replacement:
    """One sentence of a document exchanged for another; `replace_sentence` makes the text."""

    position: int
    sentence: str


@dataclass(frozen=True, slots=True)
class PermutedDocument:
    """A document and its negatives: orders of its sentences, and sentences put in the place of its own.

    An order may leave sentences out; it is then compared with the document restricted to the same sentences.
    """

    document: Document
    orders: tuple[tuple[int, ...], ...]
    replacements: tuple[Replacement, ...] = ()


def fingerprint_orders(documents: Iterable[PermutedDocument]) -> str:
    """A hash of all negatives and their documents' ids, recorded with every result.

    Two results are comparable if it is the same.
    """
    digest = hashlib.sha256()
    for item in documents:
        # Documents without replacements hash as they did before there were any: old results stay comparable.
        exchanged = [[[one.position, one.sentence] for one in item.replacements]] if item.replacements else []
        digest.update(json.dumps([item.document.id, item.orders, *exchanged]).encode("utf-8"))
    return digest.hexdigest()
