"""Hours and cost of large datasets from measured rates, and a simulation of slow and failing machines.

    python benchmarks/cluster.py --rates results/benchmarks/cost_curves.json --out results/benchmarks/cluster.json

Nothing is measured here. The rate of one core comes from `cost_curves.py`, and that of training on a GPU from
`training.py`; the sizes of the datasets, the prices and the behaviour of machines are assumptions, which the file
records. The simulation hands out blocks as
`weft score` does: a worker gets the next block when it is free, blocks take random times (lognormal), a worker fails
at random (exponential), loses its block, and comes back after a while.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
import statistics
import sys
from collections import deque
from pathlib import Path
from typing import Any

from weft.io.atomic_files import write_atomically

# Sentences per Wikipedia article are those of the research data (README of the data): 3,561,000 in 126,234 pages.
DATASETS = {
    "English Wikipedia": {"documents": 7_000_000, "sentences": 28.2},
    "1 billion documents": {"documents": 1_000_000_000, "sentences": 16.0},
}
TRAINING_SENTENCES, TOKENS_OF_SENTENCE = 30_000_000, 31.5  # tokens as in the research data: 112 million in 3,561,000
SENTENCES = 16  # of a document of the simulation
CORES = 16  # of a machine
MACHINES = (1, 10, 100)
Measured = dict[str, Any]


def arithmetic(rate: float, options: argparse.Namespace) -> Measured:
    """Return hours and cost of every dataset, without failures.

    Args:
        rate: Sentences per core and second.
        options: The price of a core.
    """
    found: Measured = {}
    for name, size in DATASETS.items():
        core_hours = size["documents"] * size["sentences"] / rate / 3600
        found[name] = {
            "core_hours": core_hours,
            "hours": {str(machines): core_hours / (machines * CORES) for machines in MACHINES},
            "cost": core_hours * options.price,
            "cost_per_million_documents": core_hours * options.price / size["documents"] * 1e6,
            "output_shards": math.ceil(size["documents"] / options.block),
        }
    return found


def training(rates: Measured, options: argparse.Namespace) -> Measured:
    """Return the hours of one pass over the training sentences, for every device whose rate was measured.

    Args:
        rates: The file of `training.py`.
        options: The price of a GPU.
    """
    tokens = TRAINING_SENTENCES * TOKENS_OF_SENTENCE
    found: Measured = {"sentences": TRAINING_SENTENCES, "tokens": tokens, "devices": {}}
    for device in ("cuda", "cpu"):
        one = rates[device]
        rate = statistics.median(entry["loop_tokens_per_second"] for entry in one["rounds"])
        hours = tokens / rate / 3600
        cost = {"cost": hours * options.gpu_price} if device == "cuda" else {}
        names = {"device": one["device"], "config": one["config"]}
        found["devices"][device] = {**names, "tokens_per_second": rate, "hours": hours, **cost}
    return found


def simulate(block_seconds: float, blocks: int, workers: int, options: argparse.Namespace) -> Measured:
    """Return how much longer a run takes than perfect workers would, and how much work is done twice."""
    source = random.Random(options.seed)
    mean_log = math.log(block_seconds) - options.spread**2 / 2  # so that the mean of the times is block_seconds
    waiting, lost, failures, end = deque(range(blocks)), 0.0, 0, 0.0
    free = [(0.0, worker) for worker in range(workers)]
    retries: list[tuple[float, int]] = []  # blocks that come back, by the time of the failure
    while waiting or retries:
        now, worker = heapq.heappop(free)
        while retries and retries[0][0] <= now:
            waiting.appendleft(heapq.heappop(retries)[1])
        if not waiting:
            heapq.heappush(free, (retries[0][0], worker))
            continue
        block = waiting.popleft()
        needed = source.lognormvariate(mean_log, options.spread)
        failure = source.expovariate(1 / (options.hours_between_failures * 3600))
        if failure < needed:
            failures, lost = failures + 1, lost + failure
            heapq.heappush(retries, (now + failure, block))
            heapq.heappush(free, (now + failure + options.replacement_seconds, worker))
        else:
            end = max(end, now + needed)
            heapq.heappush(free, (now + needed, worker))
    ideal = blocks * block_seconds / workers
    return {
        "workers": workers,
        "blocks": blocks,
        "block_seconds": block_seconds,
        "ideal_hours": ideal / 3600,
        "hours": end / 3600,
        "longer_by": end / ideal - 1,
        "failures": failures,
        "work_done_twice": lost / (blocks * block_seconds),
    }


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=Path, default=Path("results/benchmarks/cost_curves.json"))
    parser.add_argument("--training-rates", type=Path, default=Path("results/benchmarks/training.json"))
    parser.add_argument("--gpu-price", type=float, default=4.0, help="of a GPU and hour, in dollars")
    parser.add_argument("--price", type=float, default=0.04, help="of a core and hour, in dollars")
    parser.add_argument("--block", type=int, default=10_000, help="documents of a block")
    parser.add_argument("--small-block", type=int, default=1_000, help="documents of a block, to compare")
    parser.add_argument("--spread", type=float, default=0.5, help="standard deviation of log(seconds of a block)")
    parser.add_argument("--hours-between-failures", type=float, default=24.0, help="mean, for one worker")
    parser.add_argument("--replacement-seconds", type=float, default=120.0)
    parser.add_argument("--documents", type=int, default=10_000_000, help="documents of the simulated run")
    parser.add_argument("--workers", nargs="+", type=int, default=[16, 160, 1600])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/cluster.json"))
    return parser.parse_args()


def main() -> int:
    """Compute, print and write."""
    options = arguments()
    rates = {
        name: one["sentences_per_cpu_second"] for name, one in json.loads(options.rates.read_text())["models"].items()
    }
    names = (
        "price",
        "gpu_price",
        "block",
        "small_block",
        "spread",
        "hours_between_failures",
        "replacement_seconds",
        "documents",
    )
    record: Measured = {
        "benchmark": "cluster",
        "seed": options.seed,
        "assumptions": {**{name: vars(options)[name] for name in names}, "cores": CORES, "datasets": DATASETS},
        "training": training(json.loads(options.training_rates.read_text()), options),
        "models": {},
    }
    for name, rate in rates.items():
        record["models"][name] = {
            "sentences_per_core_second": rate,
            "datasets": arithmetic(rate, options),
            "simulation": [
                simulate(block * SENTENCES / rate, options.documents // block, workers, options)
                for block in (options.block, options.small_block)
                for workers in options.workers
            ],
        }
    with write_atomically(options.out) as file:
        file.write((json.dumps(record, indent=1) + "\n").encode())
    json.dump(record, sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
