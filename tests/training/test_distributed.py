"""The training loop: never loses work, and several processes are one."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from itertools import pairwise, starmap
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.helpers.fork_server import ForkedProcess

from weft.corpora.store.pair_batches import PairStream, sentence_pairs
from weft.corpora.store.prepare import prepare
from weft.corpora.store.token_store import TokenStore
from weft.errors import ConfigError, CorpusError, ModelError
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings
from weft.training.devices import Runtime, start_runtime
from weft.training.loop import LossPart, Report, Trainer, clip_gradient, learning_rate
from weft.training.part_training import Corpus, finished_part, train_part
from weft.training.settings import TrainingSettings

HERE = Path(__file__).parents[1] / "helpers"
WORDS = ("red", "blue", "green", "old", "new", "cat", "dog", "house", "tree", "river")
SETTINGS = TrainingSettings(steps=30, warmup=5, batch_tokens=300, validate_every=10, seed=2)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """Paragraphs whose sentences repeat the word of the one before: a source that is worth looking at."""
    place = tmp_path_factory.mktemp("store")
    lines = []
    for n in range(60):
        first = WORDS[n % 10]
        lines.append(json.dumps({"sentences": [f"the {first} {WORDS[(n * 3 + i) % 10]} one" for i in range(5)]}))
    (place / "t.jsonl").write_text("\n".join(lines))
    return prepare([place / "t.jsonl"], place / "store", tokenizer_kind="words", vocabulary_size=50, workers=1)


def model() -> Seq2Seq:
    return Seq2Seq(Seq2SeqSettings(dimensions=16, hidden=16, layers=1, dropout=0.1))


def trained(
    store: TokenStore, settings: TrainingSettings, folder: Path | None = None, part: str = "forward"
) -> Seq2Seq:
    with start_runtime("cpu", deterministic=True) as runtime:
        chosen = model()
        network = train_part(chosen, part, Corpus(store, store), settings, runtime, folder=folder)
        return chosen.assemble({part: network}, store.tokenizer())


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_twenty_times_it_ends_with_the_same_weights(store: TokenStore, tmp_path: Path) -> None:
    killed = {}
    for name, kills in (("whole", "0"), ("cut", "22")):
        words = [str(HERE / "killed_run.py"), str(tmp_path / name), str(store.folder), kills, "1"]
        done = ForkedProcess(words).wait()
        assert done.returncode == 0, done.stderr.decode()
        killed[name] = int(done.stdout)
    assert killed["whole"] == 0 and killed["cut"] >= 20
    whole, cut = (load_file(tmp_path / name / "checkpoint.safetensors") for name in ("whole", "cut"))
    assert same(whole, cut)
    logs = [(tmp_path / name / "log.jsonl").read_text().splitlines() for name in ("whole", "cut")]
    losses = [[(json.loads(line)["step"], json.loads(line)["loss"]) for line in log] for log in logs]
    assert losses[0] == losses[1]


def test_two_processes_are_one_with_the_same_global_batch(store: TokenStore, tmp_path: Path) -> None:
    one = run_ranks(store, tmp_path / "one.safetensors", 1)
    two = run_ranks(store, tmp_path / "two.safetensors", 2)
    assert torch.equal(one["tokens"], two["tokens"])
    for name, value in one.items():
        assert torch.allclose(value, two[name], atol=2e-5), name


def run_ranks(store: TokenStore, out: Path, world: int) -> dict[str, torch.Tensor]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
    ranks = [
        ForkedProcess(
            [str(HERE / "two_processes.py"), str(store.folder), str(out)],
            environment={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(world)
    ]
    for done in [rank.wait() for rank in ranks]:
        assert done.returncode == 0, done.stderr.decode()
    return load_file(out)


def test_the_loss_falls_and_the_source_helps(store: TokenStore) -> None:
    settings = replace(SETTINGS, steps=150, batch_tokens=600, learning_rate=1e-2, validate_every=0)
    losses = {}
    for part in ("forward", "prior"):
        reports: list[Report] = []
        with start_runtime("cpu") as runtime:
            train_part(model(), part, Corpus(store, store), settings, runtime, listen=reports.append)
        assert reports[-1].kind == "validation"
        losses[part] = reports[-1].loss
        assert losses[part] < reports[0].loss / 2
    assert losses["forward"] < losses["prior"] - 0.05


def test_the_best_epoch_is_kept_by_copy(store: TokenStore, tmp_path: Path) -> None:
    """With a learning rate that ruins the network, the result is an early validation's, not the last step's."""
    ruinous = replace(SETTINGS, steps=40, learning_rate=0.5, decay="none", validate_every=5, warmup=20, clip=100.0)
    trained(store, ruinous, tmp_path / "run")
    tensors = load_file(tmp_path / "run" / "checkpoint.safetensors")
    assert not torch.equal(tensors["best.embedding.weight"], tensors["network.embedding.weight"])
    reports = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    validations = [report["loss"] for report in reports if report["kind"] == "validation"]
    assert min(validations) < validations[-1]


def test_a_short_run_logs_its_losses(store: TokenStore, tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=7, validate_every=0)
    with start_runtime("cpu") as runtime:
        train_part(model(), "forward", Corpus(store), settings, runtime, folder=tmp_path)
    reports = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [report["step"] for report in reports] == [1, 2, 3, 4, 5, 6, 7]


def test_patience_stops_early(store: TokenStore) -> None:
    reports: list[Report] = []
    stubborn = replace(SETTINGS, steps=500, learning_rate=1.0, decay="none", validate_every=2, patience=3, clip=100.0)
    with start_runtime("cpu") as runtime:
        train_part(model(), "forward", Corpus(store, store), stubborn, runtime, listen=reports.append)
    assert reports[-1].step < 500


def test_a_finished_run_is_not_trained_again(store: TokenStore, tmp_path: Path) -> None:
    first = trained(store, SETTINGS, tmp_path / "run")
    before = (tmp_path / "run" / "checkpoint.safetensors").stat().st_mtime_ns
    second = trained(store, SETTINGS, tmp_path / "run")
    assert (tmp_path / "run" / "checkpoint.safetensors").stat().st_mtime_ns == before
    states = [m.predictors["forward"].network.state_dict() for m in (first, second)]
    assert same(states[0], states[1])
    assert finished_part(model(), "forward", Corpus(store, store), SETTINGS, tmp_path / "run") is not None


def test_other_settings_do_not_resume(store: TokenStore, tmp_path: Path) -> None:
    trained(store, SETTINGS, tmp_path / "run")
    other = replace(SETTINGS, learning_rate=0.1)
    expected = (
        rf"started with other settings.*saw 'training.learning_rate = 0.1, started with {SETTINGS.learning_rate}'"
    )
    with pytest.raises(ModelError, match=expected):
        trained(store, other, tmp_path / "run")
    with pytest.raises(ModelError, match="saw 'other validation data'"), start_runtime("cpu") as runtime:
        train_part(model(), "forward", Corpus(store), SETTINGS, runtime, folder=tmp_path / "run")
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(b"garbage")
    with pytest.raises(ModelError, match="damaged"):
        trained(store, SETTINGS, tmp_path / "run")


def test_seeds_decide_everything(store: TokenStore) -> None:
    one, two, other = (
        trained(store, replace(SETTINGS, seed=seed)).predictors["forward"].network.state_dict() for seed in (4, 4, 5)
    )
    assert same(one, two)
    assert not same(one, other)


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), 1e30])
def test_a_gradient_that_overflows_teaches_nothing(odd: float) -> None:
    network = torch.nn.Linear(2, 1)
    network.weight.grad, network.bias.grad = torch.tensor([[odd, 1.0]]), torch.tensor([1.0])
    assert clip_gradient(network, 1.0) == -1
    for parameter in network.parameters():
        assert parameter.grad is not None
        assert not parameter.grad.any()
    network.weight.grad, network.bias.grad = torch.tensor([[3.0, 0.0]]), torch.tensor([4.0])
    assert clip_gradient(network, 1.0) == 5
    assert network.bias.grad.item() == pytest.approx(0.8)


def test_schedules() -> None:
    settings = TrainingSettings(steps=100, warmup=10, learning_rate=1.0)
    assert learning_rate(settings, 0, 0.0) == pytest.approx(0.1)
    assert learning_rate(replace(settings, decay="linear"), 50, 0.5) == pytest.approx(0.5)
    assert learning_rate(replace(settings, decay="none"), 99, 0.99) == 1.0
    with pytest.raises(ConfigError, match="neither training.steps nor training.minutes"):
        TrainingSettings()
    with pytest.raises(ConfigError, match="unknown optimizer"):
        TrainingSettings(steps=1, optimizer="adam")


@pytest.mark.parametrize("optimizer", ["adamw", "adagrad", "sgd"])
def test_every_optimizer_learns_and_resumes(store: TokenStore, tmp_path: Path, optimizer: str) -> None:
    rate = {"adamw": 5e-3, "adagrad": 5e-2, "sgd": 0.5}[optimizer]
    settings = replace(SETTINGS, optimizer=optimizer, learning_rate=rate, steps=20)
    assert trained(store, settings, tmp_path / "run").predictors


def test_batches_cover_every_pair_once_an_epoch(store: TokenStore) -> None:
    for part in ("forward", "backward", "prior"):
        stream = model().training_batches(part, store, 0, SETTINGS)
        assert isinstance(stream, PairStream)
        plan = stream.epoch(0)
        seen = sorted(int(pair) for batch in plan for pair in batch)
        assert seen == list(range(len(stream.targets)))
        assert [b.tolist() for b in plan] == [b.tolist() for b in stream.epoch(0)]
        assert [b.tolist() for b in plan] != [b.tolist() for b in stream.epoch(1)]
        for pairs in plan:
            batch = stream.batch(pairs)
            assert max(batch.target.shape[1] + 1, batch.source.shape[1]) * len(batch) <= SETTINGS.batch_tokens


def test_pairs_stay_inside_paragraphs(store: TokenStore) -> None:
    contexts, targets = sentence_pairs(store, "forward")
    assert len(targets) == 60 * 4
    assert (contexts == targets - 1).all()
    assert not set(targets.tolist()) & {int(start) for start in store.paragraph_offsets[:-1]}
    after, before = sentence_pairs(store, "backward")
    assert (after == before + 1).all()
    alone, everyone = sentence_pairs(store, "prior")
    assert len(everyone) == 300
    assert (alone == -1).all()


def test_a_batch_is_what_the_store_says(store: TokenStore) -> None:
    stream = PairStream(store, "forward", batch_tokens=100, max_tokens=50, seed=0, pad=0)
    batch = stream.batch(stream.epoch(0)[0][:3])
    for row, pair in enumerate(stream.epoch(0)[0][:3]):
        target = store.sentence(int(stream.targets[pair])).tolist()
        assert batch.target[row, : batch.target_lengths[row]].tolist() == target
        assert (batch.target[row, batch.target_lengths[row] :] == 0).all()
        source = store.sentence(int(stream.contexts[pair])).tolist()
        assert batch.source[row, : batch.source_lengths[row]].tolist() == source


def test_a_contrasted_sentence_is_of_the_paragraph_but_not_of_the_pair(store: TokenStore) -> None:
    for direction in ("forward", "backward"):
        stream = PairStream(store, direction, batch_tokens=300, max_tokens=50, seed=0, pad=0, contrast=True)
        seen = set()
        for pairs in stream.epoch(0):
            others, batch = stream.others(pairs), stream.batch(pairs)
            assert (others == stream.others(pairs)).all()
            assert batch.other is not None
            assert batch.other_lengths is not None
            for row, (other, pair) in enumerate(zip(others, pairs, strict=True)):
                paragraph = next(p for p in starmap(range, pairwise(store.paragraph_offsets)) if other in p)
                assert len(paragraph) > 2
                assert {int(stream.contexts[pair]), int(stream.targets[pair])} < set(paragraph)
                assert other not in (stream.contexts[pair], stream.targets[pair])
                assert batch.other[row, : batch.other_lengths[row]].tolist() == store.sentence(int(other)).tolist()
                seen.add(int(other) - int(stream.contexts[pair]))
        assert len(seen) > 3, "others stand at many distances"
        half = batch.rows(0, 2)
        assert half.other is not None
        assert batch.other is not None
        assert half.other.tolist() == batch.other[::2].tolist()


def test_contrast_is_learned_by_the_directions_and_not_by_the_prior(store: TokenStore, tmp_path: Path) -> None:
    """From the setting to the log: a model that says it was trained with contrast must have been."""
    chosen = Seq2Seq(Seq2SeqSettings(dimensions=8, hidden=8, layers=1, dropout=0.0, contrast=2.0))
    settings = replace(SETTINGS, steps=3, validate_every=3)
    with start_runtime("cpu", deterministic=True) as runtime:
        for part in ("forward", "backward", "prior"):
            train_part(chosen, part, Corpus(store, store), settings, runtime, folder=tmp_path / part)
            reports = [json.loads(line) for line in (tmp_path / part / "log.jsonl").read_text().splitlines()]
            parts = reports[-1]["parts"]
            assert reports[-1]["kind"] == "validation"
            assert set(parts) == (set() if part == "prior" else {"likelihood", "contrast"})
            if parts:
                assert reports[-1]["loss"] == pytest.approx(parts["likelihood"] + 2.0 * parts["contrast"], rel=1e-5)


def test_paragraphs_of_two_sentences_have_nothing_to_contrast(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"sentences": ["A cat sat.", "It slept."]}\n')
    pairs = prepare([tmp_path / "t.jsonl"], tmp_path / "store", tokenizer_kind="words", workers=1)
    options: dict[str, int] = {"batch_tokens": 100, "max_tokens": 50, "seed": 0, "pad": 0}
    assert len(PairStream(pairs, "forward", contrast=False, **options).targets) == 1
    with pytest.raises(CorpusError, match="3 or more sentences"):
        PairStream(pairs, "forward", contrast=True, **options)


def validated_by(store: TokenStore, settings: TrainingSettings, runtime: Runtime, losses: list[float]) -> Trainer:
    """A trainer whose validations find these losses."""
    chosen, values = model(), iter(losses)
    network = chosen.new_network("forward", store.tokenizer())
    return Trainer(
        network,
        lambda batch: chosen.batch_loss(network, batch, runtime.device),
        chosen.training_batches("forward", store, 0, settings),
        settings,
        runtime,
        lambda: LossPart(torch.tensor(next(values)), 1),
    )


def test_a_resumed_run_knows_how_long_validation_has_not_improved(store: TokenStore) -> None:
    settings = replace(SETTINGS, patience=5)
    with start_runtime("cpu", deterministic=True) as runtime:
        first, second = (validated_by(store, settings, runtime, [1.0, 2.0, 3.0]) for _ in range(2))
        for _ in first.run():
            pass
        second.restore(*first.snapshot())
    assert (second.stale, second.best, second.step) == (2, 1.0, 30)
    assert same(first.result(), second.result())


def test_a_snapshot_at_any_yield_holds_the_validation_of_its_step(store: TokenStore) -> None:
    """Killed between a step and its validation, a run would go on without the validation, and with other weights."""
    with start_runtime("cpu", deterministic=True) as runtime:
        trainer = validated_by(store, SETTINGS, runtime, [3.0, 2.0, 1.0])
        seen = [(report.kind, report.step, trainer.snapshot()[1]["best"]) for report in trainer.run()]
    assert [entry for entry in seen if entry[1] % 10 == 0] == [
        (kind, step, best) for step, best in ((10, 3.0), (20, 2.0), (30, 1.0)) for kind in ("step", "validation")
    ]


def test_reports_that_come_less_often_change_no_weight(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    often: list[Report] = []
    seldom: list[Report] = []
    one = _told(store, often)
    monkeypatch.setattr("weft.training.loop.REPORT_EVERY", {"cpu": 4})
    other = _told(store, seldom)
    assert same(one, other)
    steps = [report for report in seldom if report.kind == "step"]
    assert [report.step for report in steps] == [4, 8, 10, 12, 16, 20, 24, 28, 30]  # and where a validation is due
    tokens = [sum(report.tokens for report in reports if report.kind == "step") for reports in (often, seldom)]
    assert tokens[0] == tokens[1]
    first = [report for report in often if report.kind == "step"][:4]
    mean = sum(report.loss * report.tokens for report in first) / sum(report.tokens for report in first)
    assert steps[0].loss == pytest.approx(mean)
    assert [r.loss for r in often if r.kind == "validation"] == [r.loss for r in seldom if r.kind == "validation"]


def _told(store: TokenStore, reports: list[Report]) -> dict[str, torch.Tensor]:
    """A whole run: its weights, and every report."""
    with start_runtime("cpu", deterministic=True) as runtime:
        return train_part(
            model(), "forward", Corpus(store, store), SETTINGS, runtime, listen=reports.append
        ).state_dict()


def test_a_diverging_run_stops_and_says_so(store: TokenStore) -> None:
    settings = replace(SETTINGS, optimizer="sgd", learning_rate=1e30, clip=1e30, decay="none", warmup=0)
    with pytest.raises(ModelError, match="diverged"):
        trained(store, settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("minutes", float("nan")), ("learning_rate", -1.0), ("learning_rate", float("nan")), ("accumulate", 0),
        ("batch_tokens", 0), ("clip", -1.0), ("warmup", -3), ("patience", -1), ("max_tokens", 0), ("clip", 0.0),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=name):
        replace(SETTINGS, **{name: value})  # type: ignore[arg-type]
