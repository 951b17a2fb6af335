"""What the syntax HMM and the content HMM have in common: everything but what they see of a sentence."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from weft.document import Document, Score
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.models.common.setting_checks import check_seed, rebuild, untrained
from weft.models.hmm.cluster_hmm import HmmOptions, PatternVocabulary
from weft.models.hmm.committee import VOCABULARY, CommitteeSteps, HmmCommittee, check_options
from weft.models.hmm.syntax_patterns import Patterns
from weft.progress import Progress, silent
from weft.protocols import PrefixSteps

SCORE_RANGE = "around 0"
COMPARABLE = "roughly, between texts of one kind"
_OPTIONS = tuple(inspect.signature(HmmOptions).parameters)


class HmmModel(ABC):
    """A committee of hidden Markov models over clusters of sentences.

    Args:
        settings: Those of the constructor, by name.
    """

    name: str

    def __init__(self, settings: Mapping[str, Any]) -> None:
        check_options(self.name, settings)
        self.settings = dict(settings)
        self.committee: HmmCommittee | None = None

    @abstractmethod
    def patterns(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Patterns]:
        """What is seen of each sentence: a bag."""

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Cluster sentences and learn how clusters follow each other."""
        check_seed(self.name, seed)
        texts = [paragraph.sentences for document in documents for paragraph in document.paragraphs()]
        found = iter(self.patterns([sentence for text in texts for sentence in text], progress=progress))
        read = [[next(found) for _ in text] for text in texts]
        known = PatternVocabulary.of(
            [sentence for document in read for sentence in document],
            self.settings["rarest"],
            self.settings["vocabulary"],
        )
        self.committee = HmmCommittee.learn(
            read, known, self._options(), members=self.settings["members"], seed=seed, progress=progress
        )
        return self

    def _options(self) -> HmmOptions:
        return HmmOptions(**{name: self.settings[name] for name in _OPTIONS if name in self.settings})

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document."""
        committee = self._learned()
        return [committee.score(self.patterns(document.sentences)) for document in documents]

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The scores of several orders of a document's sentences, which are looked at once."""
        return self._learned().order_scores(self.patterns(document.sentences), orders)

    def prefix_steps(self, document: Document) -> PrefixSteps:
        """A search over a document's sentences."""
        return CommitteeSteps(self._learned(), self.patterns(document.sentences))

    def _learned(self) -> HmmCommittee:
        if self.committee is None:
            raise untrained(self.name)
        return self.committee

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the states."""
        save_artifact(replace(self.to_artifact(), training=self.made(training)), folder)

    def made(self, training: Mapping[str, Any] | None) -> dict[str, Any]:
        """How it was made."""
        return dict(training or {})

    def to_artifact(self) -> Artifact:
        """What is written."""
        committee = self._learned()
        texts = {VOCABULARY: "\n".join(committee.known.numbers)}
        return Artifact(self.name, self.settings, committee.tensors(), texts, {})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        return cls.from_artifact(load_artifact(folder), folder)

    @classmethod
    def from_artifact(cls, artifact: Artifact, folder: str | Path) -> Self:
        """The model that a folder was found to hold."""
        model = rebuild(cls, artifact, folder, tuple(inspect.signature(cls).parameters))
        model.committee = HmmCommittee.from_artifact(
            artifact, folder, members=model.settings["members"], power=model.settings["power"]
        )
        return model
