"""Speed of training a reader against the size of the batches and the number of processes, each in one thread of a CPU.

    python -m benchmarks.training_curves --data $WEFT_DATA/wikipedia/valid.paragraphs.jsonl

Every point is a run of `torchrun … -m weft train` of so many tokens, with a network as large as that of weft-reader,
with new weights. Tokens are those that the batches may have, padding included. CPU seconds are those of all its
processes, less those of a run of one step: that is the start, with reading the texts. Wall time depends on what else
the machine does, so the load is recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that this file can also be started by its path

from benchmarks.scale import keep_orphans, timed

from weft.io.atomic_files import write_atomically
from weft.version import VERSION

CONFIG = """
[model]
name = "reader"
hidden = 384
layers = 6
local_layers = 3
heads = 12
feed_forward = 1536
[data]
store = "{store}"
valid_store = "{store}"
[run]
device = "cpu"
precision = "{precision}"
[training]
steps = {steps}
batch_tokens = {batch_tokens}
max_tokens = 48
validate_every = 0
"""
Measured = dict[str, Any]


def run_of(folder: Path, processes: int, batch_tokens: int, steps: int, precision: str) -> Measured:
    """Train for some steps in a folder with a store; return its times."""
    for name in ("model", "model.run"):
        shutil.rmtree(folder / name, ignore_errors=True)
    config = CONFIG.format(steps=steps, batch_tokens=batch_tokens, precision=precision, store=folder / "store")
    (folder / "run.toml").write_text(config, encoding="utf-8")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    model = str(folder / "model")
    times = timed([*torchrun, "-m", "weft", "train", str(folder / "run.toml"), "--out", model])
    lines = (folder / "model.run" / "reader" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    found = [entry for entry in map(json.loads, lines) if entry["kind"] == "step"]
    return {**times, "training_seconds": found[-1]["seconds"]}


def measure(options: argparse.Namespace, folder: Path) -> list[Measured]:
    """Return the points."""
    keep_orphans()
    prepare = [sys.executable, "-m", "weft", "prepare", str(options.data), "--vocabulary", "8000"]
    subprocess.run([*prepare, "--workers", "1", "--out", str(folder / "store")], check=True, capture_output=True)
    points = []
    for processes in options.processes:
        start = run_of(folder, processes, min(options.batches), 1, options.precision)
        for size in options.batches:
            steps = max(2, options.tokens // size)
            found = run_of(folder, processes, size, steps, options.precision)
            used = found["cpu_seconds"] - start["cpu_seconds"]
            tokens = steps * size - min(options.batches)
            points.append({
                "processes": processes, "batch_tokens": size, "steps": steps, **found,
                "tokens_per_cpu_second": tokens / used,
                "tokens_per_second": steps * size / found["training_seconds"],
                "load_after": os.getloadavg()[0],
            })  # fmt: skip
            print(points[-1], file=sys.stderr)
    return points


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--batches",
        nargs="+",
        type=int,
        default=[1500, 3000, 6000, 12000],
        help="tokens of a batch, of all processes together",
    )
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--tokens", type=int, default=24_000, help="of a run, about")
    parser.add_argument("--precision", default="bfloat16", choices=("float32", "bfloat16"))
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/training_curves.json"))
    options = parser.parse_args()
    record: Measured = {
        "benchmark": "training_curves",
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "weft": VERSION,
        "precision": options.precision,
        "load_at_start": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory() as folder:
        record["points"] = measure(options, Path(folder))
    with write_atomically(options.out) as file:
        file.write((json.dumps(record, indent=1) + "\n").encode())
    json.dump(record, sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
