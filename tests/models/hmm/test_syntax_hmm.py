"""Syntax and content HMMs against slow, obvious code: forward sums, best paths, searches; and strange input."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.trees import TreeBank, read_tree
from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.hub import load_model
from weft.models.hmm.cluster_hmm import (
    BACKGROUND,
    ClusterHmm,
    HmmFields,
    PatternVocabulary,
    _best,
    _clusters,
    _estimated,
    learn_hmm,
)
from weft.models.hmm.content_hmm import ContentHmm
from weft.models.hmm.hmm_combinations import HmmContent, HmmEntity
from weft.models.hmm.local_syntax import SyntaxLocal
from weft.models.hmm.syntax_hmm import SyntaxHmm
from weft.models.hmm.syntax_patterns import productions, sequence
from weft.ordering.order import order_document
from weft.ordering.search import beam_search
from weft.protocols import PairwiseModel, SearchableModel
from weft.registry import create_model


class WordParser:
    """Tags by how a word looks; the first verb is the root, everything before it its subject, all after its object."""

    name = "by looks"

    def __init__(self) -> None:
        self.parsed = 0

    def parse(self, sentences: Sequence[str], *, progress: Any = None) -> list[ParsedSentence]:
        self.parsed += len(sentences)
        return [self._one(sentence.split()) for sentence in sentences]

    def _one(self, words: list[str]) -> ParsedSentence:
        tags = [
            "VBD" if w.endswith("ed") else "IN" if w in {"in", "on"} else "NNP" if w.istitle() else "NN" for w in words
        ]
        root = tags.index("VBD") if "VBD" in tags else 0
        labels = ["ROOT" if n == root else "nsubj" if n < root else "dobj" for n in range(len(words))]
        return ParsedSentence(tuple(words), tuple(tags), (root,) * len(words), tuple(labels))


STORY = ("Ann Lee walked in Rome", "rain stopped", "people on boats waited", "Bob ended it")
TEXTS = [Document(f"t{n}", STORY) for n in range(6)]
PATTERNS = [("a", "b"), ("b", "c", "c"), ("d",), ("a", "d")]


def hmm(states: int = 3, patterns: int = 4, seed: int = 0) -> ClusterHmm:
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.ones(states + 1), size=states)
    emissions = np.log(generator.dirichlet(np.ones(patterns), size=states))
    return ClusterHmm(emissions, generator.dirichlet(np.ones(states)), rows[:, :-1], rows[:, -1], power=0.7)


def path_probabilities(model: ClusterHmm, likelihood: np.ndarray, order: Sequence[int]) -> dict[tuple[int, ...], float]:
    """p(sentences in this order, states) for every sequence of states, one by one."""
    found = {}
    for states in itertools.product(range(len(model.start)), repeat=len(order)):
        value = model.start[states[0]] * model.end[states[-1]]
        value *= math.prod(model.moves[a, b] for a, b in itertools.pairwise(states))
        found[states] = value * math.prod(math.exp(likelihood[s, h]) for s, h in zip(order, states, strict=True))
    return found


def test_gains_are_the_forward_probability_less_that_of_the_sentences_alone() -> None:
    model, known = hmm(), PatternVocabulary.of(PATTERNS, 1, 100)
    likelihood = model.likelihood(known.bags([PATTERNS]).counts)
    alone = [math.log(sum(model.state_shares[h] * math.exp(row[h]) for h in range(3))) for row in likelihood]
    orders = [(0, 1, 2, 3), (2, 0), (3, 1, 0, 2), (1,)]
    for order, gains in zip(orders, model.gains(likelihood, orders), strict=True):
        expected = math.log(sum(path_probabilities(model, likelihood, order).values())) - sum(alone[s] for s in order)
        assert gains.shape == (len(order),)
        assert gains.sum() == pytest.approx(expected, abs=1e-9)


def test_usual_states_are_those_of_many_texts() -> None:
    model, generator = hmm(), np.random.default_rng(3)
    visits = np.zeros(3)
    for _ in range(4000):
        state = generator.choice(3, p=model.start)
        while state < 3:
            visits[state] += 1
            state = generator.choice(4, p=np.append(model.moves[state], model.end[state]))
    assert visits / visits.sum() == pytest.approx(model.state_shares, abs=0.02)


def test_the_best_path_is_the_best_of_all() -> None:
    model, known = hmm(seed=5), PatternVocabulary.of(PATTERNS, 1, 100)
    bags = known.bags([PATTERNS, PATTERNS[1:3], [], PATTERNS[:1]])
    shares, moves = _best(model, bags)
    likelihood = model.likelihood(bags.counts)
    for start, stop in itertools.pairwise(bags.offsets.tolist()):
        if start < stop:
            paths = path_probabilities(model, likelihood, range(start, stop))
            assert tuple(shares[start:stop].argmax(axis=1)) == max(paths, key=paths.__getitem__)
    assert moves.sum() == 4  # three and one


@pytest.mark.parametrize("reassign", ["expected", "best"])
def test_learning_makes_probabilities_and_finds_the_order_of_states(reassign: str) -> None:
    texts = [[("a", "x"), ("b", "x"), ("c",)], [("a",), ("b",), ("c", "x")]] * 4
    known = PatternVocabulary.of([s for t in texts for s in t], 1, 100)
    learned = learn_hmm(known.bags(texts), HmmFields(clusters=3, power=1.0, reassign=reassign), seed=1)
    assert np.exp(learned.emissions).sum(axis=1) == pytest.approx(1.0)
    assert learned.moves.sum(axis=1) + learned.end == pytest.approx(1.0)
    state = {p: int(np.argmax(learned.emissions[:, known.numbers[p]])) for p in "abc"}
    assert len(set(state.values())) == 3
    assert learned.start.argmax() == state["a"]
    assert learned.moves[state["a"]].argmax() == state["b"]
    assert learned.end.argmax() == state["c"]


def test_small_clusters_share_a_state_that_emits_what_others_do_not() -> None:
    texts = [[("a", "a"), ("b", "b")]] * 5 + [[("odd",), ("rare",)]]
    known = PatternVocabulary.of([s for t in texts for s in t], 1, 100)
    learned = learn_hmm(known.bags(texts), HmmFields(clusters=4, iterations=0), smallest=3, seed=1)
    assert len(learned.start) == 3
    rest = learned.emissions[-1]
    assert min(rest[known.numbers["odd"]], rest[known.numbers["rare"]]) > rest[known.numbers["a"]]


def test_patterns_of_a_dependency_tree() -> None:
    from weft.corpora.syntax.trees import tree_of_parse

    tree = tree_of_parse(WordParser().parse(["Bob ended it on"])[0])
    assert sequence(tree) == ("<s> NNP", "NNP VBD", "VBD NN", "NN IN", "IN </s>")
    assert sequence(tree, 1) == ("<s> nsubj", "nsubj VBD", "VBD dobj", "dobj dobj", "dobj </s>")
    assert "ROOT → nsubj VBD dobj dobj" in productions(tree)
    assert "IN → on" in productions(tree)
    assert not [p for p in productions(tree) if "it" in p.split()]


def assert_higher(one: float | None, other: float | None) -> None:
    assert one is not None and other is not None
    assert one > other


def models() -> list[Any]:
    part: dict[str, Any] = {"clusters": 3, "members": 2, "rarest": 1}
    return [
        SyntaxHmm(SyntaxHmm.Settings(**part)).with_parser(WordParser()),
        SyntaxHmm(SyntaxHmm.Settings(**part, pattern="productions")).with_parser(WordParser()),
        ContentHmm(ContentHmm.Settings(**part)),
        SyntaxLocal(SyntaxLocal.Settings(rarest=1)).with_parser(WordParser()),
        HmmContent(HmmContent.Settings(syntax=part, content=part, folds=2)).with_parser(WordParser()),
        HmmEntity(HmmEntity.Settings(syntax=part, folds=2)).with_parser(WordParser()),
    ]


@pytest.fixture(
    scope="module", params=range(6), ids=["tags", "productions", "content", "local", "hmm-content", "hmm-entity"]
)
def model(request: pytest.FixtureRequest) -> Any:
    return models()[request.param].fit(TEXTS)


def test_a_text_scores_higher_than_its_reverse(model: Any) -> None:
    whole, reverse = model.score([Document("d", STORY), Document("d", STORY[::-1])])
    assert whole.value > reverse.value


def test_orders_score_as_texts_of_their_own(model: Any) -> None:
    if not hasattr(model, "order_scores"):
        pytest.skip("has a table")
    document = Document("d", STORY)
    orders = [(0, 1, 2, 3), (3, 1), (2, 0, 1), (1,), ()]
    for order, value in zip(orders, model.order_scores(document, orders), strict=True):
        alone = model.score([document.reorder(order)])[0].value
        assert value is None if alone is None else value == pytest.approx(alone, abs=1e-9)


def test_a_search_gains_what_the_order_scores(model: Any) -> None:
    if isinstance(model, PairwiseModel):
        pytest.skip("has a table")
    assert isinstance(model, SearchableModel)
    search_agrees(model)


def search_agrees(model: Any) -> None:
    document = Document("d", STORY)
    steps = model.order_search(document)
    total = steps.begin([2, 0])
    for rows, columns in (([0, 1], [0, 1]), ([1, 0], [3, 3]), ([0, 1], [2, 1])):
        total = (total[:, None] + steps.gains())[rows, columns]
        steps.keep(rows, columns)
    scores = model.order_scores(document, [(0, 1, 3, 2), (2, 0, 3, 1)])
    assert total[0] - total[1] == pytest.approx(scores[0] - scores[1], abs=1e-9)  # up to what all orders have in common
    best = max(itertools.permutations(range(4)), key=lambda order: model.order_scores(document, [order])[0])
    assert beam_search(model.order_search(document), 4, beam=24) == best
    assert order_document(model, document).order == best


@pytest.mark.parametrize(
    "sentences",
    [
        ("dog", "cat"),
        ("walked", "stopped"),
        ("in", "on"),
        ("unheard of", "never seen before"),
        ("\u200b", "\u200b"),
        ("…", "…"),
    ],
    ids=["no verbs", "no nouns", "neither", "unknown", "empty", "marks"],
)
def test_strange_sentences_get_a_number(model: Any, sentences: tuple[str, ...]) -> None:
    value = model.score([Document("d", sentences)])[0].value
    assert value is not None
    assert math.isfinite(value)


def test_a_sentence_is_parsed_once_however_many_orders() -> None:
    parser = WordParser()
    learned = SyntaxHmm(SyntaxHmm.Settings(clusters=2, members=1, rarest=1)).with_parser(parser).fit(TEXTS)
    assert parser.parsed == len(STORY)
    learned.order_scores(Document("d", STORY), list(itertools.permutations(range(4))))
    assert parser.parsed == 2 * len(STORY)


def test_ten_thousand_sentences_need_little_memory(model: Any) -> None:
    document = Document("long", tuple(f"{STORY[n % 4]} x{n % 7}" for n in range(10_000)))
    tracemalloc.start()
    score = model.score([document])[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert score.value is not None and math.isfinite(score.value)
    assert peak < 200e6  # a table of all pairs would have 800 MB


def test_nothing_to_learn_from_is_said() -> None:
    for document in (Document("d", ()), Document("d", ("…", "…"))):
        with pytest.raises(CorpusError, match="no patterns to learn from.*next"):
            ContentHmm().fit([document])
    with pytest.raises(CorpusError, match="not enough text.*at least two"):
        HmmContent().with_parser(WordParser()).fit(TEXTS[:1])


def test_penn_trees_need_a_treebank_and_take_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a treebank"):
        create_model("syntax-hmm", {"trees": "penn"})
    (tmp_path / "trees.txt").write_text("(S (NP (NNP Ann)) (VP (VBD ran)))\n(S (VP (VB Stop)))\n")
    settings: dict[str, Any] = {
        "trees": "penn",
        "treebank": str(tmp_path / "trees.txt"),
        "clusters": 2,
        "rarest": 1,
        "members": 1,
    }
    text = Document("d", ("Ann ran.", "Stop!"))
    learned = SyntaxHmm(SyntaxHmm.Settings(**settings)).fit([text] * 4)
    assert_higher(*learned.order_scores(text, [(0, 1), (1, 0)]))
    assert learned.patterns(["Stop!", "Not there."])[1] == ()
    with pytest.raises(CorpusError, match='has no tree of this text.*trees = "dependency"'):
        learned.score([Document("other", ("Not there.", "Nor this."))])


def test_settings_of_patterns_are_checked() -> None:
    for wrong in ({"pattern": "words"}, {"trees": "maple"}, {"parser": 3}):
        for name in ("syntax-hmm", "syntax-local"):
            with pytest.raises(ConfigError):
                create_model(name, wrong)


@pytest.mark.parametrize("table", [{"parser": "x"}, {"clusters": 0}, {"cluster": 3}])
def test_settings_of_parts_are_checked_at_once(table: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        create_model("hmm-content", {"syntax": table})


def test_a_combination_weighs_by_texts_that_its_parts_have_not_seen() -> None:
    """Words that no other text has: a content HMM knows its own texts by heart, and nothing of others."""
    texts = [Document(f"n{n}", (f"A{n} B{n} went{n}ed", f"c{n}ed d{n}ed", f"e{n} f{n} g{n} h{n}")) for n in range(6)]
    content: dict[str, Any] = {"clusters": 18, "members": 1, "rarest": 1}
    alone = ContentHmm(ContentHmm.Settings(**content)).fit(texts)
    assert_higher(*alone.order_scores(texts[0], [(0, 1, 2), (2, 1, 0)]))
    learned = HmmContent(
        HmmContent.Settings(syntax={"clusters": 3, "members": 1}, content=content, folds=3)
    ).with_parser(WordParser())
    syntax_weight, content_weight = learned.fit(texts).weights
    assert syntax_weight > 0
    assert content_weight == 0


def test_damaged_states_are_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    from weft.io.model_folder import load_artifact, save_artifact

    ContentHmm(ContentHmm.Settings(clusters=2, members=1, rarest=1)).fit(TEXTS).save(tmp_path / "m")
    whole = load_artifact(tmp_path / "m")
    for name, value in (
        ("start.0", np.array([np.nan, 1.0])),
        ("end.0", np.array([2.0, 0.5])),
        ("moves.0", np.ones((3, 3))),
    ):
        save_artifact(replace(whole, tensors={**whole.tensors, name: value}), tmp_path / "m")
        with pytest.raises(ModelError, match="not all finite|do not fit together"):
            load_model(tmp_path / "m")


def test_a_damaged_part_is_told_by_the_folder_of_the_whole(tmp_path: Path) -> None:
    from dataclasses import replace

    from weft.io.model_folder import load_artifact, save_artifact

    part: dict[str, Any] = {"clusters": 2, "members": 1, "rarest": 1}
    HmmContent(HmmContent.Settings(syntax=part, content=part)).with_parser(WordParser()).fit(TEXTS).save(tmp_path / "m")
    whole = load_artifact(tmp_path / "m")
    kept = {name: value for name, value in whole.tensors.items() if name != "content/end.0"}
    save_artifact(replace(whole, tensors=kept), tmp_path / "m")
    with pytest.raises(ModelError, match=r"m/content.*end\.0"):
        load_model(tmp_path / "m")


@pytest.mark.shared
@pytest.mark.parametrize("name", ["syntax-hmm", "content-hmm", "hmm-content", "hmm-entity", "syntax-local"])
def test_the_weights_in_the_zoo_give_the_results(name: str, shared_data: Path) -> None:
    from weft.corpora.readers.formats import read_permuted
    from weft.evaluation.discrimination import discriminate
    from weft.evaluation.result import Result

    pytest.importorskip("spacy", reason="the extra `parse` is not installed")
    root = Path(__file__).parents[3]
    documents = list(read_permuted(shared_data / "barzilay_lapata" / "accidents.test.jsonl"))[:10]
    found = discriminate(load_model(root / "zoo" / f"{name}-accidents"), documents).measures["accuracy"]
    told = Result.load(root / "results" / "accidents" / f"{name}.json").per_document["accuracy"]
    # Another processor's arithmetic may turn a pair that is nearly even.
    assert sum(found.numerators) == pytest.approx(sum(told["numerators"][:10]), abs=2)


def bags(documents: Sequence[Sequence[tuple[str, ...]]], patterns: str) -> Any:
    return PatternVocabulary({pattern: number for number, pattern in enumerate(patterns)}).bags(documents)


def test_the_best_path_begins_where_texts_begin() -> None:
    emissions = np.log(np.full((2, 2), 0.5))
    hmm = ClusterHmm(emissions, np.array([0.01, 0.99]), np.full((2, 2), 0.4), np.full(2, 0.2), power=1.0)
    shares, _ = _best(hmm, bags([[("a",)]], "ab"))
    assert shares.tolist() == [[0.0, 1.0]]


def test_a_state_without_sentences_emits_what_all_texts_have() -> None:
    found = bags([[("a", "a", "a"), ("b",)]], "ab")
    shares = np.array([[1.0, 0.0], [1.0, 0.0]])
    hmm = _estimated(found, shares, np.zeros((2, 2)), HmmFields(smoothing=0.5), rest=False)
    background = np.array([3.0, 1.0]) + BACKGROUND
    assert np.exp(hmm.emissions[1]) == pytest.approx(background / background.sum())


@pytest.mark.parametrize(("smallest", "rest"), [(3, False), (4, True)])
def test_a_cluster_of_the_smallest_size_is_not_too_small(smallest: int, rest: bool) -> None:
    found = bags([[("a", "b")] * 3 + [("c", "d")] * 5], "abcd")
    clusters, has_rest = _clusters(found.counts, 2, smallest, seed=1)
    assert sorted(np.bincount(clusters).tolist()) == [3, 5]
    assert has_rest is rest


def content_model() -> ContentHmm:
    generator = np.random.default_rng(4)
    words = [f"word{number}" for number in range(40)]
    texts = [Document(str(n), tuple(" ".join(generator.choice(words, size=6)) for _ in range(5))) for n in range(12)]
    return ContentHmm(ContentHmm.Settings(clusters=5, members=3, rarest=1)).fit(texts)


def test_members_come_of_different_clusterings_and_are_saved_as_they_score(tmp_path: Path) -> None:
    model = content_model()
    assert model.committee is not None
    one, other, _ = (member.emissions for member in model.committee.members)
    assert one.shape != other.shape or not np.allclose(one, other)
    model.save(tmp_path / "m")
    text = Document("d", ("word1 word2 word3", "word4 word5", "word6 word7 word8 word9"))
    assert load_model(tmp_path / "m").score([text]) == model.score([text])


def test_after_a_sentence_of_which_nothing_is_known_nothing_is_gained() -> None:
    trees = ("(SQ (VBZ Is) (PRP it) (. ?))", "(S (PRP It) (VBZ is) (. .))", "(XX (YY what))")
    model = SyntaxLocal(SyntaxLocal.Settings(trees="penn", treebank="toy", rarest=2))
    model.finder.bank = TreeBank([read_tree(tree) for tree in trees])
    model.fit([Document(str(n), ("Is it?", "It is.")) for n in range(5)])
    score = model.score([Document("d", ("Is it?", "what", "It is.", "Is it?"))])[0]
    assert all(map(math.isfinite, score.transitions))
    assert score.transitions[:2] == pytest.approx((0.0, 0.0))
    assert score.transitions[2] != pytest.approx(0.0)
    table = model.pair_table(Document("d", ("Is it?", "It is.")))
    assert table[0, 1] == pytest.approx(model.score([Document("d", ("Is it?", "It is."))])[0].value)
