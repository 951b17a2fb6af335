"""Reference scores: the percentile of a score among the scores of written texts and of the same texts shuffled."""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from weft.document import Score
from weft.errors import ModelError

REFERENCE = "reference.json"  # in a model folder
SHORTEST = 2  # sentences around one transition: links are compared with the shortest reference texts
STEPS = 100  # quantiles are stored in steps of one per cent


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The percentages of written and of shuffled reference texts that score lower."""

    written: float
    shuffled: float


@dataclass(frozen=True, slots=True)
class Group:
    """Reference scores of texts of similar length: a mean over few transitions varies more than one over many."""

    fewest: int  # number of sentences of the shortest texts in the group
    n: int  # number of texts
    written: tuple[float, ...]  # 101 quantiles of the scores of the texts, lowest first
    shuffled: tuple[float, ...]  # 101 quantiles of the scores of one shuffle of each text


@dataclass(frozen=True, slots=True)
class Reference:
    """Scores of a model on texts, all together and by genre."""

    texts: str  # a description of the texts
    setting: str  # the combination that computed the scores, such as ``mmi``
    groups: tuple[Group, ...]  # the scores of all texts by their length, shortest first; every genre has equal weight
    seed: int = 1  # seed of the shuffles
    command: str = ""  # the command that computed the scores
    unit: str = "paragraph"  # what counted as a text: ``text``, ``paragraph`` or ``excerpt``
    genres: Mapping[str, tuple[Group, ...]] = field(default_factory=dict)  # the scores of each genre, as in `groups`

    def percentiles(self, value: float, sentences: int, genre: str = "") -> Percentiles:
        """Return the percentiles of the score of a text among texts of a genre that `genres` has, or among all texts.

        Example:
            >>> quantiles = tuple(float(n) for n in range(101))
            >>> reference = Reference("texts", "mmi", (Group(2, 500, quantiles, tuple(q / 2 for q in quantiles)),))
            >>> reference.percentiles(40.0, 7)
            Percentiles(written=40.0, shuffled=80.0)
        """
        groups = self.genres[genre] if genre else self.groups
        fitting = [group for group in groups if group.fewest <= sentences] or list(groups[:1])
        group = fitting[-1]
        return Percentiles(_percentile(group.written, value), _percentile(group.shuffled, value))

    def to_text(self) -> str:
        """Return the reference as JSON, with one line per group: a file by genre has tens of thousands of numbers."""
        record = asdict(self)
        groups, genres = record.pop("groups"), record.pop("genres")
        lines = [f'"{name}": {json.dumps(value)}' for name, value in record.items()]
        lines.append(f'"groups": {_group_lines(groups)}')
        parts = [f"{json.dumps(name)}: {_group_lines(found)}" for name, found in genres.items()]
        lines.append('"genres": {' + ",\n".join(parts) + "}")
        return "{" + ",\n".join(lines) + "}\n"


def _group_lines(groups: Sequence[Mapping[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(group, separators=(",", ":")) for group in groups) + "]"


def _percentile(quantiles: Sequence[float], value: float) -> float:
    """Return the percentile of a value, 0 to 100; for equal quantiles, the middle one."""
    low, high = bisect_left(quantiles, value), bisect_right(quantiles, value)
    if low < high:
        return (low + high - 1) / 2
    if low in {0, len(quantiles)}:
        return 0.0 if low == 0 else float(STEPS)
    before, after = quantiles[low - 1], quantiles[low]
    return low - 1 + (value - before) / (after - before)


def make_group(
    fewest: int, written: Sequence[float], shuffled: Sequence[float], weights: Sequence[float] | None = None
) -> Group:
    """Return a group with the quantiles of the scores of written and of shuffled texts.

    Args:
        fewest: Number of sentences of the shortest texts.
        written: Scores of the texts.
        shuffled: Scores of one shuffle of each text.
        weights: How much each text counts; all the same by default.
    """
    counts = weights or [1.0] * len(written)
    return Group(fewest, len(written), _quantiles(written, counts), _quantiles(shuffled, counts))


def _quantiles(values: Sequence[float], weights: Sequence[float]) -> tuple[float, ...]:
    """Return 101 quantiles; the lowest value is quantile 0 and the highest quantile 100, whatever their weight.

    Example:
        >>> [_quantiles([3.0, 1.0, 2.0], weights)[50] for weights in ([1, 1, 1], [9, 1, 1])]
        [2.0, 3.0]
    """
    ranked = sorted(zip(values, weights, strict=True))
    if len(set(weights)) == 1:
        last = len(ranked) - 1
        return tuple(round(ranked[round(step * last / STEPS)][0], 4) for step in range(STEPS + 1))
    total, passed, found = sum(weights), 0.0, list[float]()
    for value, weight in ranked:
        passed += weight
        while len(found) <= STEPS and passed >= total * len(found) / STEPS - 1e-9 * total:
            found.append(round(value, 4))
    return tuple(found)


def read_reference(text: str, *, source: str) -> Reference:
    """Parse the result of `Reference.to_text`.

    Raises:
        ModelError: The text has another format.
    """
    try:
        content = json.loads(text)
        found = Reference(
            str(content["texts"]),
            str(content["setting"]),
            _read_groups(content["groups"]),
            int(content["seed"]),
            str(content["command"]),
            str(content.get("unit", "paragraph")),
            {str(name): _read_groups(groups) for name, groups in content.get("genres", {}).items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise _unreadable(source, str(error)) from error
    if not all((found.groups, *found.genres.values())):
        raise _unreadable(source, "a genre without scores")
    for quantiles in _all_quantiles(found):
        if len(quantiles) != STEPS + 1:
            raise _unreadable(source, f"{len(quantiles)} quantiles")
        if not all(map(math.isfinite, quantiles)) or list(quantiles) != sorted(quantiles):
            raise _unreadable(source, "quantiles that do not ascend")
    return found


def _read_groups(records: Sequence[Mapping[str, Any]]) -> tuple[Group, ...]:
    return tuple(
        Group(int(one["fewest"]), int(one["n"]), *(tuple(map(float, one[key])) for key in ("written", "shuffled")))
        for one in records
    )


def _all_quantiles(reference: Reference) -> Iterator[tuple[float, ...]]:
    for groups in (reference.groups, *reference.genres.values()):
        for group in groups:
            yield from (group.written, group.shuffled)


def reference_for(reference: Reference | None, setting: str) -> Reference | None:
    """Return the reference scores if they belong to a combination, else None."""
    return reference if reference is not None and reference.setting == setting else None


def _unreadable(source: str, why: str) -> ModelError:
    return ModelError(
        f"the reference scores in {source} cannot be read",
        seen=why[:200],
        allowed="a file written by `weft calibrate`",
        next_step="run `weft calibrate` again, or copy the model again",
    )


def placed(score: Score, reference: Reference, sentences: int, genre: str = "") -> Score:
    """Return a score with its place among the scores of reference texts, those of a genre or all.

    Links are always compared with texts of all genres, so that their bars have the same scale for all texts.
    """
    assert score.value is not None
    place = reference.percentiles(score.value, sentences, genre)
    return replace(
        score,
        percentile=place.written,
        percentile_shuffled=place.shuffled,
        reference=f"{genre} texts" if genre else reference.texts,
        link_reference=reference.texts,
        link_percentiles=tuple(reference.percentiles(value, SHORTEST).written for value in score.transitions),
    )
