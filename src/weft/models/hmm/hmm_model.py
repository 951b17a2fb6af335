"""Base of the syntax HMM and the content HMM, which differ in the patterns they read from a sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self

from weft.document import Document, Score
from weft.io.model_folder import Artifact
from weft.models.common.setting_checks import check_seed, untrained
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

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = settings or self.Settings()
        assert isinstance(self.settings, HmmFields)
        self.hmm_settings: HmmFields = self.settings
        self.committee: HmmCommittee | None = None  # learned by `fit`

    @property
    def smallest(self) -> int:
        """The number of sentences below which clusters are merged; 0 for none."""
        return 0

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

    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder."""
        committee = self._learned()
        texts = {VOCABULARY: "\n".join(committee.vocabulary.numbers)}
        tensors, record = committee.tensors(), self.training_record()
        return Artifact(self.settings.model_name, self.settings.to_dict(), tensors, texts, record)

    def training_record(self) -> dict[str, str]:
        """Return what the model adds to the training record."""
        return {}

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the states from the contents of a model folder."""
        chosen = self.hmm_settings
        self.committee = HmmCommittee.from_artifact(artifact, folder, members=chosen.members, power=chosen.power)
