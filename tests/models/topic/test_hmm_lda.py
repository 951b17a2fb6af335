"""Sentence-level HMM-LDA: chains against enumeration, expectation maximisation, and the topic model on top."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
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
from weft.models.topic.hmm_lda import HmmLda, HmmLdaSettings

TOPICS, LENGTHS = 3, (1, 4, 0, 2, 3)
OFFSETS = np.cumsum([0, *LENGTHS])
REDRAW = 0.3


@pytest.fixture(scope="module")
def log_likelihood() -> Reals:
    return np.log(np.random.default_rng(0).random((sum(LENGTHS), TOPICS)) * 0.1)


CHAINS = Chains(OFFSETS)


def passes_of(log_likelihood: Reals, transitions: Transitions) -> Passes:
    """Both passes, in the layout of the chains."""
    return both_passes(log_likelihood[CHAINS.sentences], CHAINS, transitions)


def filtered_of(log_likelihood: Reals, transitions: Transitions) -> tuple[Reals, Reals, Reals]:
    """Predicted, filtered and evidence of the forward pass, in the order of the sentences."""
    found, _ = forward_pass(log_likelihood[CHAINS.sentences], CHAINS, transitions)
    return CHAINS.restored(found.predicted), CHAINS.restored(found.filtered), CHAINS.restored(found.evidence)


def forms() -> dict[str, Transitions]:
    random = np.random.default_rng(1)
    matrix = MatrixTransitions(random.dirichlet(np.ones(TOPICS)), random.dirichlet(np.ones(TOPICS), TOPICS))
    return {
        "matrix": matrix,
        "switch": SwitchTransitions(REDRAW, random.dirichlet(np.ones(TOPICS), len(CHAINS.documents))),
    }


def step_matrix(transitions: Transitions, document: int) -> tuple[Reals, Reals]:
    """p(first topic) and p(next | topic) of a document, written out."""
    if isinstance(transitions, MatrixTransitions):
        return transitions.initial, transitions.matrix
    assert isinstance(transitions, SwitchTransitions)
    mixture = transitions.mixtures[CHAINS.documents.tolist().index(document)] if LENGTHS[document] else np.ones(TOPICS)
    return mixture, (1 - REDRAW) * np.eye(TOPICS) + REDRAW * mixture


def enumerated(log_likelihood: Reals, transitions: Transitions, document: int) -> dict[tuple[int, ...], float]:
    """p(topics, sentences) of every sequence of topics of a document."""
    rows = range(OFFSETS[document], OFFSETS[document + 1])
    first, step = step_matrix(transitions, document)
    found = {}
    for path in itertools.product(range(TOPICS), repeat=len(rows)):
        value = 1.0
        for place, (topic, row) in enumerate(zip(path, rows, strict=True)):
            value *= float(
                (first[topic] if place == 0 else step[path[place - 1], topic]) * np.exp(log_likelihood[row, topic])
            )
        found[path] = value
    return found


@pytest.mark.parametrize("form", ["matrix", "switch"])
def test_marginals_equal_enumeration(form: str, log_likelihood: Reals) -> None:
    transitions = forms()[form]
    passes = passes_of(log_likelihood, transitions)
    evidence, smoothed = CHAINS.restored(passes.evidence), CHAINS.restored(passes.smoothed)
    for document, length in enumerate(LENGTHS):
        paths = enumerated(log_likelihood, transitions, document)
        total = sum(paths.values())
        rows = slice(OFFSETS[document], OFFSETS[document + 1])
        assert evidence[rows].sum() == pytest.approx(np.log(total))
        for place in range(length):
            for topic in range(TOPICS):
                share = sum(value for path, value in paths.items() if path[place] == topic) / total
                assert smoothed[OFFSETS[document] + place, topic] == pytest.approx(share)


@pytest.mark.parametrize("form", ["matrix", "switch"])
def test_predicted_and_filtered_have_seen_what_they_may(form: str, log_likelihood: Reals) -> None:
    transitions = forms()[form]
    whole = filtered_of(log_likelihood, transitions)
    cut, end = OFFSETS[1] + 2, OFFSETS[2]
    changed = log_likelihood.copy()
    changed[cut] -= np.array([3.0, 0.0, 1.0])  # another third sentence
    other = filtered_of(changed, transitions)
    assert np.allclose(whole[0][: cut + 1], other[0][: cut + 1])  # its prediction is the same
    assert np.allclose(whole[1][:cut], other[1][:cut])
    assert not np.allclose(whole[1][cut], other[1][cut])
    assert not np.allclose(whole[0][cut + 1], other[0][cut + 1])
    for one, two in zip(whole, other, strict=True):  # other texts know nothing of it
        assert np.array_equal(one[end:], two[end:])


def test_expected_moves_and_draws_equal_enumeration(log_likelihood: Reals) -> None:
    matrix = forms()["matrix"]
    assert isinstance(matrix, MatrixTransitions)
    moves = np.zeros((TOPICS, TOPICS))
    for document in range(len(LENGTHS)):
        paths = enumerated(log_likelihood, matrix, document)
        for path, value in paths.items():
            for one, two in itertools.pairwise(path):
                moves[one, two] += value / sum(paths.values())
    assert np.allclose(expected_moves(passes_of(log_likelihood, matrix), CHAINS, matrix.matrix), moves)
    switch = forms()["switch"]
    assert isinstance(switch, SwitchTransitions)
    drawn, redraws, chances = expected_draws(passes_of(log_likelihood, switch), CHAINS, switch)
    expected = np.zeros_like(drawn)
    for row, document in enumerate(CHAINS.documents):
        paths = enumerated(log_likelihood, switch, document)
        mixture, step = step_matrix(switch, document)
        for path, value in paths.items():
            share = value / sum(paths.values())
            for place, topic in enumerate(path):  # of a topic that came again, part was drawn, part stayed
                anew = 1.0 if place == 0 else REDRAW * mixture[topic] / step[path[place - 1], topic]
                expected[row, topic] += share * anew
    assert np.allclose(drawn, expected)
    assert chances == sum(max(length - 1, 0) for length in LENGTHS)
    assert redraws == pytest.approx(expected.sum() - sum(length > 0 for length in LENGTHS))


def test_the_online_switch_is_the_switch_while_its_mixture_is_the_base(log_likelihood: Reals) -> None:
    base = np.array([0.2, 0.5, 0.3])
    known = SwitchTransitions(REDRAW, np.tile(base, (len(CHAINS.documents), 1)))
    heavy = OnlineSwitch(REDRAW, base, 1e12, len(CHAINS.documents))  # so many draws that the text's own cannot count
    light = OnlineSwitch(REDRAW, base, 0.5, len(CHAINS.documents))
    expected = filtered_of(log_likelihood, known)
    assert np.allclose(filtered_of(log_likelihood, heavy)[2], expected[2])
    found = filtered_of(log_likelihood, light)
    assert np.allclose(found[0].sum(axis=1), 1.0)
    assert not np.allclose(found[2], expected[2])


def corpus() -> list[Document]:
    generator = np.random.default_rng(2)
    themes = (["cat", "dog", "fox", "paw"], ["stock", "bond", "market", "share"], ["rain", "snow", "wind", "cloud"])
    documents = []
    for number in range(60):
        theme = number % 3
        sentences = []
        for _ in range(5):
            theme = int(generator.integers(3)) if generator.random() < 0.1 else theme
            sentences.append(" ".join(generator.choice(themes[theme], size=4)))
        documents.append(Document(str(number), tuple(sentences)))
    return documents


def trained(form: str, **changes: object) -> HmmLda:
    settings = {"topics": 3, "transitions": form, "drop_top": 0, "rarest": 1, "prior_words": 1.0, **changes}
    return HmmLda(HmmLdaSettings(**settings)).fit(corpus())  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["matrix", "switch"])
def test_it_finds_the_themes_and_their_persistence(form: str) -> None:
    model = trained(form)
    found = {frozenset(model.top_words(topic, 4)) for topic in range(3)}
    assert frozenset({"cat", "dog", "fox", "paw"}) in found
    assert frozenset({"rain", "snow", "wind", "cloud"}) in found
    predicted = model.topic_distributions(("cat dog", "fox paw", "unheard of"))
    assert predicted[0].max() < 0.7
    assert predicted[2].max() > 0.7
    together, apart = model.score([Document("a", ("cat dog", "fox paw")), Document("b", ("cat dog", "rain snow"))])
    assert together.value is not None
    assert apart.value is not None
    assert together.value > apart.value


def test_expected_uses_are_conserved_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    known, bags = read_bags(corpus(), vocabulary=100, drop_top=0, rarest=1)
    model = HmmLda(HmmLdaSettings(topics=3, transitions="matrix", prior_words=1.0))
    model.start(known, bags)
    whole = model._expect(slice(0, 60), bags, 1.0)
    assert whole.words.sum() == pytest.approx(bags.tokens, rel=1e-5)
    assert whole.moves.sum() == pytest.approx(60 * 4, rel=1e-4)
    assert whole.first.sum() == pytest.approx(60, rel=1e-5)
    evidence = model.learn(1)
    expected = model.learned
    monkeypatch.setattr("weft.models.topic.hmm_lda.BLOCK_SENTENCES", 17)
    model.start(known, bags)
    assert len(model._blocks) == 20
    assert model.learn(1) == pytest.approx(evidence, rel=1e-6)
    assert expected is not None
    assert model.learned is not None
    assert np.allclose(model.learned.words, expected.words, atol=1e-4)


def evidence(model: HmmLda, *sentences: str) -> list[float]:
    assert model.vocabulary is not None
    return model.bag_evidence(model.vocabulary.bags([sentences])).tolist()  # type: ignore[no-any-return]


def test_it_says_more_of_held_out_text_than_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = corpus()
    model = HmmLda(HmmLdaSettings(topics=3, drop_top=0, rarest=1, prior_words=1.0)).fit(documents[:50])
    assert model.perplexity(documents[50:]) < 8  # twelve words, evenly used
    # Exactly: of 5 sentences, unknown words aside, in two paragraphs, which know nothing of each other.
    text = Document("t", ("cat dog", "zebra fox", "rain", "snow wind wind", "…"), paragraph_starts=(0, 2))
    known_words = 2 + 1 + 1 + 3
    total = sum(evidence(model, *text.sentences[:2])) + sum(evidence(model, *text.sentences[2:]))
    assert model.perplexity([text]) == pytest.approx(np.exp(-total / known_words), rel=1e-9)
    monkeypatch.setattr("weft.models.topic.hmm_lda.BLOCK_SENTENCES", 2)
    assert model.perplexity([text]) == pytest.approx(np.exp(-total / known_words), rel=1e-9)


def test_saving_keeps_scores_and_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    model = trained("switch")
    model.save(tmp_path / "m", training={"seed": 1})
    again = HmmLda.load(tmp_path / "m")
    text = Document("t", ("cat fox", "dog paw", "rain"))
    one, two = model.score([text])[0].value, again.score([text])[0].value
    assert one == two
    again.save(tmp_path / "n")
    assert HmmLda.load(tmp_path / "n").score([text])[0].value == two
    (tmp_path / "m" / "vocabulary.txt").write_text("one\ntwo")
    with pytest.raises(ModelError):
        HmmLda.load(tmp_path / "m")


def test_odd_texts() -> None:
    model = trained("switch")
    assert [score.value for score in model.score([Document("e", ()), Document("o", ("cat",))])] == [None, None]
    empty = model.topic_distributions(("", "…", "cat"), kind="smoothed")
    assert np.allclose(empty.sum(axis=1), 1.0)
    assert evidence(model, "nothing known here") == [pytest.approx(0.0, abs=1e-6)]
    assert np.isnan(model.perplexity([Document("e", ("zebra",))]))


def test_settings_and_corpora_that_cannot_work_are_refused() -> None:
    for changes in ({"topics": 1}, {"transitions": "ring"}, {"prior_words": 0.0}, {"prior_words": float("nan")}):
        with pytest.raises(ConfigError):
            HmmLda(HmmLdaSettings(**changes))
    with pytest.raises(CorpusError):
        HmmLda().fit([Document("d", ("a b", "c d"))])
    with pytest.raises(ModelError):
        HmmLda().score([Document("d", ("a b", "c d"))])


def test_what_is_asked_wrongly_is_named() -> None:
    with pytest.raises(ModelError, match="not been trained"):
        HmmLda().top_words(0)
    model = trained("switch")
    for topic in (3, -1, 99, 1.0):
        with pytest.raises(ConfigError, match=r"`topic`.*allowed: a whole number from 0 to 2; next: "):
            model.top_words(topic)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="`count`"):
        model.top_words(0, 0)
    assert model.top_words(np.int64(2), 3) == model.top_words(2, 3)  # type: ignore[arg-type]
    assert len(model.top_words(2, 3)) == 3
    for orders in ([[0, 1]], []):
        with pytest.raises(ConfigError, match=r"unknown kind.*'foo'.*predicted, filtered, smoothed.*next: "):
            model.topics_of_orders(("cat", "dog"), orders, kind="foo")  # type: ignore[arg-type]
    assert model.topics_of_orders(("cat", "dog"), []) == []
    assert [len(one) for one in model.topics_of_orders(("cat", "dog"), [[], [1, 0]])] == [0, 2]


@pytest.mark.parametrize("given", ["cat dog", "a", ""])
def test_a_text_is_not_taken_for_its_sentences(given: str) -> None:
    """It was read as sentences of one letter."""
    model = trained("matrix", iterations=1)
    for ask in (
        lambda: model.topic_distributions(given),
        lambda: model.topics_of_orders(given, [[0]]),
        lambda: model.topics_of_documents([["cat"], given]),
    ):
        with pytest.raises(CorpusError, match=r"list of sentences.*: saw .*allowed: .*next: "):
            ask()


def test_frequent_and_rare_words_are_dropped() -> None:
    texts = [Document("1", ("the cat", "the dog the")), Document("2", ("the cat", "a"))]
    known, bags = read_bags(texts, vocabulary=10, drop_top=1, rarest=2)
    assert known.words == ("cat",)
    assert bags.counts.toarray().tolist() == [[1.0], [0.0], [1.0], [0.0]]
    assert isinstance(Vocabulary(("cat",)).bags([("cat cat", "dog")]), Bags)
    parts = list(bags.blocks(1))
    assert [part.offsets.tolist() for _, part in parts] == [[0, 2], [0, 2]]
