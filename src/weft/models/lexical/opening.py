"""A baseline that reads the first sentence only: how much it looks like the beginning of a text.

Reference: A. McCallum and K. Nigam, "A comparison of event models for naive Bayes text classification", AAAI workshop
on learning for text categorization (1998).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.text.words import words
from weft.document import Document, Score
from weft.errors import CorpusError
from weft.io.model_folder import Artifact, require
from weft.models.common.setting_checks import check_finite, check_seed, misfit, untrained
from weft.models.common.trained_model import TrainedModel
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings, setting

WORDS, WEIGHTS = "vocabulary.txt", "weights"


@dataclass(frozen=True, kw_only=True)
class OpeningSettings(Settings):
    """Settings of `opening`."""

    model_name: ClassVar[str] = "opening"
    vocabulary: int = setting(15000, "Number of most frequent words to keep.", minimum=1)
    smoothing: float = setting(0.1, "Pseudo-count of each word.", minimum=1e-6, maximum=1000.0)
    shortest: int = setting(2, "Number of sentences of the shortest training texts.", minimum=2)


class Opening(TrainedModel):
    """Log-odds that the first sentence is an opening, by naive Bayes over its distinct words.

    value = Σ_w log p(w | first sentences) − log p(w | other sentences). All other sentences of a text are ignored, so
    that two orders with the same first sentence tie. The baseline shows how much of a task its openings give away.

    Example:
        >>> texts = [Document(str(n), ("Once there was a king.", "He ruled.", "He slept.")) for n in range(3)]
        >>> model = Opening().fit(texts)
        >>> good, bad = model.order_scores(Document("d", ("Once there was a cat.", "He slept.")), [(0, 1), (1, 0)])
        >>> good > bad
        True
    """

    card = ModelCard(
        summary="how much the first sentence looks like an opening; all other sentences are ignored",
        reference="none; naive Bayes as a baseline (McCallum & Nigam 1998)",
        score_range="log-odds, around -20 to 20",
        bar_range=(-20.0, 20.0),
        meaning="the words of the first sentence are those of first sentences in the training texts",
        comparable="between texts of the kind it was trained on",
        needs="training",
    )
    Settings = OpeningSettings
    settings: OpeningSettings
    weights: dict[str, float] | None = None  # learned by `fit`

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Count the words of first sentences and of all others."""
        check_seed("opening", seed)
        first, other = Counter[str](), Counter[str]()
        for number, document in enumerate(documents):
            if number % 200 == 0:
                progress("reading documents", number)
            for paragraph in document.paragraphs():
                if len(paragraph.sentences) >= self.settings.shortest:
                    first.update(set(words(paragraph.sentences[0])))
                    other.update(word for sentence in paragraph.sentences[1:] for word in set(words(sentence)))
        self.weights = self._learned(first, other)
        return self

    def _learned(self, first: Counter[str], other: Counter[str]) -> dict[str, float]:
        """Return the log-odds of each word."""
        kept = [word for word, _ in (first + other).most_common(self.settings.vocabulary)]
        if not kept or not first or not other:
            raise CorpusError(
                "not enough text to learn from",
                seen=f"{len(kept)} words in texts of {self.settings.shortest} sentences or more",
                allowed="at least one text of two sentences with words",
                next_step="give more training text, or lower model.shortest",
            )
        values = _log_shares(first, kept, self.settings.smoothing) - _log_shares(other, kept, self.settings.smoothing)
        return dict(zip(kept, values.astype(np.float32).tolist(), strict=True))

    def log_odds(self, sentence: str) -> float:
        """Return the log-odds that a sentence is an opening; unknown words count 0.

        Raises:
            ModelError: The model is not trained.
        """
        if self.weights is None:
            raise untrained("opening")
        return float(sum(self.weights.get(word, 0.0) for word in sorted(set(words(sentence)))))

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the log-odds of each document's first sentence; None for fewer than two sentences."""
        return [
            Score(self.log_odds(document.sentences[0])) if len(document) > 1 else Score(None) for document in documents
        ]

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the log-odds of the first sentence of each order."""
        found = [self.log_odds(sentence) for sentence in document.sentences]
        return [found[order[0]] if len(order) > 1 else None for order in orders]

    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder."""
        if self.weights is None:
            raise untrained("opening")
        tensors = {WEIGHTS: np.array(list(self.weights.values()), dtype=np.float32)}
        texts = {WORDS: "\n".join(self.weights)}
        return Artifact("opening", self.settings.to_dict(), tensors, texts)

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the words and their log-odds from the contents of a model folder."""
        require(artifact, folder, tensors=(WEIGHTS,), texts=(WORDS,))
        names, values = artifact.texts[WORDS].split("\n"), artifact.tensors[WEIGHTS]
        if values.shape != (len(names),):
            raise misfit(folder, f"{values.shape} weights, {len(names)} words", "one weight per word")
        check_finite(folder, weights=values)
        self.weights = dict(zip(names, values.astype(np.float32).tolist(), strict=True))


def _log_shares(counts: Counter[str], kept: Sequence[str], smoothing: float) -> npt.NDArray[np.float64]:
    values = np.array([counts[word] for word in kept], dtype=np.float64) + smoothing  # [words]
    shares: npt.NDArray[np.float64] = np.log(values / values.sum())
    return shares
