"""Train a toy run in child processes that are killed at random points, until one reaches the end.

This script imports torch once and forks, so that a kill costs milliseconds and not an import.
Usage: python killed_run.py FOLDER STORE KILLS SEED; prints the number of children that were killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from weft.corpora.store.token_store import TokenStore
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings
from weft.training.checkpoints import CHECKPOINT
from weft.training.devices import start_runtime
from weft.training.part_training import Corpus, train_part
from weft.training.settings import TrainingSettings

SETTINGS = TrainingSettings(steps=120, warmup=5, batch_tokens=200, validate_every=20, accumulate=2, seed=3)


def train(folder: Path, store: str) -> None:
    """Run from the last checkpoint to the end, with a checkpoint after every step."""
    torch.set_num_threads(1)
    model = Seq2Seq(Seq2SeqSettings(dimensions=16, hidden=16, layers=1, dropout=0.2, word_dropout=0.1))
    corpus = Corpus(TokenStore(store), TokenStore(store))
    with start_runtime("cpu", deterministic=True) as runtime:
        train_part(model, "forward", corpus, SETTINGS, runtime, folder=folder, checkpoint_seconds=0.0)


def wait_for_checkpoint(path: Path, child: int) -> None:
    """Wait until the child has replaced the checkpoint or has ended; on a busy machine it may take long to start."""
    before = changed(path)
    while changed(path) == before and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.001)


def changed(path: Path) -> int:
    """Return when a file was last changed; 0 if it does not exist."""
    return path.stat().st_mtime_ns if path.exists() else 0


def main() -> None:
    """Fork and kill children, then let one finish."""
    folder, store, kills, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    killed = 0
    with start_runtime("cpu", deterministic=True):  # imports what the children need, which takes longer than their run
        pass
    while True:
        child = os.fork()
        if child == 0:
            train(folder, store)
            os._exit(0)
        if killed < kills:
            wait_for_checkpoint(folder / CHECKPOINT, child)
            time.sleep(chance.uniform(0.0, 0.01))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            killed += 1
        elif status == 0:
            break
        else:
            sys.exit(1)
    sys.stdout.write(f"{killed}\n")


if __name__ == "__main__":
    main()
