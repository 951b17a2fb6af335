"""The head that predicts the surprise of a language model: it learns, unknown values do not count, and it is saved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from weft.corpora.negatives.damaged_windows import STRANGER
from weft.corpora.store.prepare import prepare
from weft.corpora.store.sentence_surprise import Teacher, write_surprise
from weft.corpora.store.token_store import TokenStore
from weft.corpora.store.window_batches import WindowBatch
from weft.document import Document
from weft.errors import CorpusError, ModelError
from weft.hub import load_model
from weft.io.model_folder import load_artifact, save_artifact
from weft.loaded_model import Model
from weft.models.reader.export import export
from weft.models.reader.network import Labels, ReaderNetwork, surprise_loss
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import PART, ReaderSettings
from weft.report.terminal import explain_lines
from weft.training.devices import start_runtime
from weft.training.loop import Report
from weft.training.part_training import Corpus, train_part
from weft.training.settings import TrainingSettings

SMALL = ReaderSettings(
    hidden=32, layers=2, local_layers=1, heads=4, feed_forward=64, pair=16, fewest=3, slots=16, dropout=0.0,
    surprise_weight=1.0,
)  # fmt: skip
NAMES = ("first", "second", "third", "fourth", "fifth", "sixth")
THINGS = ("cat", "dog", "house", "river", "tree", "road", "song", "storm")
VALUES = dict(zip(NAMES, (-1.0, -6.0, -2.0, -5.0, -3.0, -4.0), strict=True))  # by the second word of a sentence
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """Articles whose values depend on a word; the fifth sentence of every article is unknown."""
    folder = tmp_path_factory.mktemp("surprise")
    texts = [[f"The {name} {thing}." for name in NAMES] for thing in THINGS]
    lines = [json.dumps({"id": thing, "sentences": text}) for thing, text in zip(THINGS, texts, strict=True)]
    (folder / "in.jsonl").write_text("\n".join(lines))
    plain = prepare([folder / "in.jsonl"], folder / "store", vocabulary_size=400, workers=1)
    values = [VALUES[name] if name != "fifth" else np.nan for _ in THINGS for name in NAMES]
    return write_surprise(plain.folder, values, Teacher("0" * 64, "lm", 64))


@pytest.fixture(scope="module")
def trained(store: TokenStore) -> Reader:
    model = Reader(SMALL)
    settings = TrainingSettings(steps=150, warmup=10, learning_rate=2e-3, batch_tokens=600, validate_every=0)
    losses: list[float] = []

    def listen(report: Report) -> None:
        losses.append((report.parts or {})["surprise"])

    with start_runtime("cpu") as runtime:
        network = train_part(model, PART, Corpus(store), settings, runtime, listen=listen)
    assert np.mean(losses[-10:]) < 0.3 * np.mean(losses[:3])
    return model.assemble({PART: network}, store.tokenizer())


def first_batch(store: TokenStore, settings: ReaderSettings = SMALL) -> WindowBatch:
    stream = Reader(settings).training_batches(PART, store, 0, TrainingSettings(steps=1))
    batch = stream.batch(stream.epoch(0)[0])
    assert isinstance(batch, WindowBatch)
    return batch


def new_network(store: TokenStore, settings: ReaderSettings = SMALL) -> ReaderNetwork:
    torch.manual_seed(1)
    return Reader(settings).new_network(PART, store.tokenizer())


def test_values_of_a_batch_belong_to_its_sentences(store: TokenStore) -> None:
    batch, tokenizer = first_batch(store, replace(SMALL, damaged=1.0)), store.tokenizer()
    for one in (batch, batch.rows(1, 2)):
        assert len(one.surprise) == len(one.sentences)
        for ids, length, value in zip(one.sentences, one.lengths, one.surprise, strict=True):
            name = tokenizer.decode(ids[1 : length - 1].tolist()).split()[1]
            assert np.isnan(value) if name == "fifth" else value == VALUES[name]
    known = np.array([VALUES[name] for name in NAMES if name != "fifth"])
    assert batch.moments == pytest.approx([known.mean(), known.std()], abs=1e-5)


@pytest.mark.parametrize("reduced", [False, True])
def test_every_weight_gets_a_gradient_and_the_head_that_of_surprise(store: TokenStore, reduced: bool) -> None:
    model, batch = Reader(SMALL), first_batch(store)
    grown = []
    for weight in (1.0, 2.0):
        network = new_network(store)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=reduced):
            loss = Reader(replace(SMALL, surprise_weight=weight)).batch_loss(network, batch, CPU)
        loss.total.backward()  # type: ignore[no-untyped-call]
        assert all(
            one.grad is not None and torch.isfinite(one.grad).all()
            for name, one in network.named_parameters()
            if not name.startswith(("word", "encoder.mask"))  # without masked words
        )
        assert network.surprise is not None and network.surprise.inner.weight.grad is not None
        grown.append(network.surprise.inner.weight.grad.abs().sum())
    assert grown[0] > 0 and float(grown[1] / grown[0]) == pytest.approx(2.0, rel=1e-2)
    assert set(model.batch_loss(new_network(store), batch, CPU).parts or {}) >= {"surprise", "next"}


def test_unknown_values_strangers_and_padding_do_not_count() -> None:
    texts = torch.tensor([[0, STRANGER, 0, 0]])
    labels = Labels(texts, torch.tensor([[0, 0, 1, 2]]), torch.tensor([[True, True, True, False]]))
    found = torch.tensor([[0.5, 9.0, 9.0, 9.0]], requires_grad=True)
    wanted = torch.tensor([[0.0, 1.0, float("nan"), 1.0]])
    loss = surprise_loss(found, wanted, labels)
    assert loss.tolist() == [0.125]
    loss.sum().backward()  # type: ignore[no-untyped-call]
    assert found.grad is not None and found.grad.tolist() == [[0.5, 0.0, 0.0, 0.0]]
    assert surprise_loss(found, torch.full((1, 4), float("nan")), labels).tolist() == [0.0]


def test_it_learns_and_returns_nats(trained: Reader) -> None:
    text = Document("d", tuple(f"The {name} river." for name in NAMES))
    wanted = [VALUES[name] for name in NAMES]
    found = trained.surprises(text)
    assert trained.fluency(text) == pytest.approx(sum(found) / len(found))
    assert [found[place] for place in (0, 1, 2, 3, 5)] == pytest.approx([wanted[p] for p in (0, 1, 2, 3, 5)], abs=0.7)
    order = [5, 2, 0, 1, 4, 3]
    assert trained.surprises(text.reorder(order)) == pytest.approx([found[place] for place in order], abs=1e-3)


def test_short_and_long_texts(trained: Reader) -> None:
    assert trained.surprises(Document("empty", ())) == ()
    assert trained.fluency(Document("empty", ())) is None
    assert len(trained.surprises(Document("one", ("The first cat.",)))) == 1
    long = Document("long", tuple(f"The {NAMES[number % 6]} {THINGS[number % 8]}." for number in range(50)))
    found = trained.surprises(long)
    assert len(found) == 50 and np.mean(found[::6]) > np.mean(found[1::6])


def test_the_moments_are_those_of_the_first_store(store: TokenStore) -> None:
    network, batch = new_network(store), first_batch(store)
    Reader(SMALL).batch_loss(network, batch, CPU)
    Reader(SMALL).batch_loss(network, replace(batch, moments=np.array([1, 9], dtype=np.float32)), CPU)
    assert network.surprise is not None
    assert network.surprise.moments.tolist() == pytest.approx(batch.moments.tolist())


@pytest.mark.parametrize("exported", [False, True])
def test_saved_and_exported_models_predict_the_same(trained: Reader, exported: bool, tmp_path: Path) -> None:
    trained.save(tmp_path / "reader")
    folder = export(tmp_path / "reader") if exported else tmp_path / "reader"
    for size in (1, 2, 6, 40):
        text = Document("d", tuple(f"The {NAMES[number % 6]} {THINGS[number % 8]}." for number in range(size)))
        assert Reader.load(folder).surprises(text) == pytest.approx(trained.surprises(text), abs=0.02)


def test_without_the_head_nothing_changes(store: TokenStore, tmp_path: Path) -> None:
    plain = replace(SMALL, surprise_weight=0.0)
    network = new_network(store, plain)
    assert not any("surprise" in name for name in network.state_dict())
    assert "surprise" not in (Reader(plain).batch_loss(network, first_batch(store, plain), CPU).parts or {})
    model = Reader(plain).assemble({PART: network}, store.tokenizer())
    with pytest.raises(ModelError, match="does not predict surprise"):
        model.surprises(Document("d", ("One.", "Two.")))
    model.save(tmp_path / "reader")
    saved = load_artifact(tmp_path / "reader")
    older = {name: value for name, value in saved.config.items() if name != "surprise_weight"}
    save_artifact(replace(saved, config=older), tmp_path / "older")  # as an earlier weft wrote it
    loaded, text = Reader.load(tmp_path / "older"), Document("d", ("The first cat.", "The second cat."))
    assert loaded.settings == plain
    assert loaded.score([text])[0].value == pytest.approx(model.score([text])[0].value)


def test_a_store_without_values_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("A cat sat. It slept. It woke.")
    store = prepare([tmp_path / "t.txt"], tmp_path / "s", vocabulary_size=300, workers=1)
    with pytest.raises(CorpusError, match="no surprise values"):
        first_batch(store)


def test_a_score_has_the_fluency_of_its_text(trained: Reader) -> None:
    text = Document("d", ("The first cat.", "The second cat.", "The third cat."))
    score = Model(trained, "tiny").score([text])[0]
    assert score.fluency == pytest.approx(np.mean(trained.surprises(text)))
    assert score.to_dict()["fluency"] == score.rows()[0]["fluency"] == score.fluency
    assert f"fluency {score.fluency:.2f}" in explain_lines(text, score)[0].plain
    assert Model(load_model("foltz-glove"), "words").score([text])[0].fluency is None
