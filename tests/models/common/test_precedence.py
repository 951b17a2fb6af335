"""Which of two sentences comes first: the network, its batches, and what ordering makes of it."""

from __future__ import annotations

import json
import math
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.zoo_models import WEFT_SMALL

from weft.corpora.store.paragraph_batches import FEWEST, ParagraphStream
from weft.corpora.store.prepare import prepare
from weft.corpora.store.sentence_years import years_of_sentences
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.years import first_year
from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.evaluation.metrics import kendall_tau
from weft.io.model_folder import load_artifact, read_manifest
from weft.models.common.neural.precedence import PrecedenceNetwork, make_bag
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings
from weft.ordering.order import order_document, order_table
from weft.ordering.search import beam_order, exact_order, greedy_order, order_gain
from weft.training.config import build_config
from weft.training.fit_documents import fit_documents
from weft.training.runs import train
from weft.training.settings import TrainingSettings

STEPS = ("dawn", "morning", "noon", "evening", "night", "midnight")


def diary(number: int) -> list[str]:
    """Sentences whose order can be read off their words, whatever stands beside them."""
    return [f"At {step} the {('cat', 'dog', 'fox')[number % 3]} number {number} moved on." for step in STEPS]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    place = tmp_path_factory.mktemp("precedence")
    lines = [{"sentences": diary(n)} for n in range(40)] + [{"sentences": ["Too short.", "In 1812 it fell."]}]
    (place / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return prepare([place / "t.jsonl"], place / "store", tokenizer_kind="words", vocabulary_size=80, workers=1)


def random_bag(seed: int = 0) -> tuple[PrecedenceNetwork, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    network = PrecedenceNetwork(6, width=8, layers=1, dropout=0.0).eval()
    return network, torch.randn(5, 6), torch.tensor([1812, 0, 1870, 1999, 0]), torch.tensor([7, 9, 3, 4, 5])


def test_the_table_is_antisymmetric_and_follows_its_sentences() -> None:
    network, vectors, years, lengths = random_bag()
    table = network(make_bag(vectors, years, lengths, torch.arange(5)[None]))[0]
    assert torch.allclose(table, -table.T, atol=1e-6)
    order = torch.tensor([3, 0, 4, 1, 2])
    moved = network(make_bag(vectors, years, lengths, order[None]))[0]
    assert torch.allclose(moved, table[order][:, order], atol=1e-5)


def test_padding_and_neighbours_change_nothing() -> None:
    network, vectors, years, lengths = random_bag(1)
    alone = network(make_bag(vectors, years, lengths, torch.tensor([[0, 1, 2]])))[0]
    beside = network(make_bag(vectors, years, lengths, torch.tensor([[0, 1, 2, -1, -1], [4, 3, 2, 1, 0]])))[0]
    assert torch.allclose(alone, beside[:3, :3], atol=1e-5)


def test_the_loss_is_that_of_every_pair() -> None:
    network, vectors, years, lengths = random_bag(2)
    places = torch.tensor([[0, 1, 2, -1], [1, 4, 3, 0]])
    bag = make_bag(vectors, years, lengths, places)
    tables = network(bag).tolist()
    slow = sum(
        math.log1p(math.exp(-tables[text][i][j]))
        for text, size in enumerate((3, 4))
        for i, j in combinations(range(size), 2)
    )
    assert network.loss(bag).item() == pytest.approx(slow, rel=1e-5)


def test_paragraph_batches_cover_every_long_paragraph_once(store: TokenStore) -> None:
    stream = ParagraphStream(store, batch_tokens=200, max_tokens=6, seed=1, pad=0)
    plan = stream.epoch(0)
    assert sorted(int(n) for batch in plan for n in batch) == list(range(40))
    assert [b.tolist() for b in plan] == [b.tolist() for b in stream.epoch(0)] != [b.tolist() for b in stream.epoch(1)]
    batch = stream.batch(plan[0])
    assert batch.pairs == len(batch) * 15
    assert batch.sentences.shape[1] <= 6
    assert batch.lengths.max() <= 6
    halves = batch.rows(0, 2), batch.rows(1, 2)
    assert sum(len(half) for half in halves) == len(batch)
    numbers = stream.starts[plan[0][0]] + np.arange(6)
    for place, number in zip(batch.places[0], numbers, strict=True):
        assert batch.sentences[place, :3].tolist() == store.sentence(int(number))[:3].tolist()


def test_a_store_of_short_paragraphs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"sentences": ["One.", "Two.", "Three."]}))
    short = prepare([tmp_path / "t.jsonl"], tmp_path / "s", tokenizer_kind="words", vocabulary_size=20, workers=1)
    with pytest.raises(CorpusError, match=f"{FEWEST} to"):
        ParagraphStream(short, batch_tokens=100, max_tokens=10, seed=1, pad=0)


def test_years_of_a_store_are_those_of_its_text(tmp_path: Path) -> None:
    texts = ["Born in 1812, he died in 1870.", "It weighs 1,500 kg.", "Nothing happened.", "From 2001 on."]
    # More than once: a word vocabulary does not keep what it has seen once.
    (tmp_path / "t.jsonl").write_text("\n".join([json.dumps({"sentences": texts})] * 3))
    for kind in ("words", "bpe"):
        made = prepare([tmp_path / "t.jsonl"], tmp_path / kind, tokenizer_kind=kind, vocabulary_size=400, workers=1)
        assert years_of_sentences(made, np.arange(4)).tolist() == [first_year(text) or 0 for text in texts]


def gains(table: np.ndarray, precedence: np.ndarray, first: int | None) -> list[float]:
    orders = [p for p in permutations(range(len(table))) if first is None or p[0] == first]
    return [order_gain(table, precedence, order) for order in orders]


@pytest.mark.parametrize("first", [None, 1])
def test_exact_search_and_a_wide_beam_find_the_best_of_both(first: int | None) -> None:
    generator = np.random.default_rng(3)
    for _ in range(10):
        table, half = generator.normal(size=(5, 5)), generator.normal(size=(5, 5))
        precedence = half - half.T
        best = max(gains(table, precedence, first))
        for found in (
            exact_order(table, precedence, first=first),
            beam_order(table, precedence, first=first, beam=1000),
        ):
            assert order_gain(table, precedence, found) == pytest.approx(best)


def test_searches_follow_a_clear_precedence() -> None:
    place = np.array([3, 0, 4, 1, 2])
    precedence = np.sign(place[None, :] - place[:, None]).astype(float)  # earlier places precede
    for found in (
        exact_order(np.zeros((5, 5)), precedence),
        beam_order(np.zeros((5, 5)), precedence),
        greedy_order(np.zeros((5, 5)), precedence, first=1),
    ):
        assert found == tuple(np.argsort(place))


@pytest.fixture(scope="module")
def trained() -> Seq2Seq:
    documents = [Document(str(n), tuple(diary(n))) for n in range(40)]
    model = Seq2Seq(Seq2SeqSettings(dimensions=32, hidden=48, layers=1, dropout=0.0, precedence=True))
    settings = TrainingSettings(steps=120, warmup=10, batch_tokens=600, validate_every=0, learning_rate=5e-3)
    return fit_documents(model, documents, settings=settings, vocabulary=300)


def test_it_learns_what_comes_first_and_ordering_uses_it(trained: Seq2Seq, tmp_path: Path) -> None:
    taus = []
    for number in range(40, 50):
        text = Document("new", tuple(diary(number))).reorder([4, 1, 5, 0, 3, 2])
        found = order_document(trained, text, objective="precedence")
        taus.append(kendall_tau([diary(number).index(text.sentences[i]) for i in found.order]) or 0.0)
    assert sum(taus) / len(taus) > 0.6
    assert found.objective == "precedence"
    assert order_document(trained, text).objective == "both"
    assert order_document(trained, text, objective="coherence").objective == "coherence"
    trained.save(tmp_path / "m")
    again = Seq2Seq.load(tmp_path / "m")
    table, same = trained.precedence_table(text), again.precedence_table(text)
    assert table is not None
    assert same is not None
    assert np.array_equal(table, same)


def test_the_proposed_order_does_not_depend_on_the_given_one(trained: Seq2Seq) -> None:
    orders = [(4, 1, 5, 0, 3, 2), (0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0)]
    texts = [Document("t", tuple(diary(7))).reorder(order) for order in orders]
    found = [text.reorder(order_document(trained, text).order).sentences for text in texts]
    assert found[0] == found[1] == found[2]


def test_precedence_is_refused_where_it_was_never_learned() -> None:
    from weft.registry import create_model

    text = Document("t", ("A cat sat.", "It slept."))
    for name, why in (("foltz-sif", "has not learned which of two"), ("year-sort", "a rule of its own")):
        with pytest.raises(ConfigError, match=why):
            order_document(create_model(name), text, objective="precedence")
    with pytest.raises(ConfigError, match="unknown objective"):
        order_document(create_model("foltz-sif"), text, objective="best")  # type: ignore[arg-type]


def config(store: TokenStore, tmp_path: Path, **run: object) -> dict[str, dict[str, object]]:
    return {
        "model": {"name": "seq2seq", "dimensions": 8, "hidden": 8, "layers": 1, "precedence": True},
        "data": {"store": str(store.folder)},
        "run": {"out": str(tmp_path / "out"), "device": "cpu", **run},
        "training": {"steps": 3, "warmup": 1, "batch_tokens": 300, "precedence": {"steps": 2, "learning_rate": 1e-3}},
    }


def test_a_part_has_settings_of_its_own_and_stands_on_a_base(store: TokenStore, tmp_path: Path) -> None:
    train(build_config(config(store, tmp_path)))
    assert {path.name for path in (tmp_path / "out.run").iterdir()} >= {"forward", "precedence"}
    first = Seq2Seq.load(tmp_path / "out")
    # A run on a base takes its networks over and trains nothing anew.
    based = config(store, tmp_path, base=str(tmp_path / "out"))
    based["run"]["out"] = str(tmp_path / "second")
    train(build_config(based), parts=["precedence"])
    second = Seq2Seq.load(tmp_path / "second")
    for part in ("forward", "backward", "prior"):
        one, other = first.networks()[part].state_dict(), second.networks()[part].state_dict()
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_a_run_has_finished_stands_before_its_base(store: TokenStore, tmp_path: Path) -> None:
    """Precedence trained by a later command must stand on the encoders of its own run, not on those of the base."""
    train(build_config(config(store, tmp_path)))
    first = Seq2Seq.load(tmp_path / "out")
    based = build_config(config(store, tmp_path, base=str(tmp_path / "out"), out=str(tmp_path / "second"), seed=5))
    train(based, parts=["forward"])
    train(based, parts=["precedence"])
    second = Seq2Seq.load(tmp_path / "second")
    same = {
        part: all(torch.equal(value, second.networks()[part].state_dict()[name]) for name, value in weights.items())
        for part, weights in ((part, network.state_dict()) for part, network in first.networks().items())
    }
    assert same == {"forward": False, "backward": True, "prior": True, "precedence": False}


def test_parts_to_train_stand_in_the_file_and_the_record_says_what_was_built_on(
    store: TokenStore, tmp_path: Path
) -> None:
    train(build_config(config(store, tmp_path)))
    based = config(store, tmp_path, base=str(tmp_path / "out"), start=str(tmp_path / "out"), out=str(tmp_path / "on"))
    based["run"]["parts"] = ["backward"]
    train(build_config(based))
    assert {path.name for path in (tmp_path / "on.run").iterdir()} == {"backward"}
    training = load_artifact(tmp_path / "on").training
    assert training["start"]["sha256"] == read_manifest(tmp_path / "out")["sha256"]
    assert training["start"]["training"]["seed"] == 1
    assert "base" not in training, "the same folder is told of once"
    based["run"] |= {"start": "", "out": str(tmp_path / "other")}
    train(build_config(based))
    other = load_artifact(tmp_path / "other").training
    assert other["base"] == training["start"]
    assert "start" not in other
    assert "start" not in load_artifact(tmp_path / "out").training


def test_weights_of_other_sizes_are_no_start(store: TokenStore, tmp_path: Path) -> None:
    train(build_config(config(store, tmp_path)))
    other = config(store, tmp_path, start=str(tmp_path / "out"), out=str(tmp_path / "on"))
    other["model"]["hidden"] = 12
    with pytest.raises(ConfigError, match="configured sizes"):
        train(build_config(other))


def test_a_validation_store_of_another_tokenizer_is_refused(store: TokenStore, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("A cat sat. It slept. It woke.")
    prepare([tmp_path / "t.txt"], tmp_path / "valid", tokenizer_kind="words", vocabulary_size=20, workers=1)
    chosen = config(store, tmp_path)
    chosen["data"]["valid_store"] = str(tmp_path / "valid")
    with pytest.raises(ConfigError, match="different tokenizers"):
        train(build_config(chosen))


def test_a_place_that_cannot_be_written_is_told_at_once(store: TokenStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match="cannot write"):
        train(build_config(config(store, tmp_path, out=str(tmp_path / "file" / "out"))))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_training_starts_from_given_weights(store: TokenStore, tmp_path: Path) -> None:
    train(build_config(config(store, tmp_path)))
    first = Seq2Seq.load(tmp_path / "out")
    further = config(store, tmp_path, start=str(tmp_path / "out"), out=str(tmp_path / "on"))
    further["model"]["lexical"] = True  # what the given weights lack starts as new
    further["training"] = {"steps": 1, "warmup": 0, "batch_tokens": 300, "learning_rate": 1e-9}
    train(build_config(further))
    second = Seq2Seq.load(tmp_path / "on")
    for part in ("forward", "precedence"):
        weights = second.networks()[part].state_dict()
        for name, value in first.networks()[part].state_dict().items():
            assert torch.allclose(weights[name], value, atol=1e-3), name
    with pytest.raises(ConfigError, match="different tokenizers"):
        train(build_config(config(store, tmp_path, start=str(WEFT_SMALL), out=str(tmp_path / "no"))))
    with pytest.raises(ConfigError, match="has no folder"):
        train(build_config(config(store, tmp_path, base="foltz-sif", out=str(tmp_path / "no"))))


def test_precedence_needs_its_encoders(store: TokenStore, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="encoders of other parts"):
        train(build_config(config(store, tmp_path)), parts=["precedence"])
    with pytest.raises(ConfigError, match="no such part"):
        train(build_config(config(store, tmp_path)), parts=["sideways"])
    unknown = config(store, tmp_path)
    unknown["training"]["sideways"] = {"steps": 2}
    with pytest.raises(ConfigError, match=r"unknown table in \[training\].*sideways"):
        build_config(unknown)
    unknown["training"] = {"precedence": {"stepps": 2}}
    with pytest.raises(ConfigError, match=r"training\.precedence"):
        build_config(unknown)


def test_shares_of_a_batch_add_up_and_an_empty_one_adds_nothing(store: TokenStore) -> None:
    torch.manual_seed(0)
    model = Seq2Seq(Seq2SeqSettings(dimensions=8, hidden=8, layers=1, dropout=0.0, precedence=True))
    for part in ("forward", "backward"):
        model.assemble({part: model.new_network(part, store.tokenizer())}, store.tokenizer())
    network, device = model.new_network("precedence", store.tokenizer()).eval(), torch.device("cpu")
    stream = ParagraphStream(store, batch_tokens=200, max_tokens=50, seed=1, pad=0)
    batch = stream.batch(stream.epoch(0)[0])
    whole = model.batch_loss(network, batch, device)
    world = len(batch) + 1  # one process more than there are paragraphs
    shares = [model.batch_loss(network, batch.rows(rank, world), device) for rank in range(world)]
    assert sum(share.count for share in shares) == whole.count
    assert shares[-1].count == 0
    assert sum(share.total.item() for share in shares) == pytest.approx(whole.total.item(), rel=1e-4)
    shares[-1].total.backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and not p.grad.any() for p in network.parameters())


def test_precedence_is_learned_again_on_other_encoders(store: TokenStore, tmp_path: Path) -> None:
    folders = []
    for seed in (1, 2):
        content = config(store, tmp_path, out=str(tmp_path / f"base{seed}"))
        content["run"]["seed"] = seed
        train(build_config(content))
        folders.append(tmp_path / f"base{seed}")
    shared = {"folder": str(tmp_path / "shared.run")}
    train(
        build_config(config(store, tmp_path, base=str(folders[0]), out=str(tmp_path / "a"), **shared)),
        parts=["precedence"],
    )
    with pytest.raises(ModelError, match="other settings or data.*saw 'other weights that the run starts from"):
        train(
            build_config(config(store, tmp_path, base=str(folders[1]), out=str(tmp_path / "b"), **shared)),
            parts=["precedence"],
        )


def test_what_cannot_be_trained_is_refused(store: TokenStore, tmp_path: Path) -> None:
    train(build_config(config(store, tmp_path)))
    other = config(store, tmp_path, base=str(tmp_path / "out"), out=str(tmp_path / "no"))
    other["model"]["hidden"] = 16
    with pytest.raises(ConfigError, match="configured shape"):
        train(build_config(other))
    limited = config(store, tmp_path, out=str(tmp_path / "no"))
    limited["data"]["limit"] = 5
    with pytest.raises(ConfigError, match=r"data\.limit"):
        train(build_config(limited))
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden", 0), ("layers", 0), ("dropout", 2.0), ("word_dropout", float("nan")), ("precision", "int4")],
)
def test_settings_of_the_model_out_of_range_are_refused(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        Seq2Seq(Seq2SeqSettings(**{name: value}))  # type: ignore[arg-type]


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ConfigError, match="precedence_weight"):
        Seq2Seq(Seq2SeqSettings(precedence_weight=float("nan")))
    table = np.zeros((3, 3))
    with pytest.raises(ModelError, match="not all finite"):
        order_table(table, np.full((3, 3), np.nan))
