"""Results of the library as bodies of responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from weft.document import Continuation, Document, Score
from weft.evaluation.text_comparison import Revision
from weft.markup.link_scale import found_none, likeliest_break, link_shares
from weft.ordering.break_reasons import BreakReason
from weft.ordering.ordering import Ordering
from weft.service.bodies.given_texts import GivenText, spans
from weft.service.bodies.response_bodies import (
    CompareResponse,
    ContinuationBody,
    LinkView,
    MoveView,
    OrderBody,
    Reason,
    Scale,
    ScoreBody,
    ScoreView,
    SentenceView,
)

Reasons = Mapping[int, BreakReason]  # by gap


def score_body(
    score: Score, given: GivenText, reasons: Reasons | None = None, *, breaks: bool | None = None
) -> ScoreBody:
    """Return a score with the view of its text.

    Args:
        score: The score.
        given: The text.
        reasons: Why the text breaks, by gap.
        breaks: Whether the model marks breaks, also where a text has no links; by default, as the score says.
    """
    marks_breaks = bool(score.break_probabilities) if breaks is None else breaks
    mark: Literal["break", "weak link"] = "break" if marks_breaks else "weak link"
    view = ScoreView(
        passages=_passages(given),
        links=_links(score, reasons or {}),
        scale=_scale(score),
        mark=mark,
        meaning=score.meaning,
        note="; ".join(filter(None, (found_none(score), likeliest_break(score)))),
    )
    return ScoreBody(**score.to_dict(), view=view)


def _passages(given: GivenText) -> list[list[SentenceView]]:
    document = given.document
    places: Sequence[tuple[int | None, int | None]]
    places = spans(given.source, document.sentences) if given.source is not None else [(None, None)] * len(document)
    found: list[list[SentenceView]] = []
    before = -1
    rows = zip(document.sentences, places, document.sentence_paragraphs(), strict=True)
    for number, (text, (start, end), paragraph) in enumerate(rows):
        if paragraph != before:
            found.append([])
            before = paragraph
        found[-1].append(SentenceView(number=number, text=text, start=start, end=end))
    return found


def _links(score: Score, reasons: Reasons) -> list[LinkView]:
    shares, _ = link_shares(score)
    nothing = [None] * len(score.transitions)
    percentiles = score.link_percentiles or nothing
    chances = score.break_probabilities or nothing
    rows = zip(score.transitions, shares, percentiles, chances, strict=True)
    return [
        LinkView(
            gap=gap, value=value, bar=bar, percentile=percentile, break_probability=chance,
            marked=gap in score.breaks, reason=_reason(reasons.get(gap)),
        )
        for gap, (value, bar, percentile, chance) in enumerate(rows)
    ]  # fmt: skip


def _reason(found: BreakReason | None) -> Reason | None:
    if found is None:
        return None
    return Reason(code=found.code, sentence=found.sentence, after=found.after, text=str(found))


def _scale(score: Score) -> Scale:
    _, text = link_shares(score)
    if score.link_percentiles:
        reference = score.link_reference or score.reference
        return Scale(kind="percentile", low=0, high=100, reference=reference, text=text)
    low, high = score.bar_range
    return Scale(kind="range", low=low, high=high, reference="", text=text)


def order_body(found: Ordering, document: Document) -> OrderBody:
    """Return an order with the moves that lead to it."""
    moves = [
        MoveView(sentence=sentence, was=was, place=place, text=document.sentences[sentence])
        for sentence, was, place in moves_to(found.order)
    ]
    return OrderBody(**found.to_dict(), moves=moves)


def moves_to(order: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the fewest moves of one item that turn 0, 1, 2 … into an order: (item, place before, place after).

    The longest rising part of the order stays; each other item is moved next to the item that it follows.

    Example:
        >>> moves_to([2, 0, 1, 3])
        [(2, 2, 0)]
    """
    stay = _longest_rising(order)
    now = list(range(len(order)))
    found = []
    for place, item in enumerate(order):
        if item in stay:
            continue
        was = now.index(item)
        now.pop(was)
        # All items before it in the order are where they belong relative to each other.
        to = now.index(order[place - 1]) + 1 if place else 0
        now.insert(to, item)
        found.append((item, was, to))
    return found


def _longest_rising(order: Sequence[int]) -> set[int]:
    best: list[list[int]] = []  # best[k]: the rising part of length k + 1 with the lowest end
    for item in order:
        length = sum(1 for part in best if part[-1] < item)
        part = [*(best[length - 1] if length else []), item]
        best[length : length + 1] = [part]
    return set(best[-1]) if best else set()


def continuation_body(found: Continuation, candidate: int) -> ContinuationBody:
    """Return a continuation."""
    return ContinuationBody(**found.to_dict(), candidate=candidate)


def compare_body(found: Revision, model: str, first: GivenText, second: GivenText, *, breaks: bool) -> CompareResponse:
    """Return a comparison with the scores of both texts."""
    return CompareResponse(
        **found.to_dict(),
        model=model,
        meaning=found.meaning,
        first_score=score_body(found.first, first, breaks=breaks),
        second_score=score_body(found.second, second, breaks=breaks),
    )
