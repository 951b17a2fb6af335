"""Foltz coherence over topic distributions: LDA with 300 topics (the paper's Foltz-LDA).

tomotopy learns the topics by collapsed Gibbs sampling. A sentence's topics are then found by a fixed number of
deterministic folding-in steps, in numpy: the same text always gets the same score, and scoring needs no tomotopy.

Reference: D. Blei, A. Ng and M. Jordan, "Latent Dirichlet allocation", JMLR 3 (2003).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.text.words import words_only
from weft.document import Document, Score
from weft.errors import ConfigError, CorpusError, ModelError
from weft.io.model_folder import Artifact, load_artifact, require, save_artifact
from weft.models.common.setting_checks import at_least, check_finite, check_seed, rebuild, untrained
from weft.models.common.word_vectors import VOCABULARY, Vectors
from weft.models.lexical.cosine import COMPARABLE, cosine_scores, cosine_table
from weft.models.lexical.lsa import paragraph_texts
from weft.progress import Progress, silent
from weft.protocols import ModelCard

SENTENCES_AT_ONCE = 512  # bounds memory: 512 sentences of 25 words with 300 topics are 15 MB
RAREST = 2  # a word that occurs once says nothing about topics
CHUNK_ITERATIONS = 10  # tomotopy trains in calls of this many, so that progress can be shown


@dataclass(frozen=True)
class Topics:
    """A topic-word distribution, sparse: a word occurs in few of the topics.

    Attributes:
        vocabulary: The words.
        counts: [nonzeros] how often a word was assigned to a topic.
        topic_of: [nonzeros] the topic.
        word_ends: [words] where each word's entries end.
        alpha: [topics] prior over topics.
        eta: Prior of every word in every topic.
    """

    vocabulary: tuple[str, ...]
    counts: npt.NDArray[np.int32]
    topic_of: npt.NDArray[np.int16]
    word_ends: npt.NDArray[np.int64]
    alpha: npt.NDArray[np.float32]
    eta: float

    @cached_property
    def word_given_topic(self) -> npt.NDArray[np.float32]:
        """p(word | topic): [words, topics]."""
        dense = np.full((len(self.vocabulary), len(self.alpha)), self.eta, dtype=np.float32)
        spans = np.diff(self.word_ends, prepend=0)
        word_of = np.repeat(np.arange(len(self.vocabulary)), spans)  # [nonzeros]
        dense[word_of, self.topic_of] += self.counts
        normalized: npt.NDArray[np.float32] = dense / dense.sum(axis=0)
        return normalized

    @cached_property
    def index(self) -> dict[str, int]:
        """Row number of every word."""
        return {word: row for row, word in enumerate(self.vocabulary)}


def fold_in(
    likelihood: npt.NDArray[np.float32],
    owner: npt.NDArray[np.int64],
    sentences: int,
    alpha: npt.NDArray[np.float32],
    iterations: int,
) -> npt.NDArray[np.float32]:
    """Topic distributions of new sentences, the topic-word distribution held fixed.

    Each step gives every word its topic posterior under the current mixture, then sets the mixture to the expected
    counts plus the prior: θ_k ∝ α_k + Σ_w θ_k φ_kw / Σ_j θ_j φ_jw.

    Args:
        likelihood: p(word | topic) of every word token, [tokens, topics].
        owner: The sentence of every token, sorted, [tokens].
        sentences: How many sentences there are; one without a token gets the prior.
        alpha: Prior over topics, [topics].
        iterations: How many steps.

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


class FoltzLda:
    """Mean cosine of adjacent sentences' topic distributions (Foltz-LDA).

    Paper: "Sentence representations obtained from LDA with 300 topics, trained on the Wikipedia dataset".

    Args:
        topics: Number of topics.
        vocabulary: How many words are kept, after the most frequent ones are dropped.
        drop_top: How many of the most frequent words are dropped: function words make every sentence alike.
        iterations: Gibbs iterations over the corpus.
        fold_in_steps: Steps that find the topics of a new sentence.

    Example:
        >>> texts = [("cats purr", "a cat sleeps"), ("stocks fell", "markets fell")] * 10
        >>> model = FoltzLda(topics=2, drop_top=0, iterations=50)
        >>> model = model.fit(Document(str(i), pair) for i, pair in enumerate(texts))
        >>> model.score([Document("d", ("stocks fell", "markets fell"))])[0].value > 0.9
        True
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentences' topic distributions (LDA)",
        reference="Foltz et al. 1998; Blei et al. 2003; Li & Jurafsky 2017 (Foltz-LDA)",
        score_range="0 to 1",
        meaning="neighbouring sentences are about the same topics of the training corpus",
        comparable=COMPARABLE,
        needs="zoo/foltz-lda, or training (weft train configs/foltz-lda.toml; extra `topics`)",
    )

    def __init__(
        self,
        topics: int = 300,
        vocabulary: int = 20000,
        drop_top: int = 100,
        iterations: int = 200,
        fold_in_steps: int = 30,
    ) -> None:
        at_least("foltz-lda", "topics", topics, 2, 2**15 - 1)
        at_least("foltz-lda", "vocabulary", vocabulary, 1)
        at_least("foltz-lda", "drop_top", drop_top, 0)
        at_least("foltz-lda", "iterations", iterations, 1)
        at_least("foltz-lda", "fold_in_steps", fold_in_steps, 1)
        self.topics, self.vocabulary, self.drop_top = topics, vocabulary, drop_top
        self.iterations, self.fold_in_steps = iterations, fold_in_steps
        self.learned: Topics | None = None

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn the topics with tomotopy, a paragraph being a document."""
        check_seed("foltz-lda", seed)
        tomotopy = _import_tomotopy()
        sampler = tomotopy.LDAModel(k=self.topics, min_cf=RAREST, rm_top=self.drop_top, seed=seed)
        counts: Counter[str] = Counter()
        for text in paragraph_texts(documents, progress):
            tokens = words_only(text)
            counts.update(tokens)
            if tokens:
                sampler.add_doc(tokens)
        self._check_words(counts)
        for done in range(0, self.iterations, CHUNK_ITERATIONS):
            # Several workers sample in an order that depends on timing; one worker makes the seed mean something.
            sampler.train(min(CHUNK_ITERATIONS, self.iterations - done), workers=1)
            progress("Gibbs sampling", min(done + CHUNK_ITERATIONS, self.iterations), self.iterations)
        self.learned = _collect(sampler, self.vocabulary)
        return self

    def _check_words(self, counts: Counter[str]) -> None:
        """Refuse a corpus that leaves the sampler no word: tomotopy would not raise but end the process."""
        frequent = sum(count >= RAREST for count in counts.values())
        if frequent > self.drop_top:
            return
        raise CorpusError(
            "no words to learn topics from",
            seen=f"{frequent} words that occur {RAREST} times or more",
            allowed=f"more than foltz-lda's `drop_top`, {self.drop_top}",
            next_step="give more training text, or lower `drop_top`",
        )

    def sentence_vectors(self, sentences: Sequence[str]) -> Vectors:
        """Topic distributions: [sentences, topics]."""
        if self.learned is None:
            raise untrained("foltz-lda")
        chunks = [
            self._topics_of(self.learned, sentences[start : start + SENTENCES_AT_ONCE])
            for start in range(0, len(sentences), SENTENCES_AT_ONCE)
        ]
        return np.concatenate(chunks) if chunks else np.zeros((0, self.topics), dtype=np.float32)

    def _topics_of(self, learned: Topics, sentences: Sequence[str]) -> Vectors:
        index = learned.index
        rows = [[index[token] for token in words_only(sentence) if token in index] for sentence in sentences]
        owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])  # [tokens]
        flat = np.fromiter((row for sentence in rows for row in sentence), dtype=np.int64, count=len(owner))
        likelihood = learned.word_given_topic[flat]  # [tokens, topics]
        return fold_in(likelihood, owner, len(rows), learned.alpha, self.fold_in_steps)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean cosine of neighbours."""
        return cosine_scores(documents, self.sentence_vectors)

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        """All cosines: [sentences, sentences]."""
        return cosine_table(self.sentence_vectors(document.sentences))

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the topics."""
        if self.learned is None:
            raise untrained("foltz-lda")
        learned = self.learned
        tensors: dict[str, npt.NDArray[Any]] = {
            "counts": learned.counts,
            "topic_of": learned.topic_of,
            "word_ends": learned.word_ends,
            "alpha": learned.alpha,
        }
        config = {name: getattr(self, name) for name in SETTINGS} | {"eta": learned.eta}
        texts = {VOCABULARY: "\n".join(learned.vocabulary)}
        save_artifact(Artifact("foltz-lda", config, tensors, texts, training or {}), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        artifact = load_artifact(folder)
        require(artifact, folder, tensors=("counts", "topic_of", "word_ends", "alpha"), texts=(VOCABULARY,))
        model = rebuild(cls, artifact, folder, SETTINGS)
        model.learned = _checked_topics(artifact, folder)
        return model


SETTINGS = ("topics", "vocabulary", "drop_top", "iterations", "fold_in_steps")


def _checked_topics(artifact: Artifact, folder: str | Path) -> Topics:
    tensors, vocabulary = artifact.tensors, tuple(artifact.texts[VOCABULARY].split("\n"))
    counts, topic_of = tensors["counts"], tensors["topic_of"]
    ends, alpha = tensors["word_ends"], tensors["alpha"]
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
        raise ModelError(
            f"the topics in {folder} do not fit together",
            seen=f"{len(vocabulary)} words, {alpha.shape} topics, {topic_of.shape} entries",
            allowed="one span of entries a word",
            next_step="copy or train the model again",
        )
    return Topics(vocabulary, counts, topic_of, ends, alpha, eta)


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
        vocabulary=tuple(sampler.used_vocabs)[:kept],
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
            "learning LDA topics needs tomotopy, which is not installed",
            allowed="the extra `topics`",
            next_step="pip install 'weft-coherence[topics]'",
        ) from error
    return tomotopy
