"""Speed of the training loop beside bare forward, backward and optimizer steps on prepared batches.

    python benchmarks/training.py --store stores/wikipedia [--device cpu] [--steps 300] [--out FILE]

The loop gathers its batches from the memory-mapped store, pads, copies and reports. The bare steps have the same
batches on the device already. Both are measured by turns in one run, with one network.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from weft.corpora.store.pair_batches import PairStream
from weft.corpora.store.token_store import TokenStore
from weft.io.atomic_files import write_atomically
from weft.models.common.neural.batch_tensors import pairs_to_device
from weft.models.common.neural.encoder_decoder import Seq2SeqNetwork, Tokens
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings
from weft.training.config import read_config
from weft.training.devices import Runtime, start_runtime
from weft.training.loop import Trainer, endless, make_optimizer
from weft.training.settings import TrainingSettings
from weft.version import VERSION

RATIO_BAR = 0.85
Ready = tuple[Tokens, Tokens, torch.Tensor, int]  # source, target, mask of predictions, their number


def bare_rate(network: Seq2SeqNetwork, ready: list[Ready], settings: TrainingSettings, runtime: Runtime) -> float:
    """Return tokens per second of the bare steps."""
    optimizer = make_optimizer(network, settings)
    network.train()
    wait(runtime)
    start = time.perf_counter()
    for source, target, places, count in ready:
        optimizer.zero_grad(set_to_none=True)
        with runtime.autocast():
            loss = network.loss(source, target, places) / count
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
        optimizer.step()
    wait(runtime)
    return sum(count for *_, count in ready) / (time.perf_counter() - start)


def loop_rate(
    model: Seq2Seq, network: Seq2SeqNetwork, stream: PairStream, settings: TrainingSettings, runtime: Runtime
) -> float:
    """Return tokens per second of the training loop over the same batches."""
    trainer = Trainer(
        network, lambda batch: model.batch_loss(network, batch, runtime.device), stream, settings, runtime
    )
    wait(runtime)
    start = time.perf_counter()
    tokens = sum(report.tokens for report in trainer.run())
    wait(runtime)
    return tokens / (time.perf_counter() - start)


def wait(runtime: Runtime) -> None:
    """Wait until the device has finished all work."""
    if runtime.device.type == "cuda":
        torch.cuda.synchronize()


def ready_batches(stream: PairStream, steps: int, device: torch.device) -> list[Ready]:
    """Return the first batches of the first epoch, on the device."""
    ready = []
    for _, _, batch in islice(endless(stream, 0), steps):
        ready.append((*pairs_to_device(batch, device), batch.tokens))
    return ready


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Warm up, then measure the bare steps and the loop by turns."""
    config = read_config(options.config)
    model = Seq2Seq(
        Seq2SeqSettings(**{**config.model.settings, "contrast": 0.0})
    )  # the bare steps have no contrastive loss
    store = TokenStore(options.store)
    settings = TrainingSettings(steps=options.steps, validate_every=0, batch_tokens=options.batch_tokens)
    with start_runtime(options.device) as runtime:
        torch.manual_seed(1)
        network = model.new_network("forward", store.tokenizer()).to(runtime.device)
        assert isinstance(network, Seq2SeqNetwork)
        stream = model.training_batches("forward", store, store.tokenizer().pad_id, settings)
        assert isinstance(stream, PairStream)
        ready = ready_batches(stream, options.steps, runtime.device)
        bare_rate(network, ready[: max(1, options.steps // 4)], settings, runtime)
        rounds = []
        for _ in range(options.rounds):
            bare = bare_rate(network, ready, settings, runtime)
            loop = loop_rate(model, network, stream, settings, runtime)
            rounds.append({"bare_tokens_per_second": bare, "loop_tokens_per_second": loop, "ratio": loop / bare})
        device = torch.cuda.get_device_name() if runtime.device.type == "cuda" else "cpu"
    ratio = statistics.median(entry["ratio"] for entry in rounds)
    return {
        "device": device,
        "config": Path(options.config).name,
        "contrast": 0.0,
        "steps": options.steps,
        "batch_tokens": options.batch_tokens,
        "rounds": rounds,
        "median_ratio": ratio,
        "bar": RATIO_BAR,
        "passed": ratio >= RATIO_BAR,
    }


def main() -> int:
    """Measure, print the results and write the device's entry of the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True, help="store written by `weft prepare`")
    parser.add_argument("--config", default="configs/seq2seq.toml", help="configuration with the sizes of the network")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-tokens", type=int, default=12000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/training.json"))
    options = parser.parse_args()
    found = measure(options)
    machine = {
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "weft": VERSION,
    }
    known = json.loads(options.out.read_text("utf-8")) if options.out.is_file() else {"benchmark": "training"}
    known["cuda" if found["device"] != "cpu" else "cpu"] = {"machine": machine, **found}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(options.out) as file:
        file.write((json.dumps(known, indent=1) + "\n").encode())
    json.dump(found, sys.stdout, indent=1)
    return 0 if found["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
