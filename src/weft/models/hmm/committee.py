"""Several hidden Markov models of the same sentences, from different clusterings: what they say on the average.

One clustering of a few hundred sentences is as good as the next, and models made of them differ by several points of
accuracy; their mean is steadier, and better than each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from weft.document import Score
from weft.errors import ModelError
from weft.io.model_folder import Artifact, require
from weft.models.common.setting_checks import at_least, check_choice, check_finite, check_weight
from weft.models.hmm.cluster_hmm import ClusterHmm, HmmOptions, PatternVocabulary, Reals, learn_hmm
from weft.models.hmm.syntax_patterns import Patterns
from weft.progress import Progress, silent

VOCABULARY = "patterns.txt"
TENSORS = ("emissions", "start", "moves", "end")
MOST_CLUSTERS = 1000
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class HmmCommittee:
    """Hidden Markov models that share a vocabulary.

    Attributes:
        known: The patterns.
        members: The models.
    """

    known: PatternVocabulary
    members: tuple[ClusterHmm, ...]

    @classmethod
    def learn(
        cls,
        documents: Sequence[Sequence[Patterns]],
        known: PatternVocabulary,
        options: HmmOptions,
        *,
        members: int,
        seed: int,
        progress: Progress = silent,
    ) -> Self:
        """Learn each member from the same documents, with a seed of its own."""
        bags = known.bags(documents)
        found = []
        for number in range(members):
            progress("learning states", number, members)
            found.append(_rounded(learn_hmm(bags, options, seed=seed + number)))
        progress("learning states", members, members)
        return cls(known, tuple(found))

    def likelihoods(self, sentences: Sequence[Patterns]) -> list[Reals]:
        """Of each member, the sentences' likelihoods: [sentences, states]."""
        counts = self.known.bags([sentences]).counts
        return [member.likelihood(counts) for member in self.members]

    def gains(self, sentences: Sequence[Patterns], orders: Sequence[Sequence[int]]) -> list[Reals]:
        """The mean of what the members find gained by each sentence of each order."""
        found = [
            member.gains(table, orders) for member, table in zip(self.members, self.likelihoods(sentences), strict=True)
        ]
        return [np.mean(of_order, axis=0) for of_order in zip(*found, strict=True)]

    def order_scores(self, sentences: Sequence[Patterns], orders: Sequence[Sequence[int]]) -> list[float | None]:
        """A score for each order; None for fewer than two sentences."""
        judged = [order for order in orders if len(order) > 1]
        values = iter(self.gains(sentences, judged) if judged else [])
        return [math.fsum(next(values).tolist()) / (len(order) - 1) if len(order) > 1 else None for order in orders]

    def score(self, sentences: Sequence[Patterns]) -> Score:
        """The score of a text; the first transition also has the first sentence's gain."""
        if len(sentences) < 2:
            return Score(None)
        gains = self.gains(sentences, [range(len(sentences))])[0]
        parts = gains[1:].copy()
        parts[0] += gains[0]
        return Score(math.fsum(parts.tolist()) / len(parts), tuple(parts.tolist()))

    def tensors(self) -> dict[str, Any]:
        """What is saved of the members."""
        found: dict[str, Any] = {}
        for number, member in enumerate(self.members):
            found[f"emissions.{number}"] = member.emissions.astype(np.float16)
            for name in TENSORS[1:]:
                found[f"{name}.{number}"] = getattr(member, name)
        return found

    @classmethod
    def from_artifact(cls, artifact: Artifact, folder: str | Path, *, members: int, power: float) -> Self:
        """Read what `tensors` wrote.

        Raises:
            ModelError: Something is missing or does not fit together.
        """
        names = tuple(f"{name}.{number}" for number in range(members) for name in TENSORS)
        require(artifact, folder, tensors=names, texts=(VOCABULARY,))
        known = PatternVocabulary.read(artifact.texts[VOCABULARY])
        found = []
        for number in range(members):
            arrays = [artifact.tensors[f"{name}.{number}"].astype(np.float64) for name in TENSORS]
            member = ClusterHmm(arrays[0], arrays[1], arrays[2], arrays[3], power)
            check_finite(folder, **{f"{n}.{number}": a for n, a in zip(TENSORS, arrays, strict=True)})
            _check_shapes(member, len(known.numbers), folder)
            found.append(member)
        return cls(known, tuple(found))


def _rounded(hmm: ClusterHmm) -> ClusterHmm:
    """As it will be read from disk, so that a saved model scores exactly as the learned one."""
    emissions = hmm.emissions.astype(np.float16).astype(np.float64)
    return ClusterHmm(emissions, hmm.start, hmm.moves, hmm.end, hmm.power)


def _check_shapes(member: ClusterHmm, patterns: int, folder: str | Path) -> None:
    states = len(member.start)
    shapes = (member.emissions.shape, member.moves.shape, member.end.shape)
    fit = shapes == ((states, patterns), (states, states), (states,))
    tables = (member.start, member.moves, member.end)
    probable = fit and all((values > 0).all() and (values <= 1).all() for values in tables)
    if not probable or not np.allclose(member.moves.sum(axis=1) + member.end, 1.0, atol=1e-6):
        raise ModelError(
            f"the weights in {folder} do not fit together",
            seen=f"states and patterns of shapes {shapes}",
            allowed=f"[{states}, {patterns}], and probabilities that sum to 1",
            next_step="copy or train the model again",
        )


def check_options(model: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings that make no sense.

    Raises:
        ConfigError: One does not.
    """
    at_least(model, "clusters", settings["clusters"], 1, MOST_CLUSTERS)
    at_least(model, "members", settings["members"], 1, 100)
    at_least(model, "iterations", settings["iterations"], 0)
    at_least(model, "rarest", settings["rarest"], 1)
    at_least(model, "vocabulary", settings["vocabulary"], 1)
    check_choice(model, "reassign", settings["reassign"], ("expected", "best"))
    for name in ("smoothing", "move_smoothing", "power"):
        check_weight(f"{model}'s `{name}`", settings[name], least=1e-6, most=1000.0)


class CommitteeSteps:
    """Partial orders of a text that grow to the right; satisfies `weft.models.PrefixSteps`.

    What is carried along is p(state) of the last sentence of every path, for each member.

    Args:
        committee: The models.
        sentences: Of the text.
    """

    def __init__(self, committee: HmmCommittee, sentences: Sequence[Patterns]) -> None:
        tables = committee.likelihoods(sentences)
        self.members = [_MemberSteps(hmm, table) for hmm, table in zip(committee.members, tables, strict=True)]
        self.size, self.placed = len(sentences), 0
        self.scale = 1.0 / max(self.size - 1, 1)  # what a whole path gains is then its score

    def begin(self, firsts: Sequence[int]) -> Reals:
        """What the first sentences gain by standing first: [paths]."""
        self.placed = 1
        found: Reals = self.scale * np.mean([member.begin(firsts) for member in self.members], axis=0)
        return found

    def gains(self) -> Reals:
        """[paths, sentences]; the last place also has the chance that the text ends there."""
        last = self.placed == self.size - 1
        found: Reals = self.scale * np.mean([member.gains(last=last) for member in self.members], axis=0)
        return found

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Go on with some paths, one sentence longer."""
        self.placed += 1
        for member in self.members:
            member.keep(rows, columns)


class _MemberSteps:
    def __init__(self, hmm: ClusterHmm, likelihood: Reals) -> None:
        self.hmm = hmm
        highest = likelihood.max(axis=1, keepdims=True)
        self.likely = np.exp(likelihood - highest)  # [sentences, states]
        self.alone = np.log(self.likely @ hmm.usual)  # [sentences], relative to the highest, as all that follows

    def begin(self, firsts: Sequence[int]) -> Reals:
        self.ahead = np.broadcast_to(self.hmm.start, (len(firsts), len(self.hmm.start)))  # [paths, states]
        gained = np.log(np.maximum(self.ahead @ self.likely.T, TINY)) - self.alone  # [paths, sentences]
        self.keep(range(len(firsts)), firsts)
        found: Reals = gained[np.arange(len(firsts)), np.asarray(firsts, dtype=np.int64)]
        return found

    def gains(self, *, last: bool) -> Reals:
        ahead = self.ahead * self.hmm.end if last else self.ahead
        found: Reals = np.log(np.maximum(ahead @ self.likely.T, TINY)) - self.alone
        return found

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        now = self.ahead[np.asarray(rows, dtype=np.int64)] * self.likely[np.asarray(columns, dtype=np.int64)]
        now = now / np.maximum(now.sum(axis=1, keepdims=True), TINY)
        self.ahead = now @ self.hmm.moves  # [paths, states], before the next sentence is seen
