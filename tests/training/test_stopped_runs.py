"""Runs that are stopped, killed or started twice, as processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.command_line import decoded, ok, refused, started, weft
from tests.helpers.fork_server import ForkedProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
COMMAND = ("train", "run.toml", "--out", "m", "--part", "forward")
CONFIG = """
[model]
name = "seq2seq"
dimensions = 16
hidden = 16
layers = 1
combine = "uni"
[data]
train = ["texts.jsonl"]
vocabulary = 300
[training]
steps = {steps}
batch_tokens = 200
validate_every = 0
[run]
device = "cpu"
parts = ["forward"]
checkpoint_seconds = {seconds}
"""


def config(folder: Path, *, steps: int = 1_000_000, seconds: int = 0) -> str:
    texts = [f'{{"sentences": ["The cat {n} sat.", "It slept {n} hours.", "Rain fell on {n}."]}}' for n in range(30)]
    (folder / "texts.jsonl").write_text("\n".join(texts))
    (folder / "run.toml").write_text(CONFIG.format(steps=steps, seconds=seconds))
    return "run.toml"


def start(folder: Path) -> ForkedProcess:
    return started(COMMAND, cwd=folder)


def wait_until(condition: Callable[[], bool], process: ForkedProcess) -> None:
    while not condition():
        assert process.is_running(), decoded(process.wait()).stderr
        time.sleep(0.05)


def lines_of(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.exists() else 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_stops_after_a_checkpoint_and_says_how_to_go_on(tmp_path: Path, number: int, code: int) -> None:
    config(tmp_path, seconds=100_000)
    process = start(tmp_path)
    run = tmp_path / "m.run" / "forward"
    wait_until(lambda: lines_of(run / "log.jsonl") >= 2, process)
    assert not (run / "checkpoint.safetensors").exists()  # the interval is a setting
    os.kill(process.pid, number)
    done = decoded(process.wait())
    assert done.returncode == code, done.stderr
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert "the same command continues the run" in done.stderr
    assert (run / "checkpoint.safetensors").exists()


def test_a_second_training_and_leftovers(tmp_path: Path) -> None:
    name = config(tmp_path)
    process = start(tmp_path)
    run = tmp_path / "m.run" / "forward"
    wait_until((run / "checkpoint.safetensors").exists, process)
    second = weft(*COMMAND, cwd=tmp_path)
    assert second.returncode == 2 and "another training is running in this folder" in second.stderr
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for left in (run / ".checkpoint.safetensors.abc_1234", run / ".log.jsonl.00000000"):
        left.write_bytes(b"half a file")
    other = run / ".checkpoint.safetensors.backup"
    other.mkdir()
    half, fresh = tmp_path / ".m.abcd1234", tmp_path / ".m.abcd5678"
    for folder in (half, fresh):
        folder.mkdir()
        (folder / "forward.safetensors").write_bytes(b"half a file")
    os.utime(half, (1, 1))
    again = start(tmp_path)
    wait_until(lambda: not half.exists() and not (run / ".log.jsonl.00000000").exists(), again)
    os.kill(again.pid, signal.SIGTERM)
    again.wait()
    assert sorted(path.name for path in run.iterdir()) == [other.name, "checkpoint.safetensors", "log.jsonl"]
    assert fresh.exists()  # may be in use
    assert name == "run.toml"


def test_the_output_is_checked_before_training(tmp_path: Path) -> None:
    name = config(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear reader")
    (tmp_path / "file").write_text("x")
    for out in ("mine", "file"):
        assert "not a model folder" in refused("train", name, "--out", out, cwd=tmp_path)
    refused("train", name, "--out", "file/inside", cwd=tmp_path)
    refused("train", name, "--out", "/proc/nowhere/m", cwd=tmp_path)


def test_a_wrong_interval_is_an_error(tmp_path: Path) -> None:
    assert "checkpoint_seconds" in refused("train", config(tmp_path, seconds=-1), "--out", "m", cwd=tmp_path)
    assert "checkpoint_seconds" in ok("config", "seq2seq", cwd=tmp_path)
