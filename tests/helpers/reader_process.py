"""One process of a toy training of a reader: python reader_process.py REQUEST, with the variables of torchrun set.

The request is a file of JSON with the fields of `Request`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import save_file

from weft.corpora.store.token_store import TokenStore
from weft.errors import Stopped
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import PART, ReaderSettings
from weft.training.devices import start_runtime
from weft.training.loop import Report
from weft.training.part_training import Corpus, train_part
from weft.training.settings import TrainingSettings

# All heads, and no dropout: its random numbers differ from process to process.
SMALL = ReaderSettings(
    hidden=32, layers=2, local_layers=1, heads=4, feed_forward=64, pair=16, fewest=3, most=8, slots=16, dropout=0.0,
    directions="both", near_weight=0.3, exchange_weight=0.3, masked=0.2, surprise_weight=0.3,
    stray_weight=0.5, damaged=0.5, strangers=2, changes=2,
)  # fmt: skip
# Batches of one to three windows, so that shares differ in size and some processes have none.
SETTINGS = TrainingSettings(
    steps=8, batch_tokens=200, accumulate=3, optimizer="sgd", learning_rate=0.03, warmup=2, clip=5.0, validate_every=4,
    seed=5,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a process does.

    Attributes:
        store: The store to train and to validate on.
        out: The file for weights and losses, which the first process writes.
        folder: The folder of the run, in which {rank} stands for the number of the process; empty to write nothing.
        stopper: The process that gets a signal.
        stop_at: The step after which it gets it; 0 if never.
        stop_with: The signal.
        training: Training settings that differ from `SETTINGS`.
        reader: Settings of the model that differ from `SMALL`.
    """

    store: str
    out: str
    folder: str = ""
    stopper: int = 0
    stop_at: int = 0
    stop_with: int = signal.SIGTERM
    training: dict[str, int | float | str] = field(default_factory=dict)
    reader: dict[str, int | float | str] = field(default_factory=dict)


def main() -> None:
    """Train until the end, or until a signal; the first process then writes weights, losses and their parts."""
    torch.set_num_threads(1)
    request = Request(**json.loads(Path(sys.argv[1]).read_text()))
    store = TokenStore(request.store)
    reader = Reader(ReaderSettings.from_mapping({**SMALL.to_dict(), **request.reader}))
    settings = TrainingSettings.from_mapping({**SETTINGS.to_dict(), **request.training})
    reports: list[Report] = []
    with start_runtime("cpu") as runtime:

        def listen(report: Report) -> None:
            reports.append(report)
            if report.step == request.stop_at and runtime.rank == request.stopper:
                os.kill(os.getpid(), request.stop_with)

        folder = Path(request.folder.format(rank=runtime.rank)) if request.folder else None
        try:
            network = train_part(reader, PART, Corpus(store, store), settings, runtime, folder=folder, listen=listen)
        except Stopped as stopped:
            sys.exit(128 + stopped.number)
        if runtime.is_main:
            found = {f"network.{name}": value.contiguous() for name, value in network.state_dict().items()}
            save_file({**found, **as_tensors(reports)}, request.out)


def as_tensors(reports: list[Report]) -> dict[str, torch.Tensor]:
    """Return the numbers of reports, those of steps and those of validations."""
    found = {}
    for kind in ("step", "validation"):
        chosen = [report for report in reports if report.kind == kind]
        rows = [[report.loss, report.gradient, *(report.parts or {}).values()] for report in chosen]
        found[f"{kind}.losses"] = torch.tensor(rows, dtype=torch.float64)  # [reports, 2 + parts]
        found[f"{kind}.windows"] = torch.tensor([[report.step, report.tokens] for report in chosen])  # [reports, 2]
    return found


if __name__ == "__main__":
    main()
