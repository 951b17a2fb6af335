"""The task `intruder`: find the sentence that does not belong (`weft.corpora.negatives.intrude`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.corpora.negatives.intrude import (
    FEWEST_WORDS,
    KEPT,
    LEAST,
    Intruded,
    by_group,
    fingerprint_intruders,
    with_own_sentence,
    with_stranger,
)
from weft.document import Document, Score
from weft.evaluation.metrics import best_alone
from weft.evaluation.result import Measure
from weft.evaluation.sets.genres import genres_of
from weft.evaluation.sets.links import links_of, marked_above, marked_breaks, unbroken, weakest_inside
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.progress import Progress, silent
from weft.protocols import BreakModel, DocumentScorer, StrayModel
from weft.scoring.uni_bi_mmi import order_values

KINDS = ("stranger", "elsewhere")
TEXTS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Case:
    """A text without an intruder, and with one of each kind; None where the text is too short for it."""

    clean: Document
    intruded: Mapping[str, Intruded | None]


def measure_intruders(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Put intruders into the documents; strangers come from texts of the same genre, if the data have genres."""
    documents = data.documents()
    cases = make_cases(documents, genres_of(data), seed=options.seed)
    return find_intruders(subject.model, cases, n_excluded=len(documents) - len(cases), progress=progress)


def make_cases(documents: Sequence[Document], genres: Mapping[str, str], *, seed: int = 1) -> list[Case]:
    """Return the documents that are long enough, each with its intruders."""
    groups = by_group(documents, genres)
    cases = []
    for document in documents:
        if len(document) >= LEAST:
            stranger = with_stranger(document, groups[genres.get(document.id, "")], seed=seed)
            found = {"stranger": stranger, "elsewhere": with_own_sentence(document, seed=seed)}
            cases.append(Case(document.reorder(range(min(KEPT + 1, len(document)))), found))
    return cases


def find_intruders(
    model: DocumentScorer, cases: Sequence[Case], *, n_excluded: int = 0, progress: Progress = silent
) -> Outcome:
    """Find the intruder of every text: the likeliest stray, or the inner sentence whose two links are the weakest.

    Strays are those of a model that has learned them. The links are the log-odds of no break for a model that has
    learned breaks, else the transitions of its scores. A model with none of them points at the sentence without which
    the text scores highest. The first and the last sentence, which have one link, are no candidates, as intruders are
    never there.

    Returns:
        For each kind, ``stranger`` and ``elsewhere``: the share of texts in which the model points at the intruder and
        at no other sentence, and ``_chance``, what a random choice gets. If the model marks breaks: ``_marked``, the
        share of texts with a mark beside the intruder, and ``clean_marked``, the share of texts without an intruder
        that have a mark. A model with learned breaks also has ``_by_links``, by its transitions, and one with learned
        strays ``_by_breaks``.

    Example:
        >>> from weft.registry import create_model
        >>> words = ("cat", "sea")
        >>> texts = [Document(word, tuple(f"{word} {word} {word} {word} {n}" for n in range(14))) for word in words]
        >>> found = find_intruders(create_model("foltz-glove"), make_cases(texts, {}))
        >>> found.measures["stranger"].numerators
        (1.0, 1.0)
    """
    rows: list[_Row] = []
    for start in range(0, len(cases), TEXTS_AT_ONCE):
        rows += _search_batch(model, cases[start : start + TEXTS_AT_ONCE])
        progress("finding intruders", len(rows), len(cases))
    findings = [finding for row in rows for finding in row.findings.values() if finding is not None]
    return Outcome(
        measures=_measures(rows, isinstance(model, BreakModel)),
        documents=[case.clean.id for case in cases],
        lengths=[len(case.clean) for case in cases],
        n_pairs=len(findings),
        ties=sum(finding.tied for finding in findings),
        n_excluded=n_excluded,
        negatives_sha256=fingerprint_intruders(item for case in cases for item in case.intruded.values()),
        settings=_settings(model, findings),
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """What a model says about one text with an intruder."""

    found: bool  # whether it points at the intruder and at no other sentence
    tied: bool  # whether it points at several sentences
    chance: float  # the probability that a random choice is right
    evidence: str  # what it points by: strays, breaks, links or removal
    by_breaks: bool | None  # whether its breaks point at the intruder; None if it has none, or has no better evidence
    by_links: bool | None  # whether its transitions point at the intruder; None if it has none
    marks: int  # breaks that it marks
    marks_beside: int  # those of them beside the intruder


@dataclass(frozen=True, slots=True)
class _Row:
    clean_marks: int  # breaks that the model marks in the text without an intruder
    findings: Mapping[str, Finding | None]  # by kind


def _search_batch(model: DocumentScorer, cases: Sequence[Case]) -> list[_Row]:
    """Return what the model says about the texts of some cases, which are scored together."""
    inside = [[item for item in case.intruded.values() if item is not None] for case in cases]
    texts = [text for case, items in zip(cases, inside, strict=True) for text in _texts(case, items)]
    scores = iter(model.score(texts))
    rows = []
    for case in cases:
        clean = len(marked_breaks(model, next(scores), case.clean))
        findings = {
            kind: None if item is None else _finding(model, item, next(scores)) for kind, item in case.intruded.items()
        }
        rows.append(_Row(clean, findings))
    return rows


def _texts(case: Case, items: Sequence[Intruded]) -> list[Document]:
    return [case.clean, *(item.document for item in items)]


def _finding(model: DocumentScorer, item: Intruded, score: Score) -> Finding:
    pointed, evidence = pointed_at(model, item.document, score)
    links = links_of(score, item.document)
    marks = marked_breaks(model, score, item.document)
    return Finding(
        found=pointed == [item.place],
        tied=len(pointed) > 1,
        chance=1 / (len(item.document) - 2),
        evidence=evidence,
        by_breaks=_by_breaks(model, item) if evidence == "strays" else None,
        by_links=None if links is None else weakest_inside(links) == [item.place],
        marks=len(marks),
        marks_beside=len({item.place - 1, item.place} & set(marks)),
    )


def pointed_at(model: DocumentScorer, document: Document, score: Score) -> tuple[list[int], str]:
    """Return the inner sentences that a model finds the least fitting, several for a tie, and its evidence."""
    if isinstance(model, StrayModel):
        strays = model.stray_log_odds(document)
        if strays is not None:
            return [place + 1 for place in best_alone(strays[1:-1].tolist())], "strays"
    if isinstance(model, BreakModel):
        return weakest_inside(unbroken(model, document)), "breaks"
    links = links_of(score, document)
    if links is not None:
        return weakest_inside(links), "links"
    inner = range(1, len(document) - 1)
    without = [[place for place in range(len(document)) if place != removed] for removed in inner]
    return [place + 1 for place in best_alone(order_values(model, document, without))], "removal"


def _by_breaks(model: DocumentScorer, item: Intruded) -> bool | None:
    if not isinstance(model, BreakModel):
        return None
    return weakest_inside(unbroken(model, item.document)) == [item.place]


def _measures(rows: Sequence[_Row], breaks: bool) -> dict[str, Measure]:
    columns: dict[str, list[float | None]] = {}
    columns |= {kind: [None if (f := row.findings[kind]) is None else float(f.found) for row in rows] for kind in KINDS}
    for kind in KINDS:
        found = [row.findings[kind] for row in rows]
        columns[f"{kind}_chance"] = [None if f is None else f.chance for f in found]
        columns[f"{kind}_marked"] = [None if f is None else float(f.marks_beside > 0) for f in found]
        columns[f"{kind}_by_breaks"] = [None if f is None or f.by_breaks is None else float(f.by_breaks) for f in found]
        columns[f"{kind}_by_links"] = [None if f is None or f.by_links is None else float(f.by_links) for f in found]
    columns["clean_marked"] = [float(row.clean_marks > 0) for row in rows]
    marking = breaks or any(row.clean_marks or any(f and f.marks for f in row.findings.values()) for row in rows)
    strays = any(f and f.by_breaks is not None for row in rows for f in row.findings.values())
    shown = {"_marked": marking, "_by_links": breaks, "_by_breaks": strays}
    left_out = tuple(end for end, kept in shown.items() if not kept)
    kept = {name: column for name, column in columns.items() if not name.endswith(left_out)}
    return {name: Measure.of_values(column) for name, column in kept.items()}


def _settings(model: object, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return how the texts were made, and what the model points by."""
    made: dict[str, Any] = {"kept": KEPT, "least": LEAST, "fewest_words": FEWEST_WORDS}
    made["evidence"] = " and ".join(sorted({finding.evidence for finding in findings}))
    return {**made, "marked_above": marked_above(model)} if isinstance(model, BreakModel) else made
