"""How HMM-LDA learns: against slow obvious expectation maximisation, what may never fall, and learning in calls."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.models.common.bag_of_words import Bags, Vocabulary, read_bags
from weft.models.common.hidden_markov import Chains, OnlineSwitch, Reals, forward_pass
from weft.models.topic.hmm_lda import HmmLda, HmmLdaSettings

TOPICS = 3
MIXTURE = 0.3  # draws that the base counts for; the figures below are written out on purpose, not imported
THEMES = (("cat", "dog", "fox"), ("stock", "bond", "share"), ("rain", "snow", "wind"))


def corpus(documents: int = 9, longest: int = 4) -> list[Document]:
    generator = np.random.default_rng(5)
    found = []
    for number in range(documents):
        theme, sentences = number % 3, []
        for _ in range(1 + number % longest):
            theme = int(generator.integers(3)) if generator.random() < 0.4 else theme
            sentences.append(" ".join(generator.choice(THEMES[theme], size=3)))
        found.append(Document(str(number), tuple(sentences)))
    return found


def blurred_corpus() -> list[Document]:
    """Themes that share words: what comes before and after a sentence must help to tell its topic."""
    generator, every = np.random.default_rng(6), [word for theme in THEMES for word in theme]
    found = []
    for number in range(60):
        theme, sentences = number % 3, []
        for _ in range(2 + number % 5):
            theme = int(generator.integers(3)) if generator.random() < 0.3 else theme
            sentences.append(" ".join(generator.choice(THEMES[theme] if generator.random() < 0.7 else every, size=2)))
        found.append(Document(str(number), tuple(sentences)))
    return found


def counted(documents: list[Document]) -> tuple[Vocabulary, Bags]:
    return read_bags(documents, vocabulary=100, drop_top=0, rarest=1)


# Slow, obvious expectation maximisation: every sequence of topics is written out -----------------------------------


@dataclass
class Sums:
    """What an iteration counts."""

    words: Reals
    first: Reals = field(default_factory=lambda: np.zeros(TOPICS))
    moves: Reals = field(default_factory=lambda: np.zeros((TOPICS, TOPICS)))
    drawn: list[Reals] = field(default_factory=list)
    redraws: float = 0.0
    chances: int = 0
    evidence: float = 0.0


@dataclass
class Slow:
    """Parameters in plain probabilities; a mixture a document."""

    words: Reals  # [words, topics]
    base: Reals
    matrix: Reals
    redraw: float
    mixtures: list[Reals]


def paths_of(log_likelihood: Reals, first: Reals, step: Reals) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every sequence of topics with its joint probability."""
    for path in itertools.product(range(TOPICS), repeat=len(log_likelihood)):
        value = 1.0
        for place, topic in enumerate(path):
            before = first[topic] if place == 0 else step[path[place - 1], topic]
            value *= float(before * np.exp(log_likelihood[place, topic]))
        yield path, value


def drawn_of(log_likelihood: Reals, mixture: Reals, redraw: float) -> tuple[Reals, Reals, float]:
    """Expected draws of one document, [topics]; p(topic | all sentences), [sentences, topics]; and p(sentences)."""
    step = (1 - redraw) * np.eye(TOPICS) + redraw * mixture
    paths = list(paths_of(log_likelihood, mixture, step))
    total = sum(value for _, value in paths)
    drawn, smoothed = np.zeros(TOPICS), np.zeros(log_likelihood.shape)
    for path, value in paths:
        for place, topic in enumerate(path):  # of a topic that came again, part was drawn and part stayed
            anew = 1.0 if place == 0 else redraw * mixture[topic] / step[path[place - 1], topic]
            drawn[topic] += anew * value / total
            smoothed[place, topic] += value / total
    return drawn, smoothed, total


def mixed(drawn: Reals, base: Reals) -> Reals:
    found: Reals = (drawn + MIXTURE * base) / (drawn.sum() + MIXTURE)
    return found


def slow_iteration(now: Slow, rows: list[Reals], form: str, power: float, prior: Reals) -> tuple[Slow, float]:
    """One iteration over documents whose word counts are [sentences, words] each; and the log-likelihood before it."""
    sums = Sums(np.zeros_like(now.words))
    for number, counts in enumerate(rows):
        log_likelihood = power * (counts @ np.log(now.words))  # [sentences, topics]
        if form == "matrix":
            paths = list(paths_of(log_likelihood, now.base, now.matrix))
            total = sum(value for _, value in paths)
            smoothed: Reals = np.zeros_like(log_likelihood)
            for path, value in paths:
                for place, topic in enumerate(path):
                    smoothed[place, topic] += value / total
                for one, two in itertools.pairwise(path):
                    sums.moves[one, two] += value / total
            sums.first += smoothed[0]
        else:
            drawn, smoothed, total = drawn_of(log_likelihood, now.mixtures[number], now.redraw)
            sums.drawn.append(drawn)
            sums.first += drawn
            sums.redraws += float(drawn.sum()) - 1.0  # the first is always drawn
            sums.chances += len(counts) - 1
        sums.words += counts.T @ smoothed
        sums.evidence += float(np.log(total))
    words = sums.words + prior[:, None]
    base = (sums.first + 1) / (sums.first + 1).sum()
    moves = sums.moves + 0.1
    after = Slow(words / words.sum(axis=0), base, now.matrix, now.redraw, now.mixtures)
    if form == "matrix":
        return replace(after, matrix=moves / moves.sum(axis=1, keepdims=True)), sums.evidence
    mixtures = [mixed(drawn, now.base) for drawn in sums.drawn]
    return replace(after, mixtures=mixtures, redraw=(sums.redraws + 1) / (sums.chances + 2)), sums.evidence


@pytest.mark.parametrize("form", ["matrix", "switch"])
def test_iterations_are_those_of_slow_obvious_code(form: str) -> None:
    """Words, moves, mixtures, redraws and the power of likelihoods, over iterations that warm up and past them."""
    documents = corpus()
    known, bags = counted(documents)
    model = HmmLda(HmmLdaSettings(topics=TOPICS, transitions=form, prior_words=2.0, iterations=5))
    model.start(known, bags, seed=3)
    begun = model.learned
    assert begun is not None
    rows = [known.bags([document.sentences]).counts.toarray().astype(np.float64) for document in documents]
    shares = sum(row.sum(axis=0) for row in rows) + 0.1
    slow = Slow(np.exp(begun.words.astype(float)), begun.base, begun.matrix, 0.5, [begun.base] * len(documents))
    for power in (0.1, 0.325, 0.55, 0.775, 1.0, 1.0, 1.0):  # four of five iterations warm up
        slow, expected = slow_iteration(slow, rows, form, power, 2.0 * shares / shares.sum())
        assert model.learn(1) == pytest.approx(expected, rel=1e-5)
        learned = model.learned
        assert learned is not None
        assert np.allclose(np.exp(learned.words), slow.words, rtol=2e-4)
        assert np.allclose(learned.base, slow.base, rtol=1e-4)
        assert np.allclose(learned.matrix, slow.matrix, rtol=1e-4)
        assert learned.redraw == pytest.approx(slow.redraw, rel=1e-4)
        if form == "switch":
            assert model._mixtures is not None
            assert np.allclose(model._mixtures, slow.mixtures, rtol=1e-3, atol=1e-6)
    assert np.ptp(slow.words, axis=1).max() > 0.2, "topics that do not differ would agree whatever is done"


@pytest.mark.parametrize("form", ["matrix", "switch"])
def test_what_is_maximised_never_falls(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log-likelihood and the logarithm of the priors, together: each iteration maximises their expectation."""
    # Of the base, only the mixtures of documents are drawn, and it moves with them: with no weight, nothing is.
    monkeypatch.setattr("weft.models.topic.parameters.MIXTURE_WEIGHT", 1e-9)
    monkeypatch.setattr("weft.models.topic.hmm_lda.WARMEST", 1.0)
    known, bags = counted(blurred_corpus())
    model = HmmLda(HmmLdaSettings(topics=TOPICS, transitions=form, prior_words=1.5))
    model.start(known, bags, seed=3)
    counts = np.asarray(bags.counts.sum(axis=0)).ravel() + 0.1
    values = []
    for _ in range(150):
        before = model.learned
        assert before is not None
        log_prior = 1.5 * float((counts / counts.sum()) @ before.words.astype(float).sum(axis=1))
        if form == "matrix":
            log_prior += float(np.log(before.base).sum() + 0.1 * np.log(before.matrix).sum())
        else:
            log_prior += float(np.log(before.redraw) + np.log1p(-before.redraw))
        values.append(model.learn(1) + log_prior)
    assert np.diff(values).min() > -2e-3, "of a thousand nats in float32"
    assert values[-1] > values[0] + 50


# Reading -------------------------------------------------------------------------------------------------------------


def test_the_online_switch_is_that_of_slow_obvious_code() -> None:
    """What a sentence adds to the mixture is the part of its topic that was drawn, not the part that stayed."""
    generator = np.random.default_rng(4)
    base, redraw, weight = np.array([0.2, 0.5, 0.3]), 0.35, 0.3
    log_likelihood = np.log(generator.random((9, TOPICS)))
    offsets = np.array([0, 4, 4, 9])
    chains = Chains(offsets)
    switch = OnlineSwitch(redraw, base, weight, len(chains.documents))
    found = chains.restored(forward_pass(log_likelihood[chains.sentences], chains, switch)[0].predicted)
    for start, stop in itertools.pairwise(offsets):
        draws = weight * base
        predicted, drawn_share = base, np.ones(TOPICS)
        for row in range(start, stop):
            assert np.allclose(found[row], predicted, atol=1e-12)
            joint = predicted * np.exp(log_likelihood[row])
            filtered = joint / joint.sum()
            draws = draws + filtered * drawn_share
            mixture = draws / draws.sum()
            predicted = (1 - redraw) * filtered + redraw * mixture
            drawn_share = redraw * mixture / predicted


def smoothed_after(model: HmmLda, sentences: tuple[str, ...], steps: int) -> Reals:
    """Slow, obvious: the mixture of a new text is found in some steps, then every sequence of topics is written out."""
    learned = model.learned
    assert learned is not None
    assert model.vocabulary is not None
    counts = model.vocabulary.bags([sentences]).counts.toarray().astype(np.float64)
    log_likelihood = counts @ learned.words.astype(np.float64)
    mixture = learned.base
    for _ in range(steps):
        mixture = mixed(drawn_of(log_likelihood, mixture, learned.redraw)[0], learned.base)
    return drawn_of(log_likelihood, mixture, learned.redraw)[1]


def test_smoothed_topics_of_the_switch_are_those_of_slow_obvious_code() -> None:
    model = HmmLda(HmmLdaSettings(topics=TOPICS, drop_top=0, rarest=1, prior_words=20.0, iterations=12)).fit(
        corpus(30, 6)
    )
    texts = [("cat rain", "stock", "dog wind snow", "fox bond"), ("share",), ("wind", "unheard of", "cat")]
    for text in texts:
        expected = smoothed_after(model, text, 5)
        assert np.allclose(model.topic_distributions(text, kind="smoothed"), expected, atol=1e-6)
    together = model.topics_of_documents(texts, kind="smoothed")
    assert np.allclose(together, np.concatenate([smoothed_after(model, text, 5) for text in texts]), atol=1e-6)
    for other in (0, 1, 4, 6):  # so that another number of steps would be noticed
        assert not np.allclose(smoothed_after(model, texts[0], other), smoothed_after(model, texts[0], 5), atol=1e-5)


# Learning in calls ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["matrix", "switch"])
def test_a_fit_in_calls_is_the_fit_in_one(form: str, tmp_path: Path) -> None:
    def new() -> HmmLda:
        return HmmLda(
            HmmLdaSettings(topics=TOPICS, transitions=form, drop_top=0, rarest=1, prior_words=1.0, iterations=12)
        )

    documents, told = corpus(30, 6), []

    def progress(label: str, done: int, total: int | None = None, note: str = "") -> None:
        if label.startswith("learning"):
            told.append((label, done, total, note.rpartition(" ")[0]))

    model = new().begin(documents, seed=4, progress=progress)
    scores = []
    for count in (1, 4, 7):
        model.learn(count, progress=progress)
        scores.append(model.score(documents))  # asking between calls changes nothing
    assert model.done == 12
    assert [(done, total) for _, done, total, _ in told] == [
        (n + 1, count) for count in (1, 4, 7) for n in range(count)
    ]
    assert {(label, note) for label, _, _, note in told} == {("learning topics", "log-likelihood per word")}
    assert scores[-1] == new().fit(documents, seed=4).score(documents)
    assert scores[-1] != scores[-2]
    assert model.finish().score(documents) == scores[-1]
    assert HmmLda(HmmLdaSettings(topics=TOPICS, iterations=12)).power_of(11) == 1.0


@pytest.mark.parametrize("form", ["matrix", "switch"])
def test_saving_in_the_middle_of_learning_changes_no_score_and_no_learning(form: str, tmp_path: Path) -> None:
    documents = corpus(30, 6)
    model, other = (
        HmmLda(HmmLdaSettings(topics=TOPICS, transitions=form, drop_top=0, rarest=1, prior_words=1.0)).begin(documents)
        for _ in range(2)
    )
    for each in (model, other):
        each.learn(5)
    model.save(tmp_path / "m")
    again = HmmLda.load(tmp_path / "m")
    assert again.score(documents) == model.score(documents)
    text = documents[5].sentences
    for kind in ("predicted", "filtered", "smoothed"):
        one, two = (each.topic_distributions(text, kind=kind) for each in (model, again))
        assert np.array_equal(one, two)
    assert again.perplexity(documents) == model.perplexity(documents)
    assert [again.top_words(n) for n in range(TOPICS)] == [model.top_words(n) for n in range(TOPICS)]
    assert model.learned is not None
    assert not np.array_equal(model.learned.words, model.learned.rounded().words), "rounding would have been no test"
    assert model.learn(3) == other.learn(3), "what was asked or saved is not learned on"


def test_a_second_beginning_starts_anew() -> None:
    one, two = corpus(30, 6), [Document("x", ("ice melts", "water boils", "ice floats"))]
    model = HmmLda(HmmLdaSettings(topics=2, drop_top=0, rarest=1, prior_words=1.0, iterations=6))
    model.begin(one).learn(9)
    model.begin(two, seed=2)
    assert model.done == 0
    model.learn(6)
    fresh = HmmLda(HmmLdaSettings(topics=2, drop_top=0, rarest=1, prior_words=1.0, iterations=6)).fit(two, seed=2)
    assert model.score(two) == fresh.score(two)
    assert model.vocabulary == fresh.vocabulary


def test_learning_without_a_corpus_is_refused_and_so_are_other_words(tmp_path: Path) -> None:
    model = HmmLda(HmmLdaSettings(topics=2, drop_top=0, rarest=1, prior_words=1.0, iterations=2))
    with pytest.raises(ModelError, match=r"no documents to learn from: saw .*; allowed: .*`begin`.*; next: "):
        model.learn(1)
    model.fit(corpus())
    with pytest.raises(ModelError, match="no documents to learn from"):
        model.learn(1)  # `fit` has let go of them
    model.save(tmp_path / "m")
    with pytest.raises(ModelError, match="no documents to learn from"):
        HmmLda.load(tmp_path / "m").learn(1)
    with pytest.raises(ConfigError, match="`iterations`.*a whole number from 1"):
        model.begin(corpus()).learn(0)
    known, _ = counted(corpus())
    with pytest.raises(CorpusError, match=r"another vocabulary: saw 'counts of 1 words'; allowed: .*; next: "):
        model.start(known, Vocabulary(("cat",)).bags([("cat",)]))
