"""Foltz coherence over topic distributions: LDA with 300 topics (the paper's Foltz-LDA).

tomotopy learns the topics by collapsed Gibbs sampling. The topics of a sentence are then found in numpy by a fixed
number of deterministic folding-in steps, so that a text always gets the same score and scoring needs no tomotopy.

Reference: D. Blei, A. Ng and M. Jordan, "Latent Dirichlet allocation", JMLR 3 (2003).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.text.words import words_only
from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.io.model_folder import Artifact, require
from weft.models.common.bag_of_words import Vocabulary
from weft.models.common.setting_checks import check_finite, check_seed, misfit, untrained
from weft.models.common.trained_model import TrainedModel
from weft.models.common.word_vectors import VOCABULARY, Vectors
from weft.models.lexical.cosine import COMPARABLE, CosineModel
from weft.models.lexical.lsa import paragraph_texts
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings, setting

SENTENCES_AT_ONCE = 512  # bounds memory: 512 sentences of 25 words with 300 topics are 15 MB
TENSORS = ("counts", "topic_of", "word_ends", "alpha")
RAREST = 2  # occurrences; a word that occurs once carries no information about topics
CHUNK_ITERATIONS = 10  # tomotopy trains in calls of this many, so that progress can be shown


@dataclass(frozen=True)
class Topics:
    """A sparse topic-word distribution: most words occur in few topics."""

    vocabulary: Vocabulary
    counts: npt.NDArray[np.int32]  # [nonzeros] number of times a word was assigned to a topic
    topic_of: npt.NDArray[np.int16]  # [nonzeros] the topic
    word_ends: npt.NDArray[np.int64]  # [words] end of each word's entries
    alpha: npt.NDArray[np.float32]  # [topics] prior over topics
    eta: float  # prior of every word in every topic

    @cached_property
    def word_given_topic(self) -> npt.NDArray[np.float32]:
        """p(word | topic): [words, topics]."""
        words = len(self.vocabulary.words)
        dense = np.full((words, len(self.alpha)), self.eta, dtype=np.float32)
        spans = np.diff(self.word_ends, prepend=0)
        word_of = np.repeat(np.arange(words), spans)  # [nonzeros]
        dense[word_of, self.topic_of] += self.counts
        normalized: npt.NDArray[np.float32] = dense / dense.sum(axis=0)
        return normalized


def fold_in(
    likelihood: npt.NDArray[np.float32],
    owner: npt.NDArray[np.int64],
    sentences: int,
    alpha: npt.NDArray[np.float32],
    iterations: int,
) -> npt.NDArray[np.float32]:
    """Return the topic distributions of new sentences under a fixed topic-word distribution.

    Each step computes every word's topic posterior under the current mixture, then sets the mixture to the expected
    counts plus the prior: θ_k ∝ α_k + Σ_w θ_k φ_kw / Σ_j θ_j φ_jw.

    Args:
        likelihood: p(word | topic) of every word token, [tokens, topics].
        owner: The sentence of every token, sorted, [tokens].
        sentences: Number of sentences; a sentence without tokens gets the prior.
        alpha: Prior over topics, [topics].
        iterations: Number of steps.

    Returns:
        θ, [sentences, topics]; rows sum to 1.
    """
    theta = np.tile(alpha / alpha.sum(), (sentences, 1)).astype(np.float32)  # [sentences, topics]
    present, starts = np.unique(owner, return_index=True)
    for _ in range(iterations if len(owner) else 0):
        posterior = likelihood * theta[owner]  # [tokens, topics]
        posterior /= posterior.sum(axis=1, keepdims=True)
        expected = np.add.reduceat(posterior, starts, axis=0) + alpha  # [present, topics]
        theta[present] = expected / expected.sum(axis=1, keepdims=True)
    return theta


@dataclass(frozen=True, kw_only=True)
class FoltzLdaSettings(Settings):
    """Settings of `foltz-lda`."""

    model_name: ClassVar[str] = "foltz-lda"
    topics: int = setting(300, "Number of topics.", minimum=2, maximum=2**15 - 1)
    vocabulary: int = setting(20000, "Number of words to keep, after drop_top is applied.", minimum=1)
    drop_top: int = setting(100, "Number of most frequent words (function words) to drop.", minimum=0)
    iterations: int = setting(200, "Number of Gibbs iterations over the corpus.", minimum=1)
    fold_in_steps: int = setting(30, "Number of steps that find the topics of a new sentence.", minimum=1)


class FoltzLda(CosineModel, TrainedModel):
    """Mean cosine of the topic distributions of adjacent sentences (Foltz-LDA).

    score = 1 / (N − 1) · Σ_n cos(θ_n, θ_{n+1}), where θ_n is the topic distribution of sentence n.

    Paper: "Sentence representations obtained from LDA with 300 topics, trained on the Wikipedia dataset".

    Example:
        >>> texts = [("cats purr", "a cat sleeps"), ("stocks fell", "markets fell")] * 10
        >>> model = FoltzLda(FoltzLdaSettings(topics=2, drop_top=0, iterations=50))
        >>> model = model.fit(Document(str(i), pair) for i, pair in enumerate(texts))
        >>> model.score([Document("d", ("stocks fell", "markets fell"))])[0].value > 0.9
        True
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentences' topic distributions (LDA)",
        reference="Foltz et al. 1998; Blei et al. 2003; Li & Jurafsky 2017 (Foltz-LDA)",
        score_range="0 to 1",
        bar_range=(0.0, 1.0),
        meaning="adjacent sentences share topics of the training corpus",
        comparable=COMPARABLE,
        needs="trained weights (pip install ./zoo) or training with the extra `topics`",
    )
    Settings = FoltzLdaSettings
    settings: FoltzLdaSettings
    learned: Topics | None = None

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn the topics with tomotopy; each paragraph is one document of LDA."""
        check_seed("foltz-lda", seed)
        tomotopy = _import_tomotopy()
        sampler = tomotopy.LDAModel(k=self.settings.topics, min_cf=RAREST, rm_top=self.settings.drop_top, seed=seed)
        counts: Counter[str] = Counter()
        for text in paragraph_texts(documents, progress):
            tokens = words_only(text)
            counts.update(tokens)
            if tokens:
                sampler.add_doc(tokens)
        self._check_words(counts)
        total = self.settings.iterations
        for done in range(0, total, CHUNK_ITERATIONS):
            # Several workers sample in an order that depends on timing; one worker makes results reproducible.
            sampler.train(min(CHUNK_ITERATIONS, total - done), workers=1)
            progress("Gibbs sampling", min(done + CHUNK_ITERATIONS, total), total)
        self.learned = _collect(sampler, self.settings.vocabulary)
        return self

    def _check_words(self, counts: Counter[str]) -> None:
        """Raise CorpusError if no word is left; tomotopy would end the process instead of raising."""
        frequent = sum(count >= RAREST for count in counts.values())
        if frequent > self.settings.drop_top:
            return
        raise CorpusError(
            "no words to learn topics from",
            seen=f"{frequent} words that occur {RAREST} times or more",
            allowed=f"more than foltz-lda's `drop_top`, {self.settings.drop_top}",
            next_step="give more training text, or lower `drop_top`",
        )

    def sentence_vectors(self, sentences: Sequence[str]) -> Vectors:
        """Return topic distributions: [sentences, topics]."""
        if self.learned is None:
            raise untrained("foltz-lda")
        chunks = [
            self._topics_of(self.learned, sentences[start : start + SENTENCES_AT_ONCE])
            for start in range(0, len(sentences), SENTENCES_AT_ONCE)
        ]
        return np.concatenate(chunks) if chunks else np.zeros((0, self.settings.topics), dtype=np.float32)

    def _topics_of(self, learned: Topics, sentences: Sequence[str]) -> Vectors:
        rows = [learned.vocabulary.numbers(sentence) for sentence in sentences]
        owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])  # [tokens]
        flat = np.fromiter((row for sentence in rows for row in sentence), dtype=np.int64, count=len(owner))
        likelihood = learned.word_given_topic[flat]  # [tokens, topics]
        return fold_in(likelihood, owner, len(rows), learned.alpha, self.settings.fold_in_steps)

    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder."""
        if self.learned is None:
            raise untrained("foltz-lda")
        learned = self.learned
        tensors = {name: vars(learned)[name] for name in TENSORS}
        config = self.settings.to_dict() | {"eta": learned.eta}
        texts = {VOCABULARY: "\n".join(learned.vocabulary.words)}
        return Artifact("foltz-lda", config, tensors, texts)

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the topics from the contents of a model folder."""
        require(artifact, folder, tensors=TENSORS, texts=(VOCABULARY,))
        self.learned = _checked_topics(artifact, folder)


def _checked_topics(artifact: Artifact, folder: str | Path) -> Topics:
    vocabulary = tuple(artifact.texts[VOCABULARY].split("\n"))
    counts, topic_of, ends, alpha = (artifact.tensors[name] for name in TENSORS)
    eta = _checked_eta(artifact.config.get("eta", 0.01), folder)
    check_finite(folder, alpha=alpha)
    fits = (
        ends.shape == (len(vocabulary),)
        and all(np.issubdtype(part.dtype, np.integer) for part in (counts, topic_of, ends))
        and counts.shape == topic_of.shape == (int(ends[-1]),)
        and bool((counts >= 0).all())
        and alpha.ndim == 1
        and bool((alpha > 0).all())
        and bool((np.diff(ends, prepend=0) >= 0).all())
        and bool(((topic_of >= 0) & (topic_of < len(alpha))).all())
    )
    if not fits:
        seen = f"{len(vocabulary)} words, {alpha.shape} topics, {topic_of.shape} entries"
        raise misfit(folder, seen, "one span of entries for each word", what="topics")
    return Topics(Vocabulary(vocabulary), counts, topic_of, ends, alpha, eta)


def _checked_eta(value: object, folder: str | Path) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise ModelError(
        f"the settings in {folder} are damaged or were altered: foltz-lda's `eta` is out of range",
        seen="null" if value is None else value,
        allowed="a number above 0",
        next_step="copy or train the model again",
    )


def _collect(sampler: Any, limit: int) -> Topics:
    """Read the assignment counts back out of tomotopy's smoothed, normalised distributions."""
    eta = float(sampler.eta)
    kept = min(limit, len(sampler.used_vocabs))  # used_vocabs is in order of falling frequency
    totals = np.asarray(sampler.get_count_by_topics(), dtype=np.float64)  # [topics]
    per_topic = []
    for topic in range(sampler.k):
        smoothed = np.asarray(sampler.get_topic_word_dist(topic), dtype=np.float64)  # [all words]
        per_topic.append(np.rint(smoothed * (totals[topic] + eta * len(smoothed)) - eta)[:kept])
    counts = np.stack(per_topic, axis=1).astype(np.int32)  # [words, topics]
    word_of, topic_of = np.nonzero(counts)
    return Topics(
        vocabulary=Vocabulary(tuple(sampler.used_vocabs)[:kept]),
        counts=counts[word_of, topic_of],
        topic_of=topic_of.astype(np.int16),
        word_ends=np.cumsum(np.bincount(word_of, minlength=kept)).astype(np.int64),
        alpha=np.asarray(sampler.alpha, dtype=np.float32),
        eta=eta,
    )


def _import_tomotopy() -> Any:
    try:
        import tomotopy
    except ImportError as error:
        raise ConfigError(
            "learning LDA topics needs tomotopy",
            seen="tomotopy is not installed",
            allowed="the extra `topics`",
            next_step="pip install 'weft-coherence[topics]'",
        ) from error
    return tomotopy
