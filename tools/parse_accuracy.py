"""Agreement of parses with reference parses.

Words are matched by the characters they cover, so that a different split into words affects only the words concerned; a
word that is not found counts as wrong. Attachment is measured as in spaCy, without words whose reference label is
``punct``.

Reference: Buchholz & Marsi 2006 (attachment scores).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from weft.corpora.syntax.parsed_sentence import ParsedSentence

PUNCTUATION = "punct"
Span = tuple[int, int]


def parse_accuracy(
    right: Iterable[ParsedSentence], found: Iterable[ParsedSentence], *, labels: Sequence[str] = ("nsubj", "dobj")
) -> dict[str, float]:
    """Return tag accuracy, unlabelled and labelled attachment, and the F1 of some labels (head and label right).

    Args:
        right: The reference parses.
        found: The parses to measure, of the same sentences in the same order.
        labels: Labels whose F1 is reported.

    Example:
        >>> words, tags, heads = ("Dogs", "chase", "cats"), ("NNS", "VBP", "NNS"), (1, 1, 1)
        >>> right = ParsedSentence(words, tags, heads, ("nsubj", "ROOT", "dobj"))
        >>> found = ParsedSentence(words, tags, heads, ("nsubj", "ROOT", "pobj"))
        >>> measures = parse_accuracy([right], [found])
        >>> {name: round(value, 2) for name, value in measures.items()}  # doctest: +NORMALIZE_WHITESPACE
        {'tag_accuracy': 1.0, 'uas': 1.0, 'las': 0.67, 'las_with_punctuation': 0.67, 'nsubj_f1': 1.0, 'dobj_f1': 0.0}
    """
    counts: Counter[str] = Counter()
    for one, other in zip(right, found, strict=True):
        _count(counts, _arcs(one), _arcs(other), labels)
    shares = {"tag_accuracy": ("tag", "words"), "uas": ("head", "scored"), "las": ("arc", "scored")}
    shares["las_with_punctuation"] = ("arc_punct", "words")
    measures = {name: _share(counts[part], counts[whole]) for name, (part, whole) in shares.items()}
    for label in labels:
        both = counts[f"{label} right"] + counts[f"{label} found"]
        measures[f"{label}_f1"] = _share(2 * counts[f"{label} agreed"], both)
    return measures


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _arcs(parse: ParsedSentence) -> dict[Span, tuple[str, Span, str]]:
    """Return tag, head and label of each word, by the characters it covers without white space."""
    ends = list(accumulate(len(word) for word in parse.words))
    spans = [(end - len(word), end) for end, word in zip(ends, parse.words, strict=True)]
    columns = zip(spans, parse.tags, parse.heads, parse.labels, strict=True)
    return {span: (tag, spans[head], label) for span, tag, head, label in columns}


def _count(
    counts: Counter[str],
    right: dict[Span, tuple[str, Span, str]],
    found: dict[Span, tuple[str, Span, str]],
    labels: Sequence[str],
) -> None:
    for span, (tag, head, label) in right.items():
        found_tag, found_head, found_label = found.get(span, ("", None, ""))
        arc = found_head == head and found_label == label
        scored = label != PUNCTUATION
        counts.update(words=1, tag=tag == found_tag, scored=scored, arc_punct=arc)
        counts.update(head=scored and found_head == head, arc=scored and arc)
        if label in labels:
            counts.update({f"{label} right": 1, f"{label} agreed": int(arc)})
    counts.update(f"{label} found" for _, _, label in found.values() if label in labels)
