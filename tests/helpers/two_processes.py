"""One rank of a toy run: python two_processes.py STORE OUT, with torchrun's environment variables set."""

from __future__ import annotations

import sys

import torch
from safetensors.torch import save_file

from weft.corpora.store.token_store import TokenStore
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings
from weft.training.devices import start_runtime
from weft.training.loop import Report
from weft.training.part_training import Corpus, train_part
from weft.training.settings import TrainingSettings


def main() -> None:
    """Train; the first process writes weights and losses."""
    torch.set_num_threads(1)
    store, out = sys.argv[1], sys.argv[2]
    settings = TrainingSettings(steps=12, warmup=2, batch_tokens=400, validate_every=0, decay="none", seed=5)
    reports: list[Report] = []
    with start_runtime("cpu") as runtime:
        model = Seq2Seq(Seq2SeqSettings(dimensions=16, hidden=16, layers=1, dropout=0.0))
        network = train_part(model, "forward", Corpus(TokenStore(store)), settings, runtime, listen=reports.append)
        if runtime.is_main:
            losses = torch.tensor([report.loss for report in reports], dtype=torch.float64)
            tokens = torch.tensor([report.tokens for report in reports])
            save_file({**network.state_dict(), "losses": losses, "tokens": tokens}, out)


if __name__ == "__main__":
    main()
