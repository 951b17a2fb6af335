"""The tasks `miniatures` and `probes`: compare the scores of two short texts that differ in one detail.

The paper's section 4.4 shows seven such pairs. `weft.probes` holds them with the paper's scores, and a larger set of
our own. Most pairs of that set are crossed: A+x is better than A+y, and B+y is better than B+x, so that a model that
always prefers x to y is right in half of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, zip_longest
from pathlib import Path

from weft.corpora.readers.jsonl import Record, read_records
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.text.text_limits import readable
from weft.document import Document
from weft.errors import CorpusError
from weft.evaluation.metrics import compare_scores
from weft.evaluation.result import Measure
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer

PAIRS_AT_ONCE = 32
BOTH_WAYS = "both_ways"
BETTER, WORSE = "better_score", "worse_score"


@dataclass(frozen=True, slots=True)
class MinimalPair:
    """Two texts with a small difference, one of them more coherent."""

    id: str  # a name that is unique in its file
    phenomenon: str  # what the two texts differ in
    better: Document
    worse: Document
    paper: tuple[float, float] | None = None  # the paper's scores of the two, if it has the pair


def measure_minimal_pairs(
    subject: Subject,
    data: DataFile,
    options: EvaluateOptions,  # noqa: ARG001  part of the contract
    progress: Progress,
) -> Outcome:
    """Compare the two texts of every pair."""
    pairs = list(islice(read_pairs(data.path, data.read), data.limit))
    return score_pairs(subject.model, pairs, progress=progress)


def read_pairs(source: str | Path, options: ReadOptions = ReadOptions()) -> Iterator[MinimalPair]:  # noqa: B008  frozen
    """Read minimal pairs: ``{"id", "phenomenon", "better": [sentences], "worse": [sentences]}``, one per line.

    Raises:
        CorpusError: A line is not such a pair, two pairs have the same id, or the file has no pair.

    Example:
        >>> from weft.io.package_files import PROBES
        >>> pair = next(read_pairs(PROBES / "miniatures.jsonl"))
        >>> pair.phenomenon, pair.better.sentences[1], pair.worse.sentences[1], pair.paper
        ('lexical', 'His arrest was unexpected.', 'His death was unexpected.', (1.79, 0.84))
    """
    seen: set[str] = set()
    for record in read_records(source, options, allowed=_ALLOWED):
        pair = _pair(record)
        if pair.id in seen:
            raise record.error("the id is not unique", seen=pair.id, allowed="unique ids", next_step="rename it")
        seen.add(pair.id)
        yield pair
    if not seen:
        raise CorpusError(
            f"no minimal pair in {source}",
            seen="no line with an object",
            allowed=_ALLOWED,
            next_step="check that the file is not empty; docs/probes.md shows the format",
        )


def score_pairs(model: DocumentScorer, pairs: Sequence[MinimalPair], *, progress: Progress = silent) -> Outcome:
    """Score both texts of every pair.

    Returns:
        ``accuracy``, the share of pairs whose better text scored strictly higher, over all and by phenomenon;
        ``both_ways``, the share of two crossed pairs with both right, if there are any. The scores of the texts are
        ``better_score`` and ``worse_score``; a text without a score has the denominator 0. A pair is named by its id,
        and its length is that of the better text.

    Example:
        >>> from weft.io.package_files import PROBES
        >>> from weft.registry import create_model
        >>> pairs = list(read_pairs(PROBES / "miniatures.jsonl"))
        >>> found = score_pairs(create_model("foltz-glove"), pairs)
        >>> found.measures["accuracy"].numerators[0], list(found.measures)
        (1.0, ['accuracy', 'lexical', 'temporal', 'causal', 'centering'])
    """
    better: list[float | None] = []
    worse: list[float | None] = []
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        batch = pairs[start : start + PAIRS_AT_ONCE]
        values = [score.value for score in model.score([text for pair in batch for text in (pair.better, pair.worse)])]
        better += values[::2]
        worse += values[1::2]
        progress("comparing texts", len(better), len(pairs))
    verdicts = [compare_scores(one, other) for one, other in zip(better, worse, strict=True)]
    right = [float(verdict == "win") for verdict in verdicts]
    return Outcome(
        measures={**_by_phenomenon(pairs, right), **_both_ways(pairs, right)},
        documents=[pair.better.id for pair in pairs],
        lengths=[len(pair.better) for pair in pairs],
        n_pairs=len(pairs),
        scores={BETTER: Measure.of_values(better), WORSE: Measure.of_values(worse)},
        ties=verdicts.count("tie"),
    )


def are_crossed(one: MinimalPair, other: MinimalPair) -> bool:
    """Return whether the better texts of two pairs together have the same sentences as the worse ones.

    In pairs of the same sentences in another order this holds for any two, related or not. The sentences in which the
    texts of one pair differ, in words or in place, must therefore be part of the other pair too.
    """
    better = Counter(one.better.sentences + other.better.sentences)
    if better != Counter(one.worse.sentences + other.worse.sentences):
        return False
    return _differing(one) <= _sentences_of(other) and _differing(other) <= _sentences_of(one)


def _differing(pair: MinimalPair) -> set[str | None]:
    """Return the sentences that do not stand at the same place in both texts."""
    places = zip_longest(pair.better.sentences, pair.worse.sentences)
    return {sentence for both in places if both[0] != both[1] for sentence in both} - {None}


def _sentences_of(pair: MinimalPair) -> set[str | None]:
    return {*pair.better.sentences, *pair.worse.sentences}


def crossed_places(pairs: Sequence[MinimalPair]) -> list[int]:
    """Return the place of the first of every two neighbouring crossed pairs; no pair is used twice."""
    places: list[int] = []
    for place, (one, other) in enumerate(pairwise(pairs)):
        if (not places or places[-1] < place - 1) and one.phenomenon == other.phenomenon and are_crossed(one, other):
            places.append(place)
    return places


def _by_phenomenon(pairs: Sequence[MinimalPair], right: Sequence[float]) -> dict[str, Measure]:
    measures = {"accuracy": Measure(tuple(right), (1.0,) * len(pairs))}
    for phenomenon in dict.fromkeys(pair.phenomenon for pair in pairs):
        inside = tuple(float(pair.phenomenon == phenomenon) for pair in pairs)
        measures[phenomenon] = Measure(tuple(r * i for r, i in zip(right, inside, strict=True)), inside)
    return measures


def _both_ways(pairs: Sequence[MinimalPair], right: Sequence[float]) -> dict[str, Measure]:
    """Return the measure of crossed pairs; two of them count as one, at the place of the first."""
    numerators, denominators = [0.0] * len(pairs), [0.0] * len(pairs)
    for place in crossed_places(pairs):
        numerators[place], denominators[place] = right[place] * right[place + 1], 1.0
    return {BOTH_WAYS: Measure(tuple(numerators), tuple(denominators))} if any(denominators) else {}


_ALLOWED = 'one JSON object per line, {"id": …, "phenomenon": …, "better": [sentences], "worse": [sentences]}'


def _pair(record: Record) -> MinimalPair:
    name, phenomenon = (_name(record, key) for key in ("id", "phenomenon"))
    better, worse = (Document(name, _sentences(record, key)) for key in ("better", "worse"))
    if better == worse:
        raise _bad(record, "the two texts are the same", name)
    return MinimalPair(name, phenomenon, readable(better), readable(worse), _paper(record))


def _name(record: Record, key: str) -> str:
    value = record.fields.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _bad(record, f"no {key}", value)
    if key == "phenomenon" and value in {"accuracy", BOTH_WAYS, BETTER, WORSE}:
        raise _bad(record, "the phenomenon has the name of a measure", value)
    return value


def _sentences(record: Record, key: str) -> tuple[str, ...]:
    value = record.fields.get(key)
    if not isinstance(value, list) or len(value) < 2:
        raise _bad(record, f'"{key}" needs two sentences or more', value)
    if not all(isinstance(sentence, str) and sentence.strip() for sentence in value):
        raise _bad(record, f'"{key}" holds something that is not a sentence', value)
    return tuple(value)


def _paper(record: Record) -> tuple[float, float] | None:
    match record.fields.get("paper"):
        case None:
            return None
        case [float() | int() as better, float() | int() as worse]:
            return float(better), float(worse)
        case other:
            raise _bad(record, '"paper" is not a pair of numbers', other)


def _bad(record: Record, what: str, seen: object) -> CorpusError:
    return record.error(
        what,
        seen="nothing" if seen is None else seen,
        allowed=_ALLOWED,
        next_step="correct the line; docs/probes.md shows the format",
    )
