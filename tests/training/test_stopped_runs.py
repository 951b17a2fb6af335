"""Runs that are stopped, killed or started twice, as processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.helpers.command_line import ok, refused

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
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


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "weft", "train", "run.toml", "--out", "m", "--part", "forward"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_stops_after_a_checkpoint_and_says_how_to_go_on(tmp_path: Path, number: int, code: int) -> None:
    config(tmp_path, seconds=100_000)
    process = start(tmp_path)
    run = tmp_path / "m.run" / "forward"
    wait_for(run / "log.jsonl", process)
    time.sleep(0.5)
    assert not (run / "checkpoint.safetensors").exists()  # the interval is a setting
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert out == "" and len(err.splitlines()) == 1
    assert "the same command continues the run" in err
    assert (run / "checkpoint.safetensors").exists()


def test_a_second_training_and_leftovers(tmp_path: Path) -> None:
    name = config(tmp_path)
    process = start(tmp_path)
    run = tmp_path / "m.run" / "forward"
    wait_for(run / "checkpoint.safetensors", process)
    second = subprocess.run(process.args, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert second.returncode == 2 and "another training is running in this folder" in second.stderr
    process.kill()
    process.communicate()
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
    while half.exists() or (run / ".log.jsonl.00000000").exists():
        assert again.poll() is None, again.communicate()[1]
        time.sleep(0.05)
    again.terminate()
    again.communicate(timeout=60)
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
