"""The head that finds sentences that do not belong: its labels and evidence, that it learns, is saved and exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.tiny_reader import NAMES, SMALL, TEXTS, THINGS, untrained_reader

from weft.corpora.negatives.damaged_windows import REPEATED, STRANGER
from weft.corpora.store.prepare import prepare
from weft.corpora.store.token_store import TokenStore
from weft.corpora.store.window_batches import WindowBatch
from weft.document import Document
from weft.errors import ModelError
from weft.evaluation.sets.intruder import find_intruders, make_cases
from weft.io.model_folder import load_artifact, save_artifact
from weft.models.reader.export import export
from weft.models.reader.heads import gap_scores, order_free_evidence, stray_scores
from weft.models.reader.network import Labels, ReaderNetwork, Reading, stray_loss
from weft.models.reader.network_constants import EVIDENCE, GAP_LIMIT, GAP_SCORES, NO_STRAY
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import PART
from weft.protocols import StrayModel
from weft.training.devices import start_runtime
from weft.training.loop import Report
from weft.training.part_training import Corpus, PartTraining, train_part
from weft.training.settings import TrainingSettings

LEARNING = replace(
    SMALL, fewest=4, dropout=0.0, stray_weight=1.0, damaged=0.7, strangers=2, changes=2, directions="both"
)
CPU = torch.device("cpu")


# Labels ---------------------------------------------------------------------------------------------------------------


def labels_of(rows: Sequence[Sequence[tuple[int, int]]]) -> Labels:
    """Return the labels of windows of (text, place in it); shorter windows are padded."""
    most = max(map(len, rows))
    padded = [[*row, *[(STRANGER, 0)] * (most - len(row))] for row in rows]
    real = torch.tensor([[place < len(row) for place in range(most)] for row in rows])
    return Labels(
        torch.tensor([[text for text, _ in row] for row in padded]),
        torch.tensor([[place for _, place in row] for row in padded]), real,
    )  # fmt: skip


def slow_labels(sentences: Sequence[tuple[int, int]]) -> list[bool | None]:
    """Return whether each sentence of a window is a stray, None if it does not count: in plain Python."""
    found: list[bool | None] = []
    for place, (text, position) in enumerate(sentences):
        left = sentences[place - 1] if place > 0 else None
        right = sentences[place + 1] if place + 1 < len(sentences) else None
        has_a_place = text >= 0 and (left == (text, position - 1) or right == (text, position + 1))
        found.append(True if text == STRANGER else False if has_a_place else None)
    return found


def found_labels(rows: Sequence[Sequence[tuple[int, int]]]) -> list[list[bool | None]]:
    """Return the labels of windows as the gradient of the loss shows them."""
    labels = labels_of(rows)
    odds = torch.zeros(labels.texts.shape, requires_grad=True)
    stray_loss(odds, labels).sum().backward()  # type: ignore[no-untyped-call]
    assert odds.grad is not None and not odds.grad[~labels.real].any()
    return [
        [None if value == 0 else value < 0 for value in grads[: len(row)]]
        for row, grads in zip(rows, odds.grad.tolist(), strict=True)
    ]


S, C = (STRANGER, 0), (REPEATED, 0)


@pytest.mark.parametrize(
    ("sentences", "wanted"),
    [
        ([(0, 0), (0, 1), S, (0, 2), (0, 3)], [False, False, True, False, False]),
        ([S, (0, 0), (0, 1), (0, 2)], [True, False, False, False]),
        ([(0, 0), S, S, (0, 1), (0, 2)], [None, True, True, False, False]),
        ([(0, 0), (0, 1), C, (0, 2), (0, 3)], [False, False, None, False, False]),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], [False] * 4),  # the end of another text
        ([(0, 0), (0, 1), S, (0, 2), S, (0, 3), (0, 4)], [False, False, True, None, True, False, False]),
    ],
)
def test_what_is_a_stray(sentences: list[tuple[int, int]], wanted: list[bool | None]) -> None:
    assert slow_labels(sentences) == wanted
    assert found_labels([sentences]) == [wanted]


def test_labels_are_those_of_slow_code() -> None:
    generator = np.random.default_rng(1)
    rows = []
    for _ in range(200):
        row = [(0, place) for place in range(int(generator.integers(2, 9)))]
        row += [(1, place) for place in range(int(generator.integers(3)))]
        for _ in range(int(generator.integers(3))):
            row.insert(int(generator.integers(len(row) + 1)), (S, C)[int(generator.integers(4)) == 0])
        rows.append(row)
    assert found_labels(rows) == [slow_labels(row) for row in rows]


def test_only_sentences_that_count_have_a_loss() -> None:
    labels = labels_of([[(0, 0), (0, 1), S, (0, 2), (0, 3)], [(0, 0), C, (0, 1), (0, 2)]])
    odds = torch.tensor([[0.5, -1.0, 2.0, -3.0, 0.0], [9.0, 9.0, -1.0, -2.0, 9.0]], requires_grad=True)
    loss = stray_loss(odds, labels)
    plus = torch.nn.functional.softplus
    slow = [plus(torch.tensor([0.5, -1.0, -2.0, -3.0, 0.0])).mean(), plus(torch.tensor([-1.0, -2.0])).mean()]
    assert loss.tolist() == pytest.approx([float(value) for value in slow])
    loss.sum().backward()  # type: ignore[no-untyped-call]
    assert odds.grad is not None and odds.grad[1].tolist()[:2] == [0.0, 0.0] and odds.grad[1, 4] == 0.0


# What the head reads --------------------------------------------------------------------------------------------------


def test_evidence_is_that_of_slow_code() -> None:
    torch.manual_seed(1)
    most, sizes = 6, (6, 4, 1)
    odds, follows = 8 * torch.randn(3, most, most), (9 * torch.randn(3, most, most)).log_softmax(dim=2)
    real = torch.arange(most) < torch.tensor(sizes)[:, None]
    found = order_free_evidence(odds, follows, real)
    for text, size in enumerate(sizes):
        rows = []
        for one in range(size):
            others = [other for other in range(size) if other != one]
            chance = float(np.log(max(1, size - 1)))
            out = [max(float(follows[text, one, other]), -GAP_LIMIT) for other in others] or [-GAP_LIMIT]
            into = [max(float(follows[text, other, one]), -GAP_LIMIT) for other in others] or [-GAP_LIMIT]
            far = [min(abs(float(odds[text, one, other])), GAP_LIMIT) for other in others]
            means = [sum(links) / len(links) + chance if others else 0.0 for links in (out, into)]
            rows.append([means[0], max(out) + chance, means[1], max(into) + chance, sum(far) / max(1, len(far))])
        table = np.array(rows)
        wanted = np.hstack([table, table - table.mean(axis=0)])
        assert found[text, :size].numpy() == pytest.approx(wanted, abs=1e-4)
        assert not found[text, size:].any()


def test_scores_of_a_sentence_are_those_of_its_gaps_and_of_the_gap_without_it() -> None:
    gaps, closed = torch.randn(1, 4, GAP_SCORES), torch.randn(1, 3, GAP_SCORES)
    evidence, order = torch.randn(1, 5, EVIDENCE), torch.tensor([[2, 0, 1, 3, 4]])
    found = stray_scores(gaps, closed, evidence, order, torch.tensor([[True] * 4 + [False]]))[0]
    none = torch.zeros(GAP_SCORES)
    assert torch.equal(found[0], torch.cat([none, gaps[0, 0], none, evidence[0, 2]]))
    assert torch.equal(found[1], torch.cat([gaps[0, 0], gaps[0, 1], closed[0, 0], evidence[0, 0]]))
    assert torch.equal(found[3], torch.cat([gaps[0, 2], none, none, evidence[0, 3]]))  # the last one


def test_the_head_is_that_of_slow_code() -> None:
    """Reference test: sentence by sentence, with the text as it would be without each one."""
    torch.manual_seed(1)
    model = untrained_reader(strays=True)
    network = model.networks()[PART]
    assert isinstance(network, ReaderNetwork) and network.strays is not None
    size, head = 5, network.strays
    width = 2 * model.settings.hidden
    odds, real = torch.randn(1, size, size), torch.ones(1, size, dtype=torch.bool)
    reading = Reading(
        torch.randn(1, size, width), odds - odds.transpose(1, 2), torch.randn(1, size, size).log_softmax(2), odds
    )
    order = [3, 0, 4, 1, 2]
    whole = network.read_gaps(reading, torch.tensor([order]), real)
    evidence = order_free_evidence(reading.odds, reading.follows, real)[0]

    def gap(left: int, right: int) -> tuple[torch.Tensor, torch.Tensor]:
        """What two sentences and their scores say about the gap between them, and these scores."""
        vectors = network.breaks.norm(reading.vectors[0])
        scores = gap_scores(reading.odds, reading.follows, torch.tensor([[left]]), torch.tensor([[right]]))
        parts = network.breaks.left(vectors[left]), network.breaks.right(vectors[right])
        return network.breaks.gaps(parts[0], parts[1], scores[0, 0]), scores[0, 0]

    wanted = []
    for place, one in enumerate(order):
        inner = 0 < place < size - 1
        nothing, none = torch.zeros(whole.mixed.shape[2]), torch.zeros(GAP_SCORES)
        closed, skipping = gap(order[place - 1], order[place + 1]) if inner else (nothing, none)
        before = (whole.mixed[0, place - 1], gap(order[place - 1], one)[1]) if place else (nothing, none)
        after = (whole.mixed[0, place], gap(one, order[place + 1])[1]) if place < size - 1 else (nothing, none)
        scores = torch.cat([before[1], after[1], skipping, evidence[one]])
        joined = head.own(head.norm(reading.vectors[0, one])) + head.scores(scores)
        joined = joined + head.before(before[0]) + head.after(after[0]) + head.without(closed)
        gelu = torch.nn.functional.gelu
        wanted.append(float(head.output(gelu(head.inner(gelu(joined)))).detach()))
    found = network.stray_odds(head, reading, whole)[0].tolist()
    assert found == pytest.approx(wanted, abs=1e-4)


# Training -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    folder = tmp_path_factory.mktemp("strays")
    files = [folder / f"{thing}-{number}.txt" for thing in THINGS for number in range(4)]
    for file in files:
        thing, number = file.stem.split("-")
        file.write_text("\n".join(f"The {name} {thing} {number}." for name in NAMES))
    return prepare(files, folder / "store", vocabulary_size=400, workers=1)


def trained_on(store: TokenStore, steps: int) -> tuple[Reader, list[float]]:
    losses: list[float] = []
    settings = TrainingSettings(steps=steps, warmup=10, learning_rate=2e-3, batch_tokens=1500, validate_every=0)

    def listen(report: Report) -> None:
        losses.append((report.parts or {})["stray"])

    model = Reader(LEARNING)
    with start_runtime("cpu") as runtime:
        network = train_part(model, PART, Corpus(store), settings, runtime, listen=listen)
    return model.assemble({PART: network}, store.tokenizer()), losses


@pytest.fixture(scope="module")
def trained(store: TokenStore) -> Reader:
    """A reader that was trained on numbered sentences about one thing each."""
    model, losses = trained_on(store, 200)
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:3])
    return model


def first_batch(store: TokenStore, model: Reader) -> WindowBatch:
    stream = model.training_batches(PART, store, 0, TrainingSettings(steps=1))
    batch = stream.batch(stream.epoch(0)[0])
    assert isinstance(batch, WindowBatch)
    return batch


def new_network(store: TokenStore, model: Reader) -> ReaderNetwork:
    torch.manual_seed(1)
    return model.new_network(PART, store.tokenizer())


def test_it_finds_a_stranger_and_none_in_a_sound_text(trained: Reader) -> None:
    own = [f"The {name} river 1." for name in NAMES]
    found = []
    for place in range(1, 6):
        for name in NAMES:
            text = Document("d", (*own[:place], f"The {name} storm 2.", *own[place:]))
            odds = trained.stray_log_odds(text)
            assert odds is not None and len(odds) == 7
            found.append(float(odds.argmax() == place))
    assert np.mean(found) > 0.7  # a seventh by chance
    sound = trained.stray_log_odds(Document("s", tuple(own)))
    assert sound is not None and sound.max() < 0


@pytest.mark.parametrize("reduced", [False, True])
def test_every_weight_of_the_head_gets_a_gradient(store: TokenStore, reduced: bool) -> None:
    model = Reader(LEARNING)
    network = new_network(store, model)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=reduced):
        loss = model.batch_loss(network, first_batch(store, model), CPU)
    assert (loss.parts or {})["stray"] > 0
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert network.strays is not None
    for name, weight in network.strays.named_parameters():
        assert weight.grad is not None and torch.isfinite(weight.grad).all() and weight.grad.any(), name


def test_without_the_head_the_network_and_its_losses_are_those_of_before(store: TokenStore) -> None:
    plain = Reader(replace(LEARNING, stray_weight=0.0))
    one, other = new_network(store, plain), new_network(store, Reader(LEARNING))
    assert not any("stray" in name for name in one.state_dict())
    for name, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name  # the head draws its numbers last
    batch = first_batch(store, plain)
    losses = plain.batch_loss(one, batch, CPU).parts or {}
    assert "stray" not in losses
    with_head = Reader(LEARNING).batch_loss(other, batch, CPU).parts or {}
    assert {name: float(value) for name, value in losses.items()} == {
        name: float(value) for name, value in with_head.items() if name != "stray"
    }


def test_training_starts_from_a_reader_without_the_head(store: TokenStore) -> None:
    plain = new_network(store, Reader(replace(LEARNING, stray_weight=0.0)))
    settings = TrainingSettings(steps=1, batch_tokens=600)
    found = PartTraining(Reader(LEARNING), PART, Corpus(store), settings, plain.state_dict()).network().state_dict()
    for name, value in plain.state_dict().items():
        assert torch.equal(value, found[name]), name
    assert any(name.startswith("strays.") for name in found)


# Texts and files ------------------------------------------------------------------------------------------------------


def test_short_and_long_texts(trained: Reader) -> None:
    assert isinstance(trained, StrayModel)
    for size, wanted in ((0, []), (1, [NO_STRAY])):
        found = trained.stray_log_odds(Document("d", ("The first cat 1.",) * size))
        assert found is not None and found.tolist() == wanted
    two = trained.stray_log_odds(Document("d", ("The first cat 1.", "The second cat 1.")))
    assert two is not None and len(two) == 2
    long = Document("long", tuple(f"The {NAMES[n % 6]} {THINGS[n // 6 % 8]} 1." for n in range(40)))
    odds = trained.stray_log_odds(long)
    windows = [trained.reader.tables([long.sentences[start : start + 16]])[0].strays for start in (0, 12, 24)]
    assert odds is not None and len(odds) == 40
    assert odds[:12] == pytest.approx(windows[0][:12], abs=1e-4)
    assert odds[12:16] == pytest.approx((windows[0][12:] + windows[1][:4]) / 2, abs=1e-4)
    assert len(trained.tables(long).strays) == 0  # whatever the order


def test_batches_and_padding_do_not_change_strays(trained: Reader) -> None:
    together = trained.reader.tables(TEXTS)
    for text, tables in zip(TEXTS, together, strict=True):
        assert trained.reader.tables([text])[0].strays == pytest.approx(tables.strays, abs=1e-4)


@pytest.mark.parametrize("directions", ["next", "both"])
def test_saved_and_exported_models_find_the_same(directions: str, tmp_path: Path) -> None:
    model = untrained_reader(directions=directions, strays=True)
    model.save(tmp_path / "reader")
    folder = export(tmp_path / "reader")
    texts = [TEXTS[0], TEXTS[3], ("One.",), ("One.", "Two."), ("One.", "Two.", "Three.")]
    wanted = [tables.strays for tables in model.reader.tables(texts)]
    assert np.ptp(wanted[1]) > 0.01
    for place in (tmp_path / "reader", folder):
        for strays, tables in zip(wanted, Reader.load(place).reader.tables(texts), strict=True):
            assert tables.strays == pytest.approx(strays, abs=1e-4)
    back = Reader.load(folder).networks()[PART].state_dict()
    for name, value in model.networks()[PART].state_dict().items():
        if name.startswith("strays"):
            assert torch.allclose(value, back[name], atol=1e-7), name


def test_a_reader_without_the_head(tmp_path: Path) -> None:
    model = untrained_reader()
    assert model.stray_log_odds(Document("d", TEXTS[0])) is None
    model.save(tmp_path / "reader")
    saved = load_artifact(tmp_path / "reader")
    older = {name: value for name, value in saved.config.items() if name != "stray_weight"}
    save_artifact(replace(saved, config=older), tmp_path / "older")  # as an earlier weft wrote it
    folder = export(tmp_path / "older")
    for place in (tmp_path / "older", folder):
        loaded = Reader.load(place)
        assert loaded.settings == model.settings and loaded.stray_log_odds(Document("d", TEXTS[0])) is None
    artifact = load_artifact(folder)
    save_artifact(replace(artifact, config={**artifact.config, "stray_weight": 1.0}), tmp_path / "wrong")
    with pytest.raises(ModelError, match="do not fit its settings.*strays"):
        Reader.load(tmp_path / "wrong").networks()


def test_the_task_points_by_strays(trained: Reader) -> None:
    texts = [Document(f"{t}-{n}", tuple(f"The {name} {t} {n} ." for name in NAMES * 3)) for t in THINGS for n in (1, 2)]
    found = find_intruders(trained, make_cases(texts, {}))
    assert found.settings["evidence"] == "strays"
    assert {"stranger", "stranger_by_breaks", "stranger_by_links"} <= set(found.measures)
    cases = [case.intruded["stranger"] for case in make_cases(texts, {})]
    slow = []
    for item in cases:
        assert item is not None
        odds = trained.stray_log_odds(item.document)
        assert odds is not None
        slow.append(float(1 + int(odds[1:-1].argmax()) == item.place))
    assert found.measures["stranger"].numerators == tuple(slow)
    plain = find_intruders(untrained_reader(), make_cases(texts, {}))
    assert plain.settings["evidence"] == "breaks" and "stranger_by_breaks" not in plain.measures
