"""Base of the syntax HMM and the content HMM, which differ in the patterns they read from a sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from weft.document import Document, Score
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.models.common.setting_checks import check_seed, restored_settings, untrained
from weft.models.hmm.cluster_hmm import HmmFields
from weft.models.hmm.committee import VOCABULARY, CommitteeOrderSearch, HmmCommittee
from weft.models.hmm.syntax_patterns import Patterns
from weft.progress import Progress, silent
from weft.protocols import OrderSearch
from weft.settings import Settings as ModelSettings

SCORE_RANGE = "around 0"
COMPARABLE = "roughly, between texts of one kind"


class HmmModel(ABC):
    """A committee of hidden Markov models over clusters of sentences."""

    Settings: ClassVar[type[ModelSettings]]
    settings: ModelSettings
    smallest = 0  # sentences below which clusters are merged

    def __init__(self, settings: ModelSettings) -> None:
        assert isinstance(settings, HmmFields)
        self.settings, self.hmm_settings = settings, settings
        self.committee: HmmCommittee | None = None  # learned by `fit`

    @abstractmethod
    def patterns(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Patterns]:
        """Return the bag of patterns of each sentence."""

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Cluster sentences and learn the transitions between clusters."""
        check_seed(self.settings.model_name, seed)
        texts = [paragraph.sentences for document in documents for paragraph in document.paragraphs()]
        found = iter(self.patterns([sentence for text in texts for sentence in text], progress=progress))
        read = [[next(found) for _ in text] for text in texts]
        self.committee = HmmCommittee.learn(
            read, self.hmm_settings, smallest=self.smallest, seed=seed, progress=progress
        )
        return self

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document."""
        committee = self._learned()
        return [committee.score(self.patterns(document.sentences)) for document in documents]

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order; the patterns of the sentences are computed once."""
        return self._learned().order_scores(self.patterns(document.sentences), orders)

    def order_search(self, document: Document) -> OrderSearch:
        """Return the state of a beam search over the document's sentences."""
        return CommitteeOrderSearch(self._learned(), self.patterns(document.sentences))

    def _learned(self) -> HmmCommittee:
        if self.committee is None:
            raise untrained(self.settings.model_name)
        return self.committee

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the states."""
        committee = self._learned()
        texts = {VOCABULARY: "\n".join(committee.vocabulary.numbers)}
        record = {**(training or {}), **self.training_record()}
        artifact = Artifact(self.settings.model_name, self.settings.to_dict(), committee.tensors(), texts, record)
        save_artifact(artifact, folder)

    def training_record(self) -> dict[str, str]:
        """Return what the model adds to the training record."""
        return {}

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        artifact = load_artifact(folder)
        model = cls(restored_settings(cls.Settings, artifact, folder))
        chosen = model.hmm_settings
        model.committee = HmmCommittee.from_artifact(artifact, folder, members=chosen.members, power=chosen.power)
        return model
