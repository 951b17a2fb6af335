"""A committee of hidden Markov models, learned from different clusterings of the same sentences.

Clusterings of a few hundred sentences depend on chance, and the accuracy of single models differs by several points.
The mean of several models is more stable and more accurate than each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from weft.document import Score
from weft.io.model_folder import Artifact, require
from weft.models.common.setting_checks import check_finite, misfit
from weft.models.hmm.cluster_hmm import ClusterHmm, HmmFields, PatternVocabulary, Reals, learn_hmm
from weft.models.hmm.syntax_patterns import Patterns
from weft.progress import Progress, silent
from weft.scoring.uni_bi_mmi import mean_score

VOCABULARY = "patterns.txt"
TENSORS = ("emissions", "start", "moves", "end")
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class HmmCommittee:
    """Hidden Markov models that share a vocabulary."""

    vocabulary: PatternVocabulary
    members: tuple[ClusterHmm, ...]

    @classmethod
    def learn(
        cls,
        documents: Sequence[Sequence[Patterns]],
        options: HmmFields,
        *,
        smallest: int = 0,
        seed: int,
        progress: Progress = silent,
    ) -> Self:
        """Learn all members from the same documents, each with its own seed."""
        sentences = [sentence for document in documents for sentence in document]
        vocabulary = PatternVocabulary.of(sentences, options.rarest, options.vocabulary)
        bags = vocabulary.bags(documents)
        found = []
        for number in range(options.members):
            progress("learning states", number, options.members)
            found.append(_rounded(learn_hmm(bags, options, smallest=smallest, seed=seed + number)))
        progress("learning states", options.members, options.members)
        return cls(vocabulary, tuple(found))

    def likelihoods(self, sentences: Sequence[Patterns]) -> list[Reals]:
        """Return, for each member, the likelihoods of the sentences: [sentences, states]."""
        counts = self.vocabulary.bags([sentences]).counts
        return [member.likelihood(counts) for member in self.members]

    def gains(self, sentences: Sequence[Patterns], orders: Sequence[Sequence[int]]) -> list[Reals]:
        """Return the mean over members of the gains of each order's sentences."""
        found = [
            member.gains(table, orders) for member, table in zip(self.members, self.likelihoods(sentences), strict=True)
        ]
        return [np.mean(of_order, axis=0) for of_order in zip(*found, strict=True)]

    def order_scores(self, sentences: Sequence[Patterns], orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return one score per order; None for fewer than two sentences."""
        longer = [order for order in orders if len(order) > 1]
        values = iter(self.gains(sentences, longer) if longer else [])
        return [math.fsum(next(values).tolist()) / (len(order) - 1) if len(order) > 1 else None for order in orders]

    def score(self, sentences: Sequence[Patterns]) -> Score:
        """Return the score of a text; the first transition includes the gain of the first sentence."""
        if len(sentences) < 2:
            return Score(None)
        gains = self.gains(sentences, [range(len(sentences))])[0]
        parts = gains[1:].copy()
        parts[0] += gains[0]
        return mean_score(parts.tolist())

    def tensors(self) -> dict[str, Any]:
        """Return the arrays that are saved."""
        found: dict[str, Any] = {}
        for number, member in enumerate(self.members):
            found[f"emissions.{number}"] = member.emissions.astype(np.float16)
            found[f"start.{number}"] = member.start
            found[f"moves.{number}"] = member.moves
            found[f"end.{number}"] = member.end
        return found

    @classmethod
    def from_artifact(cls, artifact: Artifact, folder: str | Path, *, members: int, power: float) -> Self:
        """Return the committee that `tensors` saved.

        Raises:
            ModelError: An array is missing or has the wrong shape or values.
        """
        names = tuple(f"{name}.{number}" for number in range(members) for name in TENSORS)
        require(artifact, folder, tensors=names, texts=(VOCABULARY,))
        vocabulary = PatternVocabulary.read(artifact.texts[VOCABULARY])
        found = []
        for number in range(members):
            arrays = [artifact.tensors[f"{name}.{number}"].astype(np.float64) for name in TENSORS]
            member = ClusterHmm(arrays[0], arrays[1], arrays[2], arrays[3], power)
            check_finite(folder, **{f"{n}.{number}": a for n, a in zip(TENSORS, arrays, strict=True)})
            _check_shapes(member, len(vocabulary.numbers), folder)
            found.append(member)
        return cls(vocabulary, tuple(found))


def _rounded(hmm: ClusterHmm) -> ClusterHmm:
    """Return the model rounded as it is saved, so that saving changes no score."""
    return replace(hmm, emissions=hmm.emissions.astype(np.float16).astype(np.float64))


def _check_shapes(member: ClusterHmm, patterns: int, folder: str | Path) -> None:
    states = len(member.start)
    shapes = (member.emissions.shape, member.moves.shape, member.end.shape)
    fit = shapes == ((states, patterns), (states, states), (states,))
    tables = (member.start, member.moves, member.end)
    probable = fit and all((values > 0).all() and (values <= 1).all() for values in tables)
    if not probable or not np.allclose(member.moves.sum(axis=1) + member.end, 1.0, atol=1e-6):
        seen = f"states and patterns of shapes {shapes}"
        raise misfit(folder, seen, f"[{states}, {patterns}], and probabilities that sum to 1")


class CommitteeOrderSearch:
    """The state of a beam search with a committee; a `weft.protocols.OrderSearch`.

    Each path keeps p(state of its last sentence), for each member.
    """

    def __init__(self, committee: HmmCommittee, sentences: Sequence[Patterns]) -> None:
        tables = committee.likelihoods(sentences)
        self.members = [_MemberOrderSearch(hmm, table) for hmm, table in zip(committee.members, tables, strict=True)]
        self.size, self.placed = len(sentences), 0
        self.scale = 1.0 / max(self.size - 1, 1)  # the gains of a whole path then sum to its score

    def begin(self, firsts: Sequence[int]) -> Reals:
        """Start one path with each of these sentences, and return their gains: [paths]."""
        self.placed = 1
        found: Reals = self.scale * np.mean([member.begin(firsts) for member in self.members], axis=0)
        return found

    def gains(self) -> Reals:
        """Return the gain of each next sentence, [paths, sentences]; the last one includes the end of the text."""
        last = self.placed == self.size - 1
        found: Reals = self.scale * np.mean([member.gains(last=last) for member in self.members], axis=0)
        return found

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        self.placed += 1
        for member in self.members:
            member.keep(rows, columns)


class _MemberOrderSearch:
    def __init__(self, hmm: ClusterHmm, likelihood: Reals) -> None:
        self.hmm = hmm
        highest = likelihood.max(axis=1, keepdims=True)
        self.likely = np.exp(likelihood - highest)  # [sentences, states]
        # [sentences], relative to the highest, like all gains below
        self.marginal = np.log(self.likely @ hmm.state_shares)

    def begin(self, firsts: Sequence[int]) -> Reals:
        self.ahead = np.broadcast_to(self.hmm.start, (len(firsts), len(self.hmm.start)))  # [paths, states]
        gained = np.log(np.maximum(self.ahead @ self.likely.T, TINY)) - self.marginal  # [paths, sentences]
        self.keep(range(len(firsts)), firsts)
        found: Reals = gained[np.arange(len(firsts)), np.asarray(firsts, dtype=np.int64)]
        return found

    def gains(self, *, last: bool) -> Reals:
        ahead = self.ahead * self.hmm.end if last else self.ahead
        found: Reals = np.log(np.maximum(ahead @ self.likely.T, TINY)) - self.marginal
        return found

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        now = self.ahead[np.asarray(rows, dtype=np.int64)] * self.likely[np.asarray(columns, dtype=np.int64)]
        now = now / np.maximum(now.sum(axis=1, keepdims=True), TINY)
        self.ahead = now @ self.hmm.moves  # [paths, states], before the next sentence is seen
