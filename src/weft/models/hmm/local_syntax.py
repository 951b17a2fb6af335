"""The local model of Louis & Nenkova (2012): syntactic patterns of adjacent sentences.

Reference: A. Louis and A. Nenkova, "A coherence model based on syntactic patterns", EMNLP 2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.syntax.sentence_parser import SentenceParser, parsed_by
from weft.document import Document, Score
from weft.io.model_folder import Artifact, require
from weft.models.common.setting_checks import check_seed, misfit, untrained
from weft.models.common.trained_model import TrainedModel
from weft.models.hmm.cluster_hmm import PatternVocabulary
from weft.models.hmm.committee import VOCABULARY
from weft.models.hmm.syntax_patterns import PatternFields, PatternFinder, check_treebank, pattern_setting
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.scoring.uni_bi_mmi import mean_score
from weft.settings import Settings, setting

Reals = npt.NDArray[np.float64]
HIGHEST_COUNT = 2**16 - 1
ROWS_AT_ONCE = 2048


@dataclass(frozen=True, kw_only=True)
class SyntaxLocalSettings(PatternFields, Settings):
    """Settings of `syntax-local`."""

    model_name: ClassVar[str] = "syntax-local"
    pattern: str = pattern_setting("productions")
    smoothing: float = setting(0.1, "Mean pseudo-count of each pair of patterns.", minimum=1e-6, maximum=1e6)
    rarest: int = setting(2, "Number of sentences that a pattern must occur in to be kept.", minimum=1)
    vocabulary: int = setting(300, "Number of most frequent patterns to keep.", minimum=1, maximum=5000)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_treebank(self.model_name, self)


class SyntaxLocal(TrainedModel):
    """Mean gain in log-probability of a sentence's patterns from knowing those of the sentence before.

    p(pattern | sentence before) is the mean of p(pattern | q) over the patterns q of that sentence, estimated from all
    adjacent sentences of the training texts and smoothed. A transition gets the mean over the patterns of its second
    sentence of log p(pattern | sentence before) − log p(pattern).

    Paper: Louis and Nenkova multiply the probabilities. Here the part that is the same in every order is omitted, and
    long sentences have the same weight as short ones.

    Example:
        >>> from weft.corpora.syntax.trees import read_tree, TreeBank
        >>> ask, tell = "(SQ (VBZ Is) (PRP it) (. ?))", "(S (PRP It) (VBZ is) (. .))"
        >>> model = SyntaxLocal(SyntaxLocalSettings(trees="penn", treebank="toy", rarest=1))
        >>> model.finder.bank = TreeBank([read_tree(ask), read_tree(tell)])
        >>> model = model.fit([Document(str(n), ("Is it?", "It is.")) for n in range(5)])
        >>> table = model.pair_table(Document("d", ("Is it?", "It is.")))
        >>> bool(table[0, 1] > table[1, 0])
        True
    """

    card = ModelCard(
        summary="syntactic patterns of adjacent sentences",
        reference="Louis & Nenkova 2012",
        score_range="around 0",
        meaning="log-ratio of the probability of a sentence's structure after the one before and anywhere",
        comparable="roughly, between texts of one kind",
        needs="the extra `parse`; trained weights (pip install ./zoo) or training",
        extra="parse",
    )
    Settings = SyntaxLocalSettings
    settings: SyntaxLocalSettings

    def __init__(self, settings: SyntaxLocalSettings | None = None) -> None:
        super().__init__(settings)
        self.finder = PatternFinder(self.settings)
        self.vocabulary: PatternVocabulary | None = None
        self.counts = np.zeros((0, 0), dtype=np.uint16)  # [patterns before, patterns]
        self.totals = np.zeros(0)  # [patterns]

    def with_parser(self, parser: SentenceParser) -> Self:
        """Use this parser instead of searching for one, and return the model."""
        self.finder.parser = parser
        return self

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same trained model with another parser."""
        changed = type(self)(self.settings.adjusted(changes))
        changed.vocabulary, changed.counts, changed.totals = self.vocabulary, self.counts, self.totals
        return changed

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Count the patterns of adjacent sentences."""
        check_seed(self.settings.model_name, seed)
        read = self.finder.find_documents(documents, progress=progress)
        sentences = [sentence for document in read for sentence in document]
        self.vocabulary = PatternVocabulary.of(sentences, self.settings.rarest, self.settings.vocabulary)
        bags = self.vocabulary.bags(read)
        inside = np.ones(len(sentences), dtype=bool)
        inside[bags.offsets[1:][np.diff(bags.offsets) > 0] - 1] = False
        lefts = np.flatnonzero(inside)
        pairs = (bags.counts[lefts].T @ bags.counts[lefts + 1]).toarray()  # [patterns before, patterns]
        self.counts = np.minimum(pairs, HIGHEST_COUNT).astype(np.uint16)
        self.totals = np.asarray(bags.counts.sum(axis=0), dtype=np.float64).ravel()
        return self

    def _shares(self) -> tuple[Reals, Reals]:
        """Return p(pattern | pattern before), [patterns before, patterns], and p(pattern), [patterns]."""
        anywhere = self.totals / self.totals.sum()
        smoothed = self.counts + self.settings.smoothing * len(anywhere) * anywhere
        return smoothed / smoothed.sum(axis=1, keepdims=True), anywhere

    def _gains(self, counts: Any) -> Reals:
        """Return the gain of each pattern after each sentence: [sentences, patterns]."""
        shares, anywhere = self._shares()
        sizes = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        mixed = np.asarray(counts @ shares, dtype=np.float64) / np.maximum(sizes, 1.0)[:, None]
        mixed[sizes == 0] = anywhere  # after a sentence without known patterns, nothing is gained
        found: Reals = np.log(mixed / anywhere)
        return found

    def _bag(self, sentences: Sequence[str]) -> Any:
        if self.vocabulary is None:
            raise untrained(self.settings.model_name)
        return self.vocabulary.bags([self.finder.find(sentences)]).counts

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return a remark if the parser cannot read the document."""
        return self.finder.remarks(document)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the mean gain of each document's transitions."""
        return [self._score(self._bag(document.sentences)) for document in documents]

    def _score(self, counts: Any) -> Score:
        parts: list[float] = []
        for start in range(0, counts.shape[0] - 1, ROWS_AT_ONCE):  # bounds memory for long texts
            rows = counts[start : start + ROWS_AT_ONCE + 1]
            after = _per_pattern(rows[1:])
            parts += np.asarray(after.multiply(self._gains(rows[:-1])).sum(axis=1)).ravel().tolist()
        return mean_score(parts)

    def pair_table(self, document: Document) -> Reals:
        """Return the gain of each sentence after each other: [sentences, sentences]."""
        counts = self._bag(document.sentences)
        found: Reals = np.asarray((_per_pattern(counts) @ self._gains(counts).T).T, dtype=np.float64)
        return np.ascontiguousarray(found)

    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder."""
        if self.vocabulary is None:
            raise untrained(self.settings.model_name)
        tensors: dict[str, Any] = {"counts": self.counts, "totals": self.totals}
        texts = {VOCABULARY: "\n".join(self.vocabulary.numbers)}
        made = parsed_by(self.finder.parser)
        return Artifact(self.settings.model_name, self.settings.to_dict(), tensors, texts, made)

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the counts from the contents of a model folder."""
        require(artifact, folder, tensors=("counts", "totals"), texts=(VOCABULARY,))
        self.vocabulary = PatternVocabulary.read(artifact.texts[VOCABULARY])
        self.counts, self.totals = artifact.tensors["counts"], artifact.tensors["totals"].astype(np.float64)
        size = len(self.vocabulary.numbers)
        fits = self.counts.shape == (size, size) and self.totals.shape == (size,) and self.counts.dtype == np.uint16
        if not fits or not (np.isfinite(self.totals) & (self.totals > 0)).all():
            raise misfit(folder, f"counts of shape {self.counts.shape}", f"counts of {size} patterns, above 0")


def _per_pattern(counts: Any) -> Any:
    """Return counts as shares of a sentence's patterns: sparse [sentences, patterns]."""
    from scipy.sparse import diags

    sizes = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    return (diags(1.0 / np.maximum(sizes, 1.0)) @ counts).tocsr()
