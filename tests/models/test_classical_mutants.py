"""Lines of the entity grid, the HMMs and the discriminative models that could be broken without a test noticing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.parsers import MarkedParser

from weft.corpora.syntax.trees import TreeBank, read_tree
from weft.document import Document
from weft.hub import load_model
from weft.models.common.pairwise_ranker import learn_ranking
from weft.models.discriminative import pair_model as pairs
from weft.models.discriminative.clique_model import Discriminative
from weft.models.discriminative.clique_windows import EDGES, damaged_windows
from weft.models.discriminative.networks import CliqueHead, PairNetwork, Reading, SentenceLstm
from weft.models.discriminative.pair_model import DiscriminativePair
from weft.models.discriminative.recursive_model import TreeBatch
from weft.models.discriminative.sentence_similarity import BAG, Contents, content_size, cosines
from weft.models.discriminative.tree_encoder import KnownTree, TreeReader
from weft.models.entity.generative_grid import EntityGridGenerative
from weft.models.entity.grid import build_grid
from weft.models.entity.transition_weights import TransitionWeights
from weft.models.entity.transitions import BASE, WindowOptions, transition_shares
from weft.models.hmm.cluster_hmm import (
    BACKGROUND,
    ClusterHmm,
    HmmOptions,
    PatternVocabulary,
    _best,
    _clusters,
    _estimated,
)
from weft.models.hmm.content_hmm import ContentHmm
from weft.models.hmm.local_syntax import SyntaxLocal
from weft.training.fitting import fit_documents
from weft.training.loop import TrainingSettings

GRID = build_grid([{"a": 3, "b": 1}, {"a": 2, "c": 3}, {"d": 1, "a": 1}, {"b": 2}])

# The entity grid --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("salience", "classes"), [(0, 1), (1, 1), (2, 2)])
def test_one_class_of_entities_where_all_would_be_salient(salience: int, classes: int) -> None:
    options = WindowOptions(salience)
    assert options.classes == classes
    assert len(set(options.class_of(GRID).tolist())) == classes


def test_shares_are_of_the_transitions_of_a_class() -> None:
    shares = transition_shares(GRID, [range(4)], 2, WindowOptions())
    assert shares.sum(axis=2) == pytest.approx(np.ones((1, 2)))


@pytest.mark.parametrize(("by_class", "value"), [(True, 2.0), (False, 1.0)])
def test_weights_count_for_shares_of_a_class_or_of_all(by_class: bool, value: float) -> None:
    weights = TransitionWeights({2: np.ones((2, BASE**2))}, WindowOptions(), by_class)
    assert weights.values(GRID, [range(4)]) == pytest.approx([value])
    assert weights.score(GRID).value == pytest.approx(value)


def test_the_generative_grid_sees_the_beginning_and_not_the_end() -> None:
    assert EntityGridGenerative(EntityGridGenerative.Settings(salience=3)).options == WindowOptions(
        3, start=True, end=False
    )


def test_without_syntax_two_things_are_possible_in_a_cell() -> None:
    texts = [Document(str(n), ("dog/nsubj", "dog/dobj cat/nsubj", "cat/pobj")) for n in range(3)]
    model = (
        EntityGridGenerative(EntityGridGenerative.Settings(syntax=False, history=1))
        .with_parser(MarkedParser())
        .fit(texts)
    )
    assert model.weights is not None
    table = np.exp(model.weights.tables[2]).reshape(2, BASE, BASE)
    assert table[:, :2, :2].sum(axis=2) == pytest.approx(np.ones((2, 2)), abs=1e-5)


def test_some_sentences_of_a_grid_are_the_grid_of_these_sentences() -> None:
    rows = [{"a": 3, "b": 1}, {"a": 2, "c": 3}, {"d": 1, "a": 1}, {"b": 2}]
    found, alone = GRID.restricted([3, 2, 0]), build_grid([rows[3], rows[2], rows[0]])
    assert sorted(found.rows()) == sorted(alone.rows())
    assert (np.diff(found.entity) >= 0).all()
    assert all(np.all(np.diff(found.sentence[found.entity == entity]) > 0) for entity in range(len(found.names)))


# The ranker -------------------------------------------------------------------------------------------------------


def test_the_ranker_does_not_care_in_what_unit_a_feature_is() -> None:
    rows = np.random.default_rng(1).normal(loc=(0.5, 0.1, 0.0), size=(80, 3))
    group = np.repeat(np.arange(8), 10)
    plain, other = learn_ranking(rows, group), learn_ranking(rows * [1.0, 1000.0, 0.01], group)
    assert other.weights * [1.0, 1000.0, 0.01] == pytest.approx(plain.weights, rel=1e-3)
    assert other.cost == plain.cost


def test_pairs_of_one_text_are_never_on_both_sides() -> None:
    """Each text has a direction of its own: known for those learned from, a coin's toss for those left out."""
    generator = np.random.default_rng(2)
    rows = np.repeat(generator.normal(size=(40, 60)), 10, axis=0) + generator.normal(size=(400, 60)) * 0.1
    found = learn_ranking(rows, np.repeat(np.arange(40), 10))
    assert found.accuracy is not None and found.accuracy < 0.8


# Hidden Markov models ---------------------------------------------------------------------------------------------


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
    hmm = _estimated(found, shares, np.zeros((2, 2)), HmmOptions(smoothing=0.5), rest=False)
    background = np.array([3.0, 1.0]) + BACKGROUND
    assert np.exp(hmm.emissions[1]) == pytest.approx(background / background.sum())


@pytest.mark.parametrize(("smallest", "rest"), [(3, False), (4, True)])
def test_a_cluster_of_the_smallest_size_is_not_too_small(smallest: int, rest: bool) -> None:
    found = bags([[("a", "b")] * 3 + [("c", "d")] * 5], "abcd")
    clusters, has_rest = _clusters(found.counts, HmmOptions(clusters=2, smallest=smallest), seed=1)
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


# Cliques ----------------------------------------------------------------------------------------------------------


def test_a_centre_of_the_document_is_always_replaced() -> None:
    places = torch.tensor([[0, 1, 2], [3, 4, -1]])
    drawn = set()
    for seed in range(20):
        windows, kept = damaged_windows(places, 1, "document", torch.Generator().manual_seed(seed))
        assert kept.tolist() == [[True, True, True], [True, True, False]]
        drawn |= {(place, int(row) - 2) for place, row in enumerate(windows[0, :, 1])}
    assert drawn == {(place, other) for place in range(3) for other in range(3) if place != other}


@pytest.mark.parametrize("each", [1, 4])
def test_both_kinds_of_cliques_weigh_the_same(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everything has log-odds 0, each clique costs log 2, however many damaged ones there are."""
    model = Discriminative(each=each, dimensions=4, hidden=4, width=4, likeness=False)
    monkeypatch.setattr(CliqueHead, "forward", lambda self, rows, cliques: torch.zeros(len(cliques)))
    head = CliqueHead(4, 1, 4, 0.0, 0)
    loss = model.clique_loss(head, torch.zeros(5, 4), np.array([[0, 1, 2, 3, 4]]), torch.nn.Linear(1, 1).eval())
    assert loss.count == 5
    assert float(loss.total) == pytest.approx(5 * math.log(2))


# Reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["last", "max", "mean"])
def test_a_sentence_is_read_from_its_end_as_if_it_were_alone(pooling: str) -> None:
    torch.manual_seed(1)
    reader = SentenceLstm(Reading(vocabulary=9, dimensions=3, hidden=4, pooling=pooling))
    embedded, lengths = torch.randn(3, 5, 3), torch.tensor([5, 1, 3])
    found = reader(embedded, lengths)
    for row, length in enumerate(lengths.tolist()):
        states = reader.lstm(embedded[row : row + 1, :length].flip(1))[0][0]  # [length, hidden]
        pooled = {"last": states[-1], "max": states.amax(dim=0), "mean": states.mean(dim=0)}[pooling]
        assert torch.allclose(found[row], pooled, atol=1e-6)


def test_a_pair_is_judged_by_both_sentences_their_difference_and_their_product() -> None:
    torch.manual_seed(1)
    network = PairNetwork(Reading(vocabulary=9, dimensions=3, hidden=4, likeness=True), width=5).eval()
    left, right = torch.randn(2, 4 + content_size(3, 9)), torch.randn(2, 4 + content_size(3, 9))
    u, v, alike = left[:, :4], right[:, :4], cosines(left[:, 4:], right[:, 4:], 3)
    assert network.alike is not None
    layers = (
        network.left(u),
        network.right(v),
        network.joint(torch.cat([(u - v).abs(), u * v], 1)),
        network.alike(alike),
    )
    expected = network.verdict(torch.relu(sum(layers)))[:, 0]
    assert torch.allclose(network(left, right), expected, atol=1e-6)
    assert not torch.allclose(network(left, right), network(right, left))


def test_an_edge_is_like_nothing() -> None:
    head = CliqueHead(4, 1, 5, 0.0, 3)
    rows = head.rows(torch.randn(3, 4 + content_size(3, 9)))
    assert rows.alike is not None
    for table in rows.alike:
        assert not table[:EDGES].any() and not table[:, :EDGES].any()
        assert table[EDGES:, EDGES:].any()


def test_padding_says_nothing_of_a_sentence_and_folded_words_cancel_out() -> None:
    contents, vectors = Contents(9), torch.randn(9, 3)
    tokens, owners = torch.tensor([1, 2, 0, 4, 5, 6]), torch.tensor([0, 0, 0, 1, 1, 1])
    counted = torch.tensor([True, True, False, True, False, False])
    padded = contents(tokens, owners, counted, 2, vectors)
    alone = contents(tokens[counted], owners[counted], None, 2, vectors)
    assert torch.allclose(padded, alone)
    assert not torch.allclose(padded, contents(tokens, owners, None, 2, vectors))
    many = torch.arange(1, 3 * BAG)
    bag = Contents(3 * BAG)(many, torch.zeros_like(many), None, 1, torch.randn(3 * BAG, 2))[0, 2:]
    assert (bag < 0).any() and (bag > 0).any()


@pytest.mark.parametrize(("words", "encoder"), [(False, False), (True, False), (False, True)])
def test_what_is_fixed_is_not_learned(words: bool, encoder: bool) -> None:
    network = PairNetwork(Reading(vocabulary=9, dimensions=3, hidden=4, fixed_words=words, fixed_encoder=encoder), 5)
    assert network.embedding.weight.requires_grad is not (words or encoder)
    assert {parameter.requires_grad for parameter in network.encoder.parameters()} == {not encoder}
    assert network.verdict.weight.requires_grad


# Pairs ------------------------------------------------------------------------------------------------------------


class Batch:
    """One text of four sentences."""

    places = np.array([[0, 1, 2, 3]])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(("direction", "kept"), [("forward", "left"), ("backward", "right")])
def test_each_direction_replaces_its_side_of_a_pair(direction: str, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the side that stays is looked at, both pairs look alike, and each is a whole margin short."""
    model = DiscriminativePair(margin=2.0, each=3, dimensions=3, hidden=4, width=5)
    network = model.build(direction, Reading(vocabulary=9, dimensions=3, hidden=4))
    monkeypatch.setattr(pairs, "moved_sentences", lambda batch, device: None)
    monkeypatch.setattr(network, "read", lambda sentences: torch.randn(4, network.size))
    for side in ("left", "right"):
        look = (lambda left, right: left.sum(-1)) if side == "left" else (lambda left, right: right.sum(-1))
        monkeypatch.setattr(network, "forward", look)
        loss = model.batch_loss(network, Batch(), torch.device("cpu"))  # type: ignore[arg-type]
        assert loss.count == 3
        assert (loss.total.item() == pytest.approx(3 * 2.0, abs=1e-4)) is (side == kept)


def test_a_pair_scores_the_mean_of_both_directions() -> None:
    texts = [Document(str(n), ("a dog", "the dog ran", "it ran home", "a cat")) for n in range(4)]
    settings = TrainingSettings(steps=2, warmup=0, validate_every=0, batch_tokens=100)
    model = fit_documents(DiscriminativePair(dimensions=4, hidden=4, width=4), texts, settings=settings, vocabulary=300)
    with torch.inference_mode():
        both = [
            model.judge(part)(vectors[:1], vectors[1:2])
            for part in ("forward", "backward")
            for vectors in [model._vectors(part, texts[0])]
        ]
    assert float(both[0]) != pytest.approx(float(both[1]))
    expected = (float(both[0]) + float(both[1])) / 2
    assert model.score([texts[0]])[0].transitions[0] == pytest.approx(expected, abs=1e-6)


# Trees ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("composition", ["tanh", "lstm"])
def test_a_node_is_made_of_its_left_and_its_right_child(composition: str) -> None:
    torch.manual_seed(1)
    reader = TreeReader(9, 3, 4, composition, "root", 0.0, fixed_words=False, likeness=False)
    below = torch.randn(1, 2, 4 if composition == "tanh" else 8)
    left, right = below[0, 0], below[0, 1]
    mixed = reader.compose.weight @ torch.cat([left[:4], right[:4]]) + reader.compose.bias
    found = reader._composed(below)[0]
    if composition == "tanh":
        assert torch.allclose(found, torch.tanh(mixed), atol=1e-6)
        return
    enter, keep_left, keep_right, output, new = mixed.chunk(5)
    cell = torch.sigmoid(enter) * torch.tanh(new)
    cell = cell + torch.sigmoid(keep_left + 1) * left[4:] + torch.sigmoid(keep_right + 1) * right[4:]
    assert torch.allclose(found, torch.cat([torch.sigmoid(output) * torch.tanh(cell), cell]), atol=1e-6)


def test_a_process_gets_its_texts_and_their_trees() -> None:
    trees = [KnownTree((number,), (1,), (), ()) for number in range(6)]
    batch = TreeBatch(np.array([[0, 1, -1], [2, 3, 4], [5, -1, -1]]), trees)
    for start in range(2):
        share = batch.rows(start, 2)
        assert len(share) == (2, 1)[start]
        for row, places in zip(batch.places[start::2], share.places, strict=True):
            assert [share.trees[place].tokens[0] for place in places[places >= 0]] == row[row >= 0].tolist()
        assert len(share.trees) == (share.places >= 0).sum()
