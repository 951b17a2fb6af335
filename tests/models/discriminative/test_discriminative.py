"""The discriminative models: cliques and their damage, the loop, orders, and a toy that must be learned."""

from __future__ import annotations

import math
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.permuted import permute_documents

from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.document import Document
from weft.errors import ConfigError, ModelError
from weft.evaluation.discrimination import discriminate
from weft.hub import load_model
from weft.models.discriminative import clique_order_search
from weft.models.discriminative import pair_model as pairs
from weft.models.discriminative.clique_model import Discriminative
from weft.models.discriminative.clique_scorer import clique_loss, transition_shares
from weft.models.discriminative.clique_windows import EDGES, clique_windows, damaged_windows, shuffled
from weft.models.discriminative.networks import CliqueHead, CliqueNetwork, PairNetwork, ReaderOptions
from weft.models.discriminative.pair_model import DiscriminativePair, replaced_pairs
from weft.models.discriminative.sentence_similarity import ContentEncoder, all_similarities, similarities
from weft.ordering.order import order_document
from weft.protocols import SearchableModel
from weft.registry import create_model
from weft.training.fit_documents import fit_documents
from weft.training.settings import TrainingSettings

PLACES = torch.tensor([[0, 1, 2, 3], [4, 5, -1, -1]])
SMALL: dict[str, Any] = {"dimensions": 16, "hidden": 16, "width": 16, "dropout": 0.0}


def story(number: int) -> Document:
    """A text whose order can be learned: what is lit, eaten and washed comes in this order."""
    rng = random.Random(number)
    who, what = rng.choice(["Ann", "Bob", "Cid"]), rng.choice(["bread", "fish", "soup"])
    lines = [f"{who} lit the stove.", f"Then {who} cooked {what}.", f"The {what} was eaten.", "The dishes were washed.",
             f"{who} went to bed."]  # fmt: skip
    return Document(f"s{number}", tuple(lines))


STORIES = [story(number) for number in range(40)]


@pytest.fixture(scope="module")
def trained() -> Discriminative:
    settings = TrainingSettings(steps=60, warmup=0, learning_rate=1e-2, validate_every=0, batch_tokens=400)
    return fit_documents(Discriminative(Discriminative.Settings(**SMALL)), STORIES, settings=settings, vocabulary=300)


def test_every_sentence_is_the_centre_of_one_clique_and_edges_are_told_apart() -> None:
    windows = clique_windows(PLACES, 2)
    assert windows.shape == (2, 4, 5)
    assert windows[0, 0].tolist() == [0, 0, 2, 3, 4]
    assert windows[1, 1].tolist() == [0, 6, 7, 1, 1]
    assert (windows[:, :, 2] == PLACES + EDGES).all()


@pytest.mark.parametrize("negatives", ["permutation", "document", "corpus"])
@pytest.mark.parametrize("window", [1, 2])
def test_what_is_called_damaged_is_damaged(negatives: str, window: int) -> None:
    whole = {tuple(clique) for clique in clique_windows(PLACES, window)[PLACES >= 0].tolist()}
    generator, seen = torch.Generator().manual_seed(3), 0
    for _ in range(50):
        windows, kept = damaged_windows(PLACES, window, negatives, generator)
        assert not (kept & (PLACES < 0)).any()
        for clique in windows[kept].tolist():
            assert tuple(clique) not in whole
            seen += 1
    assert seen > 50


def test_negatives_of_a_document_stay_in_it_and_those_of_the_corpus_do_not() -> None:
    generator = torch.Generator().manual_seed(1)
    texts = torch.tensor([[0] * 4, [1] * 2 + [0] * 2])
    for negatives, same in (("document", True), ("corpus", False)):
        for _ in range(50):
            windows, kept = damaged_windows(PLACES, 1, negatives, generator)
            drawn = windows[:, :, 1] - EDGES
            owner = (drawn >= 4).long()
            assert ((owner == texts)[kept] == same).all()


def test_a_shuffle_keeps_the_sentences_of_each_text() -> None:
    mixed = shuffled(PLACES, torch.Generator().manual_seed(1))
    assert [sorted(row) for row in mixed.tolist()] == [sorted(row) for row in PLACES.tolist()]
    assert (mixed[1, 2:] == -1).all()


def test_replaced_sentences_are_of_the_text_and_not_in_the_pair() -> None:
    places = torch.tensor([[0, 1, 2, 3], [4, 5, 6, -1]])
    left, right, other = replaced_pairs(places, 200, torch.Generator().manual_seed(1))
    assert left.tolist() == [0, 1, 2, 4, 5]
    assert (right == left + 1).all()
    for pair, row in zip(zip(left.tolist(), right.tolist(), strict=True), other.tolist(), strict=True):
        text = {0, 1, 2, 3} if pair[0] < 4 else {4, 5, 6}
        assert set(row) == text - set(pair)


def test_likeness_is_the_cosine_of_sums_and_of_bags() -> None:
    vectors, ids = torch.randn(20, 8), [[4, 5, 6], [5, 6, 7], [15]]
    tokens = torch.tensor([token for row in ids for token in row])
    owners = torch.tensor([number for number, row in enumerate(ids) for _ in row])
    found = ContentEncoder(20)(tokens, owners, None, 3, vectors)
    weight = [math.log1p(token) / math.log1p(20) for token in range(20)]
    sums = [torch.stack([weight[t] * vectors[t] for t in row]).sum(dim=0) for row in ids]
    bags = [np.array([weight[t] * (t in row) for t in range(20)]) for row in ids]
    expected = float(torch.cosine_similarity(sums[0], sums[1], dim=0))
    overlap = bags[0] @ bags[1] / np.linalg.norm(bags[0]) / np.linalg.norm(bags[1])
    assert (similarities(found[0], found[1], 8) / 4).tolist() == pytest.approx([expected, overlap], abs=1e-5)
    assert float(similarities(found[0], found[2], 8)[1]) == 0.0
    both = torch.stack([similarities(found[a], found[b], 8) for a in range(3) for b in range(3)])  # [9, 2]
    assert torch.allclose(torch.stack(all_similarities(found, 8), dim=-1).flatten(0, 1), both, atol=1e-5)


def test_a_large_vocabulary_is_folded_and_a_sentence_is_still_like_itself() -> None:
    vectors, row = torch.randn(9000, 4), torch.randint(4, 9000, (12,))
    found = ContentEncoder(9000)(torch.cat([row, row.flip(0)]), torch.tensor([0] * 12 + [1] * 12), None, 2, vectors)
    assert (similarities(found[0], found[1], 4) / 4).tolist() == pytest.approx([1.0, 1.0], abs=1e-5)


def test_a_clique_is_what_one_matrix_over_the_concatenation_makes_of_it() -> None:
    network = CliqueNetwork(ReaderOptions(30, 8, 8, dropout=0.0, similarity=False), window=1, width=5).eval()
    torch.nn.init.normal_(network.head.edges)
    vectors = torch.randn(4, 8)
    rows = network.head.rows(vectors)
    matrix = torch.cat(list(network.head.places.weight.view(3, 5, 8)), dim=1)  # [width, 3 · 8]
    table = torch.cat([network.head.edges, vectors])
    clique = torch.tensor([[0, 2, 3]])
    expected = network.head.output(torch.tanh(table[clique].flatten(1) @ matrix.T + network.head.bias))[:, 0]
    assert torch.allclose(network.head(rows, clique), expected, atol=1e-6)


def test_the_toy_is_learned_and_log_odds_do_not_saturate(trained: Discriminative) -> None:
    held_out = permute_documents([story(number) for number in range(100, 110)])
    found = discriminate(trained, held_out)
    accuracy = found.measures["accuracy"]
    assert sum(accuracy.numerators) / sum(accuracy.denominators) > 0.9
    assert found.ties == 0


def test_permutations_cost_no_second_reading(trained: Discriminative, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    whole = trained.sentence_vectors

    def counted(part: str, texts: Any) -> Any:
        read.append(len(texts))
        return whole(part, texts)

    monkeypatch.setattr(trained, "sentence_vectors", counted)
    document = Document("new", tuple(f"Zoe saw {n} owls." for n in range(5)))
    item = PermutedDocument(document, tuple(permutations(range(5)))[1:21])
    discriminate(trained, [item])
    assert read == [5]


def test_orders_and_documents_are_scored_alike(trained: Discriminative) -> None:
    document, order = STORIES[3], (4, 2, 0, 1, 3)
    values = trained.order_scores(document, [order, order[:3], order[:1]])
    assert values[0] == pytest.approx(trained.score([document.reorder(order)])[0].value, abs=1e-6)
    assert values[1] == pytest.approx(trained.score([document.reorder(order[:3])])[0].value, abs=1e-6)
    assert values[2] is None


@pytest.mark.parametrize(("window", "at_once"), [(1, 2**14), (2, 2), (3, 2**14)])
def test_growing_an_order_adds_up_to_its_cliques(window: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clique_order_search, "AT_ONCE", at_once)
    options = TrainingSettings(steps=2, warmup=0, validate_every=0)
    model = Discriminative(Discriminative.Settings(**SMALL, window=window))
    fit_documents(model, STORIES[:4], settings=options, vocabulary=300)
    assert isinstance(model, SearchableModel)
    for size in (2, 3, 5):
        document, order = STORIES[0].reorder(range(size)), list(range(size))[::-1]
        steps = model.order_search(document)
        total = float(steps.begin([order[0]])[0])
        for sentence in order[1:]:
            total += float(steps.gains()[0, sentence])
            steps.keep([0], [sentence])
        assert total == pytest.approx(sum(model.odds(document, [order])[0]), abs=1e-4)


def test_the_search_finds_the_order_that_scores_best(trained: Discriminative) -> None:
    document = STORIES[1].reorder((3, 1, 4, 0, 2))
    found = order_document(trained, document, beam=200)
    values = trained.order_scores(document, list(permutations(range(5))))
    best = max(value for value in values if value is not None)
    assert found.value == pytest.approx(best, abs=1e-6)


def test_transitions_share_the_cliques_out() -> None:
    odds = [3.0, -1.0, 4.0, 1.0, -5.0]
    shares = transition_shares(odds)
    assert len(shares) == 4
    assert np.mean(shares) == pytest.approx(np.mean(odds))
    assert transition_shares([1.0, 3.0]) == [2.0]


def test_given_vectors_stay_unless_they_are_tuned() -> None:
    settings = {**SMALL, "dimensions": 100, "vectors": "glove"}
    for tuned in (False, True):
        model = Discriminative(Discriminative.Settings(**settings, tuned=tuned))
        options = TrainingSettings(steps=2, warmup=0, validate_every=0)
        fit_documents(model, STORIES[:5], settings=options, vocabulary=300)
        assert model.tokenizer is not None
        fresh = model.new_network("clique", model.tokenizer).embedding.weight
        trained = model.network("clique").embedding.weight
        assert torch.allclose(fresh, trained, atol=2e-3) is not tuned  # int8 rounds to 1/127 of a row's peak


@pytest.mark.parametrize("kind", [Discriminative, DiscriminativePair])
def test_every_parameter_gets_a_gradient(kind: type[Discriminative | DiscriminativePair], tmp_path: Path) -> None:
    from weft.corpora.corrupt import write_negatives
    from weft.corpora.store.prepare import prepare

    write_negatives(tmp_path / "t.jsonl", (PermutedDocument(document, ()) for document in STORIES[:6]))
    store = prepare([tmp_path / "t.jsonl"], tmp_path / "store", vocabulary_size=300, workers=1)
    model = kind(kind.Settings(**SMALL))
    for part in model.parts:
        network = model.new_network(part, store.tokenizer())
        stream = model.training_batches(part, store, 0, TrainingSettings(steps=1))
        model.batch_loss(network, stream.batch(stream.epoch(0)[0]), torch.device("cpu")).total.backward()  # type: ignore[no-untyped-call]
        missing = [name for name, value in network.named_parameters() if value.grad is None or not value.grad.any()]
        assert not missing


def test_two_processes_share_a_batch() -> None:
    from weft.corpora.store.paragraph_batches import ParagraphBatch

    places = np.array([[0, 1, 2], [3, 4, -1]])
    batch = ParagraphBatch(np.ones((5, 2), dtype=np.int64), np.full(5, 2), np.zeros(5, dtype=np.int64), places)
    model = Discriminative(Discriminative.Settings(**SMALL))
    network = CliqueNetwork(ReaderOptions(30, 16, 16), 1, 16)
    parts = [model.batch_loss(network, batch.rows(rank, 2), torch.device("cpu")) for rank in (0, 1)]
    assert [part.count for part in parts] == [3, 2]
    assert model.batch_loss(network, batch.rows(2, 3), torch.device("cpu")).count == 0


def test_pairs_learn_the_toy_and_order_it() -> None:
    settings = TrainingSettings(steps=60, warmup=0, learning_rate=1e-2, validate_every=0, batch_tokens=400)
    model = fit_documents(
        DiscriminativePair(DiscriminativePair.Settings(**SMALL)), STORIES, settings=settings, vocabulary=300
    )
    held_out = permute_documents([story(number) for number in range(100, 110)])
    accuracy = discriminate(model, held_out).measures["accuracy"]
    assert sum(accuracy.numerators) / sum(accuracy.denominators) > 0.9
    assert order_document(model, STORIES[0].reorder((2, 0, 4, 1, 3))).order == (1, 3, 0, 4, 2)


def test_a_long_text_is_read_in_pieces(trained: Discriminative) -> None:
    """10,000 sentences: a table of all pairs would take 800 MB, and one batch of them gigabytes."""
    document = Document("long", tuple(f"Ann cooked soup {number}." for number in range(10_000)))
    score = trained.score([document])[0]
    assert score.value is not None
    assert len(score.transitions) == 9_999


def test_a_folder_without_its_network_is_refused(trained: Discriminative, tmp_path: Path) -> None:
    from dataclasses import replace

    from weft.io.model_folder import load_artifact, save_artifact

    trained.save(tmp_path / "m")
    artifact = load_artifact(tmp_path / "m")
    save_artifact(replace(artifact, config={**artifact.config, "parts": ["forward"]}), tmp_path / "m")
    with pytest.raises(ModelError, match="`parts` must name the networks of discriminative"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("setting", "value"), [("negatives", "others"), ("pooling", "sum"), ("frozen", "all"), ("dropout", 1.0)]
)
def test_settings_that_make_no_sense_are_refused(setting: str, value: object) -> None:
    with pytest.raises(ConfigError, match="allowed"):
        create_model("discriminative", {setting: value})


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
    monkeypatch.setattr(CliqueHead, "forward", lambda self, rows, cliques: torch.zeros(len(cliques)))
    head = CliqueHead(4, 1, 4, 0.0, 0)
    places, network = np.array([[0, 1, 2, 3, 4]]), torch.nn.Linear(1, 1).eval()
    loss = clique_loss(head, torch.zeros(5, 4), places, Discriminative.Settings(each=each), network)
    assert loss.count == 5
    assert float(loss.total) == pytest.approx(5 * math.log(2))


# Pairs ----------------------------------------------------------------------------------------------------------------


class Batch:
    """One text of four sentences."""

    places = np.array([[0, 1, 2, 3]])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(("direction", "kept"), [("forward", "left"), ("backward", "right")])
def test_each_direction_replaces_its_side_of_a_pair(direction: str, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the side that stays is looked at, both pairs look alike, and each is a whole margin short."""
    model = DiscriminativePair(DiscriminativePair.Settings(margin=2.0, each=3, dimensions=3, hidden=4, width=5))
    network = PairNetwork(ReaderOptions(vocabulary=9, dimensions=3, hidden=4), 5)
    network.direction = direction
    monkeypatch.setattr(pairs, "sentences_to_device", lambda batch, device: None)
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
    model = fit_documents(
        DiscriminativePair(DiscriminativePair.Settings(dimensions=4, hidden=4, width=4)),
        texts,
        settings=settings,
        vocabulary=300,
    )
    with torch.inference_mode():
        both = [
            model.network(part)(vectors[:1], vectors[1:2])
            for part in ("forward", "backward")
            for vectors in [model._vectors(part, texts[0])]
        ]
    assert float(both[0]) != pytest.approx(float(both[1]))
    expected = (float(both[0]) + float(both[1])) / 2
    assert model.score([texts[0]])[0].transitions[0] == pytest.approx(expected, abs=1e-6)
