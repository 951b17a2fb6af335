"""Reference scores: the percentile of a score among the scores of written texts and of the same texts shuffled."""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

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
    """Scores of a model on texts written by people."""

    texts: str  # a description of the texts
    setting: str  # the combination that computed the scores, such as ``mmi``
    groups: tuple[Group, ...]  # the scores by length of the text, shortest first
    seed: int = 1  # seed of the shuffles
    command: str = ""  # the command that computed the scores

    def percentiles(self, value: float, sentences: int) -> Percentiles:
        """Return the percentiles of the score of a text.

        Example:
            >>> quantiles = tuple(float(n) for n in range(101))
            >>> reference = Reference("texts", "mmi", (Group(2, 500, quantiles, tuple(q / 2 for q in quantiles)),))
            >>> reference.percentiles(40.0, 7)
            Percentiles(written=40.0, shuffled=80.0)
        """
        fitting = [group for group in self.groups if group.fewest <= sentences] or list(self.groups[:1])
        group = fitting[-1]
        return Percentiles(_percentile(group.written, value), _percentile(group.shuffled, value))

    def to_text(self) -> str:
        """Return the reference as JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"


def _percentile(quantiles: Sequence[float], value: float) -> float:
    """Return the percentile of a value, 0 to 100; for equal quantiles, the middle one."""
    low, high = bisect_left(quantiles, value), bisect_right(quantiles, value)
    if low < high:
        return (low + high - 1) / 2
    if low in {0, len(quantiles)}:
        return 0.0 if low == 0 else float(STEPS)
    before, after = quantiles[low - 1], quantiles[low]
    return low - 1 + (value - before) / (after - before)


def make_group(fewest: int, written: Sequence[float], shuffled: Sequence[float]) -> Group:
    """Return a group with the quantiles of the scores of written and of shuffled texts."""
    return Group(fewest, len(written), _quantiles(written), _quantiles(shuffled))


def _quantiles(values: Sequence[float]) -> tuple[float, ...]:
    ranked = sorted(values)
    last = len(ranked) - 1
    return tuple(round(ranked[round(step * last / STEPS)], 4) for step in range(STEPS + 1))


def read_reference(text: str, *, source: str) -> Reference:
    """Parse the result of `Reference.to_text`.

    Raises:
        ModelError: The text has another format.
    """
    try:
        content = json.loads(text)
        groups = tuple(
            Group(int(g["fewest"]), int(g["n"]), *(tuple(map(float, g[key])) for key in ("written", "shuffled")))
            for g in content["groups"]
        )
        found = Reference(
            str(content["texts"]), str(content["setting"]), groups, int(content["seed"]), str(content["command"])
        )
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise _unreadable(source, str(error)) from error
    sizes = {len(quantiles) for group in groups for quantiles in (group.written, group.shuffled)}
    if sizes != {STEPS + 1}:
        raise _unreadable(source, f"{sorted(sizes)} quantiles")
    for quantiles in (quantiles for group in groups for quantiles in (group.written, group.shuffled)):
        if not all(map(math.isfinite, quantiles)) or list(quantiles) != sorted(quantiles):
            raise _unreadable(source, "quantiles that do not ascend")
    return found


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


def placed(score: Score, reference: Reference, sentences: int) -> Score:
    """Return a score with its place among the scores of reference texts."""
    assert score.value is not None
    place = reference.percentiles(score.value, sentences)
    return replace(
        score,
        percentile=place.written,
        percentile_shuffled=place.shuffled,
        reference=reference.texts,
        link_percentiles=tuple(reference.percentiles(value, SHORTEST).written for value in score.transitions),
    )
