"""Comparison of two versions of a text: which sentences were kept, and how every transition changed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from weft.corpora.text.words import words_only
from weft.data_frames import Tabular
from weft.document import Document, Score, ordinal, whole_percent
from weft.markup.notebook import comparison_html, shown
from weft.protocols import DocumentScorer

SentenceKind = Literal["same", "changed", "moved", "added", "removed"]
TransitionKind = Literal["kept", "changed", "new", "gone"]
ALIKE = 0.5  # smallest share of common words of a changed sentence; below it, two sentences are different ones
ROUNDING = 5e-5  # smaller differences of scores are not shown: the last decimal of a score depends on its batch
REACH = 100  # largest distance of a changed sentence from its old place; limits the time for long texts


@dataclass(frozen=True, slots=True)
class AlignedSentence:
    """A sentence of one or both texts.

    Attributes:
        kind: ``same`` (word for word, in order), ``changed`` (in order), ``moved`` (changed or not), ``added``,
            ``removed``.
        before: Its position in the first text.
        after: Its position in the second text.
        similarity: Share of common words: 1 for the same sentence, 0 for an added or removed one.
    """

    kind: SentenceKind
    before: int | None
    after: int | None
    similarity: float

    @property
    def both(self) -> bool:
        """Whether it was moved and its words changed too."""
        return self.kind == "moved" and self.similarity < 1


@dataclass(frozen=True, slots=True)
class AlignedTransition:
    """A transition from one sentence to the next, in one or both texts.

    Attributes:
        kind: ``kept`` (both sentences are the same), ``changed`` (one or both have changed words), ``new``, ``gone``.
        before: Position of its left sentence in the first text.
        after: Position of its left sentence in the second text.
        value_before: Its score in the first text; None if the model scores only whole texts.
        value_after: Its score in the second text.
    """

    kind: TransitionKind
    before: int | None
    after: int | None
    value_before: float | None
    value_after: float | None

    @property
    def difference(self) -> float | None:
        """Second minus first; None unless both texts have the transition."""
        if self.value_before is None or self.value_after is None:
            return None
        return self.value_after - self.value_before

    @property
    def differs(self) -> bool:
        """Whether it is not in both texts with the same sentences and the same score."""
        return self.kind != "kept" or abs(self.difference or 0.0) >= ROUNDING


@dataclass(frozen=True, slots=True, repr=False)
class Revision(Tabular):
    """Two texts, scored and aligned; sentences and transitions in the order of the second text."""

    first: Score
    second: Score
    sentences: tuple[AlignedSentence, ...]
    transitions: tuple[AlignedTransition, ...]

    @property
    def difference(self) -> float | None:
        """Score of the second text minus that of the first: above 0, the second is more coherent."""
        if self.first.value is None or self.second.value is None:
            return None
        return self.second.value - self.first.value

    @property
    def percentile_points(self) -> float | None:
        """Percentile of the second text minus that of the first; None for a model without reference texts."""
        if self.first.percentile is None or self.second.percentile is None:
            return None
        return self.second.percentile - self.first.percentile

    @property
    def meaning(self) -> str:
        """Return how large the difference is among reference texts; empty for a model without them.

        Example:
            >>> one, other = (Score(0.2, percentile=place, reference="essays") for place in (31, 40))
            >>> Revision(one, other, (), ()).meaning
            '31st → 40th percentile of essays: about 9 in 100 of these texts score between the two'
        """
        if self.first.percentile is None or self.second.percentile is None:
            return ""
        before, after = whole_percent(self.first.percentile), whole_percent(self.second.percentile)
        between = f"about {abs(after - before)}" if after != before else "fewer than 1"
        places = f"{ordinal(before)} → {ordinal(after)} percentile of {self.second.reference}"
        return f"{places}: {between} in 100 of these texts score between the two"

    def changes(self) -> Revision:
        """Return what differs between the texts.

        These are the sentences that are not the same, the transitions that are new, gone, changed or score differently,
        and the sentences around such a transition.
        """
        steps = tuple(step for step in self.transitions if step.differs)
        around = {step.after + place for step in steps if step.after is not None for place in (0, 1)}
        sentences = tuple(one for one in self.sentences if one.kind != "same" or one.after in around)
        return replace(self, sentences=sentences, transitions=steps)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data, ready for JSON."""
        texts = [score.document.sentences if score.document is not None else () for score in (self.first, self.second)]
        return {
            "first": _summary(self.first),
            "second": _summary(self.second),
            "difference": self.difference,
            "percentile_points": self.percentile_points,
            "estimator": self.second.estimator,
            "sentences": [
                {
                    **asdict(sentence),
                    "text_before": None if sentence.before is None else texts[0][sentence.before],
                    "text_after": None if sentence.after is None else texts[1][sentence.after],
                }
                for sentence in self.sentences
            ],
            "transitions": [{**asdict(step), "difference": step.difference} for step in self.transitions],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per sentence of either text."""
        found: list[dict[str, Any]] = self.to_dict()["sentences"]
        return found

    def __repr__(self) -> str:
        kinds = Counter(sentence.kind for sentence in self.sentences)
        parts = [f"score {shown(self.first.value)} → {shown(self.second.value)}"]
        parts += [f"{count} {kind}" for kind, count in kinds.items()]
        return f"Revision({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return the second text with what changed as HTML, for a notebook."""
        return comparison_html(self)


def _summary(score: Score) -> dict[str, Any]:
    record = score.to_dict()
    return {**{name: record[name] for name in ("id", "sentences", "value")}, "percentile": score.percentile}


def compare_texts(model: DocumentScorer, first: Document, second: Document) -> Revision:
    """Score two versions of a text and align them.

    Example:
        >>> from weft.registry import create_model
        >>> texts = [Document("a", ("A cat.", "A dog.", "Rain.")), Document("b", ("Rain.", "A cat.", "A dog."))]
        >>> found = compare_texts(create_model("foltz-sif"), *texts)
        >>> [sentence.kind for sentence in found.sentences], [step.kind for step in found.transitions]
        (['moved', 'same', 'same'], ['new', 'kept', 'gone'])
    """
    one, other = model.score([first, second])
    sentences = align_sentences(first.sentences, second.sentences)
    values = (_values(one, len(first)), _values(other, len(second)))
    one, other = replace(one, document=first), replace(other, document=second)
    return Revision(one, other, sentences, _align_transitions(sentences, len(first), len(second), values))


def align_sentences(first: Sequence[str], second: Sequence[str]) -> tuple[AlignedSentence, ...]:
    """Match the sentences of two texts: equal ones first, then those that share at least half of their words.

    A sentence is moved if it is not part of the longest sequence of matches with the same order in both texts.

    Example:
        >>> [found.kind for found in align_sentences(["A cat sat.", "It slept."], ["A cat sat down.", "It slept."])]
        ['changed', 'same']
    """
    before_of = _equal(first, second)
    before_of |= _alike(first, second, before_of)
    ordered = _in_order(before_of)
    matched = {}
    for after, (before, similarity) in before_of.items():
        kind: SentenceKind = "moved" if after not in ordered else "same" if similarity == 1 else "changed"
        matched[after] = AlignedSentence(kind, before, after, similarity)
    return tuple(_merge(matched, ordered, len(first), len(second)))


Matches = dict[int, tuple[int, float]]  # by position in the second text: position in the first, similarity


def _equal(first: Sequence[str], second: Sequence[str]) -> Matches:
    """Match equal sentences, ignoring spaces; of repeated sentences, the n-th matches the n-th."""
    places: dict[str, deque[int]] = defaultdict(deque)
    for place, sentence in enumerate(first):
        places[" ".join(sentence.split())].append(place)
    found: Matches = {}
    for place, sentence in enumerate(second):
        if waiting := places[" ".join(sentence.split())]:
            found[place] = (waiting.popleft(), 1.0)
    return found


def _alike(first: Sequence[str], second: Sequence[str], known: Matches) -> Matches:
    """Match the remaining sentences, the most similar first; near ones before distant ones."""
    taken = {before for before, _ in known.values()}
    bags = {place: Counter(words_only(first[place])) for place in range(len(first)) if place not in taken}
    candidates = []
    for after, sentence in enumerate(second):
        bag = Counter(words_only(sentence)) if after not in known else Counter()
        for before in range(max(0, after - REACH), min(len(first), after + REACH)) if bag else ():
            if before in bags and (similarity := _share(bags[before], bag)) >= ALIKE:
                candidates.append((-similarity, abs(before - after), after, before))
    found: Matches = {}
    for similarity, _, after, before in sorted(candidates):
        if after not in found and before not in taken:
            # The same words with other letters, marks or order are a change, so the similarity is below 1.
            found[after] = (before, min(-similarity, 0.99))
            taken.add(before)
    return found


def _share(one: Counter[str], other: Counter[str]) -> float:
    """Return Dice's coefficient of two bags of words."""
    return 2 * (one & other).total() / (one.total() + other.total())


def _in_order(matches: Mapping[int, tuple[int, float]]) -> set[int]:
    """Return the longest sequence of matches with the same order in both texts, as positions in the second."""
    ends: list[int] = []  # ends[n]: the lowest position in the first text at which a sequence of n + 1 can end
    last: list[int] = []  # last[n]: the match at its end
    previous: dict[int, int | None] = {}
    for after in sorted(matches):
        before = matches[after][0]
        length = bisect_left(ends, before)
        previous[after] = last[length - 1] if length else None
        if length == len(ends):
            ends.append(before)
            last.append(after)
        else:
            ends[length], last[length] = before, after
    run: set[int] = set()
    step = last[-1] if last else None
    while step is not None:
        run.add(step)
        step = previous[step]
    return run


def _merge(matched: Mapping[int, AlignedSentence], ordered: set[int], first: int, second: int) -> list[AlignedSentence]:
    """Return the sentences of the second text, with the removed ones in their old positions."""
    kept = {sentence.before for sentence in matched.values()}
    removed = deque(place for place in range(first) if place not in kept)
    rows: list[AlignedSentence] = []
    for after in range(second):
        sentence = matched.get(after, AlignedSentence("added", None, after, 0.0))
        while after in ordered and removed and removed[0] < (sentence.before or 0):
            rows.append(AlignedSentence("removed", removed.popleft(), None, 0.0))
        rows.append(sentence)
    return rows + [AlignedSentence("removed", place, None, 0.0) for place in removed]


def _values(score: Score, size: int) -> tuple[float | None, ...]:
    """Return the score of each transition, or None for each if the model has none."""
    steps = max(size - 1, 0)
    return score.transitions if len(score.transitions) == steps else (None,) * steps


def _align_transitions(
    sentences: Sequence[AlignedSentence],
    first: int,
    second: int,
    values: tuple[Sequence[float | None], Sequence[float | None]],
) -> tuple[AlignedTransition, ...]:
    """Return the transitions of the second text in order, then those that only the first has."""
    by_after = {s.after: s for s in sentences if s.after is not None}
    found, met = [], set()
    for left, right in pairwise(range(second)):
        one, other = by_after[left], by_after[right]
        if one.before is None or other.before != one.before + 1:
            found.append(AlignedTransition("new", None, left, None, values[1][left]))
            continue
        met.add(one.before)
        kind: TransitionKind = "kept" if one.similarity == other.similarity == 1 else "changed"
        found.append(AlignedTransition(kind, one.before, left, values[0][one.before], values[1][left]))
    gone = (place for place in range(first - 1) if place not in met)
    return (*found, *(AlignedTransition("gone", place, None, values[0][place], None) for place in gone))
