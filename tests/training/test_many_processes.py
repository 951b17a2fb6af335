"""A reader that is trained by many processes is the one that a single process trains, also after a stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.helpers.command_line import ok
from tests.helpers.fork_server import ForkedProcess
from tests.helpers.reader_process import SETTINGS, SMALL, Request

from weft.corpora.store.prepare import prepare
from weft.corpora.store.sentence_surprise import Teacher, write_surprise
from weft.corpora.store.token_store import TokenStore
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import PART
from weft.training.devices import start_runtime
from weft.training.loop import Trainer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
SCRIPT = Path(__file__).parents[1] / "helpers" / "reader_process.py"
THINGS = ("cat", "dog", "house", "river", "tree", "road", "song", "storm")
PLACES = ("old town", "sea", "wood behind the mill", "hill")
LENGTH = 9  # sentences of an article


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """Articles whose sentences have many lengths, with surprise values; every fifth one is unknown."""
    folder = tmp_path_factory.mktemp("processes")
    texts = [
        [f"The {thing} {n} was{' not' * (n % 3)} seen at the {PLACES[(n + m) % 4]}." for n in range(LENGTH)]
        for m, thing in enumerate(THINGS)
    ]
    (folder / "in.jsonl").write_text("\n".join(json.dumps({"sentences": text}) for text in texts))
    plain = prepare([folder / "in.jsonl"], folder / "store", vocabulary_size=300, workers=1)
    values = [-float(n % 7) if n % 5 else np.nan for n in range(LENGTH * len(THINGS))]
    return write_surprise(plain.folder, values, Teacher("0" * 64, "lm", 64))


def processes(request: Request, world: int, place: Path) -> list[subprocess.CompletedProcess[bytes]]:
    """Run a training in some processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (place / "request.json").write_text(json.dumps(asdict(request)))
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
    ranks = [
        ForkedProcess(
            [str(SCRIPT), str(place / "request.json")],
            environment={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(world)
    ]
    return [rank.wait() for rank in ranks]


def trained(request: Request, world: int, place: Path) -> dict[str, torch.Tensor]:
    """The weights and losses of a training in some processes."""
    for done in processes(request, world, place):
        assert done.returncode == 0, done.stderr.decode()
    return load_file(request.out)


def stopped(request: Request, world: int, place: Path) -> None:
    """Run a training until the signal of the request stops all processes."""
    for done in processes(request, world, place):
        assert done.returncode == 143, done.stderr.decode()


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], *, atol: float = 2e-6) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.allclose(value, other[name], atol=atol, rtol=1e-5), (name, (value - other[name]).abs().max())


@pytest.fixture(scope="module")
def whole(store: TokenStore, tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """The training of one process that is not stopped."""
    place = tmp_path_factory.mktemp("whole")
    return trained(Request(store=str(store.folder), out=str(place / "one.safetensors")), 1, place)


def test_batches_of_the_toy_run_have_fewer_windows_than_processes(store: TokenStore) -> None:
    stream = Reader(SMALL).training_batches(PART, store, 0, SETTINGS)
    taken = stream.epoch(0)[: SETTINGS.steps * SETTINGS.accumulate]
    sizes = {len(stream.batch(planned)) for planned in taken}
    assert min(sizes) == 1 and max(sizes) > 2


@pytest.mark.parametrize("world", [2, 3])
def test_many_processes_are_one(store: TokenStore, whole: dict[str, torch.Tensor], world: int, tmp_path: Path) -> None:
    """The same windows, losses of all heads, gradients, validations and weights."""
    many = trained(Request(store=str(store.folder), out=str(tmp_path / "many.safetensors")), world, tmp_path)
    assert torch.equal(many["step.windows"], whole["step.windows"])
    assert many["step.losses"].shape == (SETTINGS.steps, 2 + 8)  # loss, gradient and eight losses
    assert many["validation.losses"].shape == (2, 2 + 7)  # no words are masked
    assert_same(many, whole)


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_a_stopped_run_continues_in_another_number_of_processes(
    store: TokenStore, whole: dict[str, torch.Tensor], before: int, after: int, tmp_path: Path
) -> None:
    """The signal reaches only the last process: all of them stop at the same step, and the first one saves it."""
    request = Request(
        store=str(store.folder),
        out=str(tmp_path / "resumed.safetensors"),
        folder=str(tmp_path / "run"),
        stopper=before - 1,
        stop_at=5,
    )
    stopped(request, before, tmp_path)
    assert not Path(request.out).exists()
    found = trained(replace(request, stop_at=0), after, tmp_path)
    assert found["step.windows"].tolist() == whole["step.windows"].tolist()[5:]
    names = {name for name in whole if name.startswith("network.")}
    assert_same({name: found[name] for name in names}, {name: whole[name] for name in names})
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    steps = [(entry["kind"], entry["step"]) for entry in log]
    assert steps == [("step", n) for n in range(1, 5)] + [("validation", 4)] + [("step", n) for n in range(5, 9)] + [
        ("validation", 8)
    ]
    losses = [entry["loss"] for entry in log if entry["kind"] == "step"]
    assert losses == pytest.approx(whole["step.losses"][:, 0].tolist(), abs=1e-5)


def test_processes_that_do_not_share_the_run_folder_are_refused(store: TokenStore, tmp_path: Path) -> None:
    """On another machine, a process would start with other weights than the first one continues with."""
    folder = str(tmp_path / "run-{rank}")
    request = Request(store=str(store.folder), out=str(tmp_path / "o.safetensors"), folder=folder, stop_at=2)
    stopped(request, 1, tmp_path)
    for rank, done in enumerate(processes(replace(request, stop_at=0), 2, tmp_path)):
        assert done.returncode == 1
        step = 0 if rank else 2
        assert f"and step {step} in process {rank}" in done.stderr.decode()
        assert "a file system that they share" in done.stderr.decode()


def test_a_process_that_waits_for_one_that_was_killed_says_so(store: TokenStore, tmp_path: Path) -> None:
    request = Request(store=str(store.folder), out="", stopper=1, stop_at=2, stop_with=signal.SIGKILL)
    first, second = processes(request, 2, tmp_path)
    assert (first.returncode, second.returncode) == (1, -signal.SIGKILL)
    assert "another process of this run has ended, or cannot be reached" in first.stderr.decode()


def test_a_step_of_several_batches_has_the_gradient_of_their_windows(store: TokenStore) -> None:
    """Reference test: the sum of all losses, divided by the number of all windows."""
    settings = replace(SETTINGS, steps=1, warmup=0, decay="none", learning_rate=1.0, clip=1e9)
    reader = Reader(SMALL)
    stream = reader.training_batches(PART, store, 0, settings)
    torch.manual_seed(3)
    network = reader.new_network(PART, store.tokenizer())
    before = {name: value.detach().clone() for name, value in network.named_parameters()}
    batches = [stream.batch(planned) for planned in stream.epoch(0)[: settings.accumulate]]
    losses = [reader.batch_loss(network, batch, torch.device("cpu")) for batch in batches]
    mean = torch.stack([one.total for one in losses]).sum() / sum(len(batch) for batch in batches)
    expected = dict(zip(before, torch.autograd.grad(mean, list(network.parameters())), strict=True))
    with start_runtime("cpu") as runtime:
        trainer = Trainer(
            network, lambda batch: reader.batch_loss(network, batch, runtime.device), stream, settings, runtime
        )
        (report,) = trainer.run()
    assert report.loss == pytest.approx(mean.item(), abs=1e-5)
    for name, value in network.named_parameters():
        assert torch.allclose(before[name] - value.detach(), expected[name], atol=1e-5, rtol=1e-4), name


# The command line under torchrun --------------------------------------------------------------------------------------

CONFIG = """
[model]
name = "reader"
hidden = 32
layers = 2
local_layers = 1
heads = 4
feed_forward = 64
pair = 16
slots = 16
fewest = 3
most = 8
masked = 0.2
precision = "float32"
[data]
train = ["texts.jsonl"]
valid_share = 0.2
vocabulary = 300
[training]
steps = 100
batch_tokens = 300
accumulate = 2
validate_every = 50
[run]
device = "cpu"
checkpoint_seconds = 100000
"""


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_torchrun_prepares_trains_stops_and_a_single_process_continues(store: TokenStore, tmp_path: Path) -> None:
    texts = [{"sentences": [f"The {one} {n} was seen at the {PLACES[n % 4]}." for n in range(9)]} for one in THINGS]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, texts)))
    (tmp_path / "run.toml").write_text(CONFIG)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = ["train", "run.toml", "--out", "m"]
    run, log = tmp_path / "m.run" / "reader", tmp_path / "m.run" / "reader" / "log.jsonl"
    with subprocess.Popen(
        [*torchrun, "-m", "weft", *command], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        while len(lines_of(log)) < 2 and started.poll() is None:
            time.sleep(0.05)
        started.send_signal(signal.SIGTERM)
        out, err = started.communicate(timeout=100)
    assert started.returncode != 0 and out == ""
    assert err.count("stopped by SIGTERM; next: the same command continues the run from its last checkpoint") == 1, err
    assert (run / "checkpoint.safetensors").exists() and not (tmp_path / "m").exists()
    done = len(lines_of(log))
    assert 2 <= done < 100
    ok(*command, cwd=tmp_path)
    assert sorted(path.name for path in run.iterdir()) == ["checkpoint.safetensors", "log.jsonl"]
    steps = [entry["step"] for entry in map(json.loads, lines_of(log)) if entry["kind"] == "step"]
    assert steps == list(range(1, 101))
    assert Reader.load(tmp_path / "m").networks()
