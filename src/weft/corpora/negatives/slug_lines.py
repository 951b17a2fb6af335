"""News reports without their slug lines: what the agency wrote above the text, which always comes first.

The earthquake reports of Barzilay and Lapata begin with a line such as ``BC-Taiwan-Earthquake|Quake Jolts Taiwan``.
Sentence splitting cuts a long one into several "sentences". The text itself begins with a dateline, ``TAIPEI, Taiwan
(AP)``.
"""

from __future__ import annotations

import re

from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.document import Document

DATELINE = re.compile(r"\((AP|Kyodo)\)|-LRB- AP -RRB-", re.IGNORECASE)
HIGHEST = 4  # a dateline after this many sentences is not that of the report


def slug_length(document: Document) -> int:
    """Return the number of sentences before the text: those before the dateline, or 1 if none has a dateline.

    Example:
        >>> slug_length(Document("d", ("BC-Quake|Eds: NEW lead.", "No pickup..", "ROME (AP) It shook.", "Fine.")))
        2
    """
    lines = document.sentences[:HIGHEST]
    dated = (number for number, line in enumerate(lines) if DATELINE.search(line))
    return max(next(dated, 1), 1)


def drop_slug(item: PermutedDocument) -> PermutedDocument:
    """Return a report and its permutations without the slug lines; permutations that then equal the text are left out.

    Example:
        >>> report = Document("d", ("BC-Quake|Quake.", "ROME (AP) It shook.", "No one fell."))
        >>> short = drop_slug(PermutedDocument(report, ((1, 0, 2), (2, 0, 1))))
        >>> short.document.sentences, short.orders
        (('ROME (AP) It shook.', 'No one fell.'), ((1, 0),))
    """
    cut = slug_length(item.document)
    shorter = Document(item.document.id, item.document.sentences[cut:])
    orders = (tuple(number - cut for number in order if number >= cut) for order in item.orders)
    return PermutedDocument(shorter, tuple(order for order in orders if order != tuple(sorted(order))))
