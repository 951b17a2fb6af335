"""The local model of Louis & Nenkova (2012): which patterns of syntax stand in neighbouring sentences."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.syntax.sentence_parser import SentenceParser
from weft.document import Document, Score
from weft.errors import ModelError
from weft.io.model_folder import Artifact, load_artifact, require, save_artifact
from weft.models.common.setting_checks import at_least, check_seed, check_weight, rebuild, untrained
from weft.models.hmm.cluster_hmm import PatternVocabulary
from weft.models.hmm.committee import VOCABULARY
from weft.models.hmm.syntax_patterns import PatternFinder
from weft.progress import Progress, silent
from weft.protocols import ModelCard

Reals = npt.NDArray[np.float64]
HIGHEST_COUNT = 2**16 - 1
ROWS_AT_ONCE = 2048


class SyntaxLocal:
    """Mean gain of each sentence's patterns by knowing those of the sentence before.

    p(pattern | sentence before) is the mean over the patterns q of that sentence of p(pattern | q), counted over all
    neighbours of the training texts and smoothed. The gain is log p(pattern | sentence before) − log p(pattern), its
    mean over the patterns of a sentence what a transition gets.

    Paper: Louis and Nenkova multiply the probabilities. The part of a product that is the same in every order is left
    out here, and long sentences count no more than short ones.

    Args:
        pattern: ``productions`` or ``sequence`` (labels side by side at some depth of the tree).
        depth: Of a sequence's cut through the tree; 0 for the tags of the words.
        trees: ``dependency``, by a parser, or ``penn``, from a file.
        parser: A spaCy pipeline by name; empty for what is there.
        treebank: The file of Penn trees.
        smoothing: How much every pair of patterns counts beforehand, on the average.
        rarest: Patterns of fewer sentences are left out.
        vocabulary: How many patterns are kept at most.

    Example:
        >>> from weft.corpora.syntax.trees import read_tree, TreeBank
        >>> ask, tell = "(SQ (VBZ Is) (PRP it) (. ?))", "(S (PRP It) (VBZ is) (. .))"
        >>> model = SyntaxLocal(trees="penn", treebank="toy", rarest=1)
        >>> model.finder.bank = TreeBank([read_tree(ask), read_tree(tell)])
        >>> model = model.fit([Document(str(n), ("Is it?", "It is.")) for n in range(5)])
        >>> table = model.pair_table(Document("d", ("Is it?", "It is.")))
        >>> bool(table[0, 1] > table[1, 0])
        True
    """

    name = "syntax-local"
    adjustable = ("parser",)
    card = ModelCard(
        summary="which patterns of syntax stand in neighbouring sentences",
        reference="Louis & Nenkova 2012",
        score_range="around 0",
        meaning="how much likelier a sentence's structure is after the one before than anywhere",
        comparable="roughly, between texts of one kind",
        needs="the extra `parse`; zoo/syntax-local-accidents, or training (weft train configs/syntax-local.toml)",
    )

    def __init__(
        self,
        pattern: str = "productions",
        depth: int = 0,
        trees: str = "dependency",
        parser: str = "",
        treebank: str = "",
        smoothing: float = 0.1,
        rarest: int = 2,
        vocabulary: int = 300,
    ) -> None:
        self.settings = {name: value for name, value in locals().items() if name != "self"}
        self.finder = PatternFinder(pattern=pattern, depth=depth, trees=trees, parser=parser, treebank=treebank)
        self.finder.check(self.name)
        check_weight(f"{self.name}'s `smoothing`", smoothing, least=1e-6, most=1e6)
        at_least(self.name, "rarest", rarest, 1)
        at_least(self.name, "vocabulary", vocabulary, 1, 5000)
        self.known: PatternVocabulary | None = None
        self.counts = np.zeros((0, 0), dtype=np.uint16)  # [patterns before, patterns]
        self.totals = np.zeros(0)  # [patterns]

    def with_parser(self, parser: SentenceParser) -> Self:
        """The same model, given its parser instead of finding one."""
        self.finder.loaded = parser
        return self

    @property
    def parser(self) -> str:
        """The spaCy pipeline by name."""
        return self.finder.parser

    def adjusted(self, settings: Mapping[str, Any]) -> Self:
        """The same model with another parser."""
        changed = type(self)(**{**self.settings, **settings})
        changed.known, changed.counts, changed.totals = self.known, self.counts, self.totals
        return changed

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Count patterns of neighbouring sentences."""
        check_seed(self.name, seed)
        read = self.finder.find_documents(documents, progress=progress)
        sentences = [sentence for document in read for sentence in document]
        self.known = PatternVocabulary.of(sentences, self.settings["rarest"], self.settings["vocabulary"])
        bags = self.known.bags(read)
        inside = np.ones(len(sentences), dtype=bool)
        inside[bags.offsets[1:][np.diff(bags.offsets) > 0] - 1] = False
        lefts = np.flatnonzero(inside)
        pairs = (bags.counts[lefts].T @ bags.counts[lefts + 1]).toarray()  # [patterns before, patterns]
        self.counts = np.minimum(pairs, HIGHEST_COUNT).astype(np.uint16)
        self.totals = np.asarray(bags.counts.sum(axis=0), dtype=np.float64).ravel()
        return self

    def _shares(self) -> tuple[Reals, Reals]:
        """p(pattern | a pattern before) and p(pattern): [patterns before, patterns] and [patterns]."""
        anywhere = self.totals / self.totals.sum()
        smoothed = self.counts + self.settings["smoothing"] * len(anywhere) * anywhere
        return smoothed / smoothed.sum(axis=1, keepdims=True), anywhere

    def _gains(self, counts: Any) -> Reals:
        """What each pattern gains after each sentence: [sentences, patterns]."""
        shares, anywhere = self._shares()
        sizes = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        mixed = np.asarray(counts @ shares, dtype=np.float64) / np.maximum(sizes, 1.0)[:, None]
        mixed[sizes == 0] = anywhere  # a sentence of which nothing is known says nothing
        found: Reals = np.log(mixed / anywhere)
        return found

    def _bag(self, sentences: Sequence[str]) -> Any:
        if self.known is None:
            raise untrained(self.name)
        return self.known.bags([self.finder.find(sentences)]).counts

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Whether it may be beyond the parser."""
        return self.finder.remarks(document)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean gain of its transitions."""
        return [self._score(self._bag(document.sentences)) for document in documents]

    def _score(self, counts: Any) -> Score:
        parts: list[float] = []
        for start in range(0, counts.shape[0] - 1, ROWS_AT_ONCE):  # memory stays flat, however long the text
            rows = counts[start : start + ROWS_AT_ONCE + 1]
            after = _per_pattern(rows[1:])
            parts += np.asarray(after.multiply(self._gains(rows[:-1])).sum(axis=1)).ravel().tolist()
        return Score(math.fsum(parts) / len(parts), tuple(parts)) if parts else Score(None)

    def pair_table(self, document: Document) -> Reals:
        """The gain of every sentence after every other: [sentences, sentences]."""
        counts = self._bag(document.sentences)
        found: Reals = np.asarray((_per_pattern(counts) @ self._gains(counts).T).T, dtype=np.float64)
        return np.ascontiguousarray(found)

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the counts."""
        if self.known is None:
            raise untrained(self.name)
        tensors: dict[str, Any] = {"counts": self.counts, "totals": self.totals}
        texts = {VOCABULARY: "\n".join(self.known.numbers)}
        save_artifact(Artifact(self.name, self.settings, tensors, texts, self.finder.made(training)), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        artifact = load_artifact(folder)
        require(artifact, folder, tensors=("counts", "totals"), texts=(VOCABULARY,))
        model = rebuild(cls, artifact, folder, tuple(inspect.signature(cls).parameters))
        model.known = PatternVocabulary.read(artifact.texts[VOCABULARY])
        model.counts, model.totals = artifact.tensors["counts"], artifact.tensors["totals"].astype(np.float64)
        size = len(model.known.numbers)
        fits = model.counts.shape == (size, size) and model.totals.shape == (size,) and model.counts.dtype == np.uint16
        if not fits or not (np.isfinite(model.totals) & (model.totals > 0)).all():
            raise ModelError(
                f"the weights in {folder} do not fit together",
                seen=f"counts of shape {model.counts.shape} for {size} patterns",
                allowed="the folder exactly as `weft train` wrote it",
                next_step="copy or train the model again",
            )
        return model


def _per_pattern(counts: Any) -> Any:
    """Counts as shares of a sentence's patterns: sparse [sentences, patterns]."""
    from scipy.sparse import diags

    sizes = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    return (diags(1.0 / np.maximum(sizes, 1.0)) @ counts).tocsr()
