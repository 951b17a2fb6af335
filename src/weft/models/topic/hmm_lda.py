"""Sentence-level HMM-LDA: each sentence has one topic, which depends on the topic of the previous sentence.

The model is learned by exact expectation maximisation (`common.hidden_markov`). References: A. Gruber, M. Rosen-Zvi and
Y. Weiss, "Hidden topic Markov models", AISTATS 2007; Li & Jurafsky 2017, section 3.2. The paper draws a topic from "a
distribution based on the previous topic", which is the matrix form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np

from weft.document import Document, Score
from weft.errors import CorpusError, ModelError
from weft.io.model_folder import Artifact, require
from weft.models.common.bag_of_words import Bags, Vocabulary, read_bags
from weft.models.common.hidden_markov import (
    Chains,
    MatrixTransitions,
    OnlineSwitch,
    Passes,
    Reals,
    SwitchTransitions,
    Transitions,
    both_passes,
    expected_draws,
    expected_moves,
    forward_pass,
)
from weft.models.common.setting_checks import at_least, check_choice, check_seed, check_sentences, untrained
from weft.models.common.thread_pool import in_threads, thread_count
from weft.models.common.trained_model import TrainedModel
from weft.models.common.word_vectors import VOCABULARY
from weft.models.topic.parameters import (
    MIXTURE_WEIGHT,
    Expectations,
    Parameters,
    added,
    initial_parameters,
    maximised,
    mixtures_of,
    read_parameters,
    word_shares,
)
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings, setting

Kind = Literal["predicted", "filtered", "smoothed"]
KINDS = ("predicted", "filtered", "smoothed")
FORMS = ("switch", "matrix")
MOST_TOPICS = 2**15 - 1
LEAST_PRIOR = 1e-9  # words; without a prior, a word that does not occur in a topic would have probability 0
BLOCK_SENTENCES = 8192  # 8,192 × 100 topics in float32 are 3 MiB
WARMEST = 0.1  # power of the likelihoods in the first iteration, so that topics do not become fixed too early
WARM_SHARE = 0.8  # share of the iterations until the power is 1
FOLD_IN_STEPS = 5  # iterations for the mixture of a new document, for smoothing


@dataclass(frozen=True, kw_only=True)
class HmmLdaSettings(Settings):
    """Settings of `hmm-lda`."""

    model_name: ClassVar[str] = "hmm-lda"
    topics: int = setting(100, "Number of topics.", minimum=2, maximum=MOST_TOPICS)
    transitions: str = setting(
        "switch",
        "Transitions: switch (stay, or draw from the document's mixture) or matrix (topic to topic).",
        choices=FORMS,
    )
    vocabulary: int = setting(20000, "Number of words to keep.", minimum=1)
    drop_top: int = setting(150, "Number of most frequent words to drop, mostly function words.", minimum=0)
    rarest: int = setting(5, "Words that occur fewer times are dropped.", minimum=1)
    prior_words: float = setting(
        7000.0,
        "Prior of each topic: number of words of the corpus's own distribution.",
        minimum=LEAST_PRIOR,
        below=1e12,
    )
    iterations: int = setting(60, "Number of iterations of expectation maximisation in `fit`.", minimum=1)


class HmmLda(TrainedModel):
    """A topic model of sequences of sentences.

    Example:
        >>> texts = [("cats purr", "a cat purrs"), ("stocks fell", "the stocks rose")] * 20
        >>> model = HmmLda(HmmLdaSettings(topics=2, drop_top=0, rarest=1, prior_words=1.0))
        >>> model = model.fit(Document(str(i), pair) for i, pair in enumerate(texts))
        >>> first, second = model.topic_distributions(("stocks fell", "it rains"), kind="predicted")
        >>> bool(second.max() > 0.9)  # after a sentence about stocks, the same topic is predicted
        True
    """

    name = "hmm-lda"
    card = ModelCard(
        summary="a Markov chain of sentence topics: how well previous sentences predict the words of the next",
        reference="Gruber et al. 2007; Li & Jurafsky 2017, section 3.2",
        score_range="below 0",
        bar_range=(-8.0, 0.0),
        meaning="log-probability per word of each sentence, as a bag of words, given the previous ones",
        comparable="only between orders of one text",
        needs="trained weights (pip install ./zoo) or training",
    )

    Settings = HmmLdaSettings
    settings: HmmLdaSettings

    def __init__(self, settings: HmmLdaSettings | None = None) -> None:
        super().__init__(settings)
        self.vocabulary: Vocabulary | None = None
        self.learned: Parameters | None = None
        self.done = 0  # iterations since `begin`
        self._corpus: Bags | None = None  # training data, like the next two; released by `finish`
        self._blocks: list[tuple[slice, Bags]] = []
        self._mixtures: Reals | None = None  # of the training documents
        self._as_saved: tuple[Parameters, Parameters] | None = None  # the learned parameters, and the same rounded

    # Learning ---------------------------------------------------------------------------------------------------------

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn topics from documents; each paragraph is one chain."""
        self.begin(documents, seed=seed, progress=progress)
        self.learn(self.settings.iterations, progress=progress)
        return self.finish()

    def begin(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Read documents and initialise the topics; `learn` then improves them, in one or several calls.

        The words of the documents stay in memory until `finish`.

        Example:
            >>> texts = [Document("1", ("cats purr", "a cat purrs")), Document("2", ("stocks fell", "the stocks rose"))]
            >>> settings = HmmLdaSettings(topics=2, drop_top=0, rarest=1, prior_words=1.0, iterations=10)
            >>> model = HmmLda(settings).begin(texts)
            >>> model.learn(4), model.learn(6)  # doctest: +ELLIPSIS
            (-..., -...)
            >>> model.done, model.finish().score(texts) == HmmLda(settings).fit(texts).score(texts)
            (10, True)
        """
        check_seed(self.name, seed)
        chosen = self.settings
        known, bags = read_bags(
            documents, vocabulary=chosen.vocabulary, drop_top=chosen.drop_top, rarest=chosen.rarest, progress=progress
        )
        self.start(known, bags, seed=seed)
        return self

    def start(self, known: Vocabulary, bags: Bags, *, seed: int = 1) -> None:
        """Initialise from word counts; each topic is the word distribution of the corpus with random noise."""
        if bags.counts.shape[1] != len(known.words):
            raise CorpusError(
                "words were counted with another vocabulary",
                seen=f"counts of {bags.counts.shape[1]} words",
                allowed=f"counts of the {len(known.words)} words of the vocabulary",
                next_step="count them with that vocabulary's `bags`, or take both from one `read_bags`",
            )
        self.vocabulary, self.learned = known, initial_parameters(bags, self.settings.topics, seed)
        self._corpus, self._blocks, self.done = bags, list(bags.blocks(BLOCK_SENTENCES)), 0
        switch = self.settings.transitions == "switch"
        even = self.learned.base
        self._mixtures = np.tile(even.astype(np.float32), (len(bags.offsets) - 1, 1)) if switch else None

    def learn(self, iterations: int, *, progress: Progress = silent) -> float:
        """Run more iterations of expectation maximisation, after `begin`; several calls give the same result as one.

        Returns:
            The log-likelihood of the documents before the last iteration, at the power of that iteration.

        Raises:
            ModelError: There are no documents to learn from.
        """
        at_least(self.name, "iterations", iterations, 1)
        if self._corpus is None:
            raise ModelError(
                "no documents to learn from",
                seen="`learn` without `begin`, or after `finish`",
                allowed="`learn` after `begin`",
                next_step="call `begin` with documents",
            )
        evidence, tokens = 0.0, max(self._corpus.tokens, 1.0)
        for number in range(iterations):
            evidence = self._iterate(self._corpus, self.power_of(self.done))
            self.done += 1
            note = f"log-likelihood per word {evidence / tokens:.3f}"
            progress("learning topics", number + 1, iterations, note)
        return evidence

    def power_of(self, iteration: int) -> float:
        """Return the power of the likelihoods in an iteration, counted from 0 since `begin` (deterministic annealing).

        It rises linearly from 0.1 to 1 over four fifths of ``settings.iterations``, so that topics do not become fixed
        too early.

        Example:
            >>> [round(HmmLda(HmmLdaSettings(iterations=10)).power_of(number), 2) for number in (0, 4, 8, 9, 50)]
            [0.1, 0.55, 1.0, 1.0, 1.0]
        """
        warm = max(1, round(WARM_SHARE * self.settings.iterations))
        return min(1.0, WARMEST + (1.0 - WARMEST) * iteration / warm)

    def finish(self) -> Self:
        """Release the training data and keep only the rounded parameters; scores do not change."""
        if self.learned is not None:
            self._set_rounded(self._rounded_parameters())
        self._corpus, self._blocks, self._mixtures = None, [], None
        return self

    def _iterate(self, bags: Bags, power: float) -> float:
        """Run one iteration; return the log-likelihood before the iteration."""
        # Each thread adds up the blocks of its share, because the sums are as large as the model.
        shares = [self._blocks[start :: thread_count()] for start in range(min(thread_count(), len(self._blocks)))]
        total = added(in_threads(lambda share: added(self._expect(*block, power) for block in share), shares))
        switch, prior = self.settings.transitions == "switch", self.settings.prior_words
        self.learned = maximised(total, self._parameters(), word_shares(bags), switch=switch, prior_words=prior)
        return total.evidence

    def _expect(self, documents: slice, bags: Bags, power: float) -> Expectations:
        """Return expected uses, moves and draws of some documents, and update their mixtures."""
        chains, transitions = bags.chains, self._transitions_of(documents, bags.chains)
        likelihood = bags.laid_out @ self._parameters().words  # [sentences, topics], in the layout of the chains
        passes = both_passes(likelihood * np.float32(power) if power != 1.0 else likelihood, chains, transitions)
        smoothed = passes.smoothed
        words = np.asarray(bags.laid_out.T @ smoothed)  # [words, topics]
        evidence = float(passes.evidence.sum())
        if isinstance(transitions, MatrixTransitions):
            first = smoothed[chains.steps[0]].sum(axis=0) if chains.steps else np.zeros(self.settings.topics)
            return Expectations(words, first, expected_moves(passes, chains, transitions.matrix), evidence=evidence)
        assert self._mixtures is not None
        drawn, redraws, chances = expected_draws(passes, chains, transitions)
        self._mixtures[documents][chains.documents] = mixtures_of(drawn, self._parameters().base)
        return Expectations(words, drawn.sum(axis=0), np.zeros((0, 0)), redraws, chances, evidence)

    def _transitions_of(self, documents: slice, chains: Chains) -> MatrixTransitions | SwitchTransitions:
        learned = self._parameters()
        if self.settings.transitions == "matrix":
            return MatrixTransitions(learned.base.astype(np.float32), learned.matrix.astype(np.float32))
        assert self._mixtures is not None
        return SwitchTransitions(learned.redraw, self._mixtures[documents][chains.documents])

    def _parameters(self) -> Parameters:
        if self.learned is None:
            raise untrained(self.name)
        return self.learned

    def _rounded_parameters(self) -> Parameters:
        """Return the parameters rounded as they are saved; all scores use them, so that saving changes no score."""
        learned = self._parameters()
        if self._as_saved is None or self._as_saved[0] is not learned:
            self._as_saved = learned, learned.rounded()
        return self._as_saved[1]

    def _set_rounded(self, kept: Parameters) -> None:
        """Set the learned parameters to rounded ones."""
        self.learned, self._as_saved = kept, (kept, kept)

    # Reading ----------------------------------------------------------------------------------------------------------

    def topic_distributions(self, sentences: Sequence[str], *, kind: Kind = "predicted") -> Reals:
        """Return the topics of the sentences of a text: [sentences, topics].

        Args:
            sentences: The sentences of the text.
            kind: ``predicted`` from the previous sentences, ``filtered`` from these and the sentence itself, or
                ``smoothed`` from the whole text.
        """
        return self.topics_of_documents([sentences], kind=kind)

    def topics_of_documents(self, documents: Sequence[Sequence[str]], *, kind: str = "predicted") -> Reals:
        """Return the topics of the sentences of several texts: [sentences, topics]."""
        return self.topics_of_bags(self._bags(documents), kind=kind)

    def topics_of_bags(self, bags: Bags, *, kind: str = "predicted") -> Reals:
        """Return the topics of sentences from their word counts: [sentences, topics]."""
        check_choice(self.name, "kind", kind, KINDS)
        passes = self._smooth(bags) if kind == "smoothed" else self._filter(bags)
        return bags.chains.restored(passes.of(kind))

    def topics_of_orders(
        self, sentences: Sequence[str], orders: Sequence[Sequence[int]], *, kind: Kind = "predicted"
    ) -> list[Reals]:
        """Return the topics of the sentences in several orders: [length, topics] each."""
        return self.topics_in_orders(self.sentence_bags(sentences), orders, kind=kind)

    def sentence_bags(self, sentences: Sequence[str]) -> Bags:
        """Return the word counts of sentences, for `topics_in_orders`."""
        return self._bags([sentences])

    def topics_in_orders(self, bags: Bags, orders: Sequence[Sequence[int]], *, kind: Kind = "predicted") -> list[Reals]:
        """Return the topics of sentences in several orders from their word counts: [length, topics] each."""
        numbers = np.array([number for order in orders for number in order], dtype=np.int64)
        offsets = np.cumsum([0, *(len(order) for order in orders)])
        topics = self.topics_of_bags(Bags(bags.counts[numbers], offsets), kind=kind)
        return np.split(topics, offsets[1:-1]) if orders else []

    def next_topics(self, texts: Sequence[Sequence[str]]) -> Reals:
        """Return the topics that are predicted for the sentence after each text: [texts, topics]."""
        ends = np.cumsum([len(text) + 1 for text in texts])
        topics: Reals = self.topics_of_documents([[*text, ""] for text in texts])[ends - 1]
        return topics

    def bag_evidence(self, bags: Bags) -> Reals:
        """Return log p(s_n | s_1 … s_{n−1}) of sentences from their word counts: [sentences]."""
        return bags.chains.restored(self._filter(bags).evidence)

    def perplexity(self, documents: Iterable[Document]) -> float:
        """Return the perplexity per known word; each sentence is predicted from the previous ones of its paragraph."""
        bags = self._bags([paragraph.sentences for document in documents for paragraph in document.paragraphs()])
        total = sum(float(self._filter(block).evidence.sum()) for _, block in bags.blocks(BLOCK_SENTENCES))
        return float(np.exp(-total / bags.tokens)) if bags.tokens else float("nan")

    def top_words(self, topic: int, count: int = 10) -> list[str]:
        """Return the most likely words of a topic, best first."""
        words = self._rounded_parameters().words  # [words, topics]
        assert self.vocabulary is not None
        at_least(
            self.name, "topic", int(topic) if isinstance(topic, np.integer) else topic, 0, self.settings.topics - 1
        )
        at_least(self.name, "count", count, 1)
        ranked = np.argsort(-words[:, topic], kind="stable")[:count]
        return [self.vocabulary.words[number] for number in ranked]

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document: the mean over transitions of log p(s_n | s_1 … s_{n−1}) per word."""
        bags = self._bags([document.sentences for document in documents])
        counts = np.asarray(bags.counts.sum(axis=1)).ravel()  # [sentences]
        values = self.bag_evidence(bags) / np.maximum(counts, 1.0)
        scores = []
        for start, stop in zip(bags.offsets[:-1], bags.offsets[1:], strict=True):
            parts = tuple(values[start + 1 : stop].tolist())
            scores.append(Score(float(np.mean(parts)), parts) if parts else Score(None))
        return scores

    def _bags(self, documents: Sequence[Sequence[str]]) -> Bags:
        self._parameters()
        assert self.vocabulary is not None
        for sentences in documents:
            check_sentences(sentences)
        return self.vocabulary.bags(documents)

    def _likelihood(self, bags: Bags) -> Reals:
        """Return log p(sentence | topic) as a bag of words, in the layout of the chains: [sentences, topics]."""
        found: Reals = (bags.laid_out @ self._rounded_parameters().words).astype(np.float64)
        return found

    def _filter(self, bags: Bags) -> Passes:
        learned = self._rounded_parameters()
        transitions: Transitions = MatrixTransitions(learned.base, learned.matrix)
        if self.settings.transitions == "switch":
            transitions = OnlineSwitch(learned.redraw, learned.base, MIXTURE_WEIGHT, len(bags.chains.documents))
        return forward_pass(self._likelihood(bags), bags.chains, transitions)[0]

    def _smooth(self, bags: Bags) -> Passes:
        learned, chains = self._rounded_parameters(), bags.chains
        if self.settings.transitions == "matrix":
            return both_passes(self._likelihood(bags), chains, MatrixTransitions(learned.base, learned.matrix))
        switch = SwitchTransitions(learned.redraw, np.tile(learned.base, (len(chains.documents), 1)))
        for _ in range(FOLD_IN_STEPS):
            drawn, _, _ = expected_draws(both_passes(self._likelihood(bags), chains, switch), chains, switch)
            switch = SwitchTransitions(learned.redraw, mixtures_of(drawn, learned.base))
        return both_passes(self._likelihood(bags), chains, switch)

    # Saving -----------------------------------------------------------------------------------------------------------

    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder."""
        learned = self._rounded_parameters()
        assert self.vocabulary is not None
        config = self.settings.to_dict() | {"redraw": learned.redraw}
        texts = {VOCABULARY: "\n".join(self.vocabulary.words)}
        return Artifact(self.name, config, learned.packed(), texts)

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the topics from the contents of a model folder."""
        require(artifact, folder, tensors=("words", "base", "matrix"), texts=(VOCABULARY,))
        self.vocabulary = Vocabulary(tuple(artifact.texts[VOCABULARY].split("\n")))
        self._set_rounded(read_parameters(artifact, len(self.vocabulary.words), self.settings.topics, folder))
