"""Answers of the service as results of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from weft.document import Document, Score, TextWarning
from weft.ordering.ordering import Ordering

if TYPE_CHECKING:
    from weft.evaluation.text_comparison import Revision

Record = Mapping[str, Any]


def received_score(record: Record, given: str | Document) -> Score:
    """Return a score; its document is the given one, or the sentences that the service has found in the text."""
    links, scale = record["view"]["links"], record["view"]["scale"]
    places = record["percentiles"] or {"written": None, "shuffled": None}
    placed = scale["kind"] == "percentile"
    found = Score(
        record["value"],
        tuple(record["transitions"]),
        record["estimator"],
        given if isinstance(given, Document) else _document(record),
        model=record["model"],
        breaks=tuple(record["breaks"]),
        break_probabilities=tuple(record["break_probabilities"]),
        break_threshold=record["break_threshold"],
        percentile=places["written"],
        percentile_shuffled=places["shuffled"],
        shuffles_beaten=record["shuffles_beaten"],
        fluency=record["fluency"],
        reference=record["reference"] or "",
        genre=record["genre"] or "",
        genre_guessed=record["genre_guessed"],
        genre_probability=record["genre_probability"],
        warnings=_warnings(record),
    )
    if not placed:
        return replace(found, bar_range=(scale["low"], scale["high"]))
    percentiles = tuple(link["percentile"] for link in links)
    return replace(found, link_percentiles=percentiles, link_reference=scale["reference"])


def _document(record: Record) -> Document:
    passages: Sequence[Sequence[Record]] = record["view"]["passages"]
    sentences = tuple(sentence["text"] for passage in passages for sentence in passage)
    starts = tuple(passage[0]["number"] for passage in passages)
    return Document(record["id"], sentences, paragraph_starts=starts or (0,))


def _warnings(record: Record) -> tuple[TextWarning, ...]:
    return tuple(map(TextWarning, record["warning_codes"], record["warnings"]))


def received_ordering(record: Record) -> Ordering:
    """Return an order."""
    return Ordering(
        tuple(record["order"]),
        record["value"],
        record["input_value"],
        record["search"],
        record["objective"],
        record["kept"],
        record["id"],
        tuple(record["sentences"]),
        _warnings(record),
    )


def received_revision(record: Record, first: str | Document, second: str | Document) -> Revision:
    """Return a comparison."""
    from weft.evaluation.text_comparison import AlignedSentence, AlignedTransition, Revision

    sentences = [{name: one[name] for name in ("kind", "before", "after", "similarity")} for one in record["sentences"]]
    names = ("kind", "before", "after", "value_before", "value_after")
    transitions = [{name: one[name] for name in names} for one in record["transitions"]]
    return Revision(
        received_score(record["first_score"], first),
        received_score(record["second_score"], second),
        tuple(AlignedSentence(**one) for one in sentences),
        tuple(AlignedTransition(**one) for one in transitions),
    )
