"""CPU-seconds and memory of scoring and ordering against the length and the number of texts, in one thread.

    python benchmarks/cost_curves.py --data $WEFT_DATA/wikipedia/dev.jsonl.xz --out results/benchmarks/cost_curves.json

Texts of N sentences are cut from the articles of the data. Every point is the best of some rounds, because other work
on the machine only slows down. The exponent is the slope of log(time) against log(size) over the upper half of the
sizes: 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})  # before numpy is imported

import numpy as np

from weft.corpora.readers.formats import read_documents
from weft.document import Document
from weft.io.atomic_files import write_atomically
from weft.loaded_model import Model, load
from weft.version import VERSION

Measured = dict[str, Any]
TEXTS = 8  # of each length


def sentences_of(path: Path, count: int) -> list[str]:
    """Return sentences of the data, in their order."""
    stream = (sentence for document in read_documents(path) for sentence in document.sentences)
    return list(islice(stream, count))


def texts(sentences: Sequence[str], size: int, count: int, skip: int) -> list[Document]:
    """Return texts of a size, each of other sentences, beginning after some; none is given to a model twice."""
    found = []
    for number in range(count):
        start = (skip + number * size) % (len(sentences) - size)
        found.append(Document(f"t{skip}-{number}", tuple(sentences[start : start + size])))
    return found


def best_seconds(work: Callable[[int], object], rounds: int) -> float:
    """Return the least CPU seconds of some rounds; each gets its number."""
    taken = []
    for number in range(rounds):
        start = time.process_time()
        work(number)
        taken.append(time.process_time() - start)
    return min(taken)


def exponent(points: Sequence[Measured], size: str) -> float:
    """Return the slope of log(time) against log(size) over the upper half of the points."""
    upper = points[len(points) // 2 :]
    slope = np.polyfit(np.log([one[size] for one in upper]), np.log([one["cpu_seconds"] for one in upper]), 1)[0]
    return float(slope)


def forget_peak() -> None:
    """Make Linux forget the largest memory of this process so far."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the largest memory of this process since `forget_peak`."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def point(size: str, count: int, work: Callable[[int], object], rounds: int) -> Measured:
    """Return a point of a curve: its size, and the CPU seconds and the memory of some work."""
    forget_peak()
    return {size: count, "cpu_seconds": best_seconds(work, rounds), "peak_bytes": peak_bytes()}


def score_texts(model: Model, sentences: Sequence[str], size: int, count: int, number: int) -> object:
    """Score texts of a size, other ones in every round."""
    return model.score(texts(sentences, size, count, 7919 * (number + 1)))


def order_text(model: Model, sentences: Sequence[str], size: int, number: int) -> object:
    """Order a text of a size, another one in every round."""
    return model.order(texts(sentences, size, 1, 104_729 * (number + 1)))


def curve(model: Model, sentences: Sequence[str], options: argparse.Namespace) -> Measured:
    """Return the curves of one model."""
    model.score(texts(sentences, 8, 4, 0))  # loads what is loaded late
    lengths = [
        point("sentences", size, partial(score_texts, model, sentences, size, TEXTS), options.rounds)
        for size in options.lengths
    ]
    for one in lengths:
        one["cpu_seconds"] /= TEXTS
    numbers = [
        point("documents", count, partial(score_texts, model, sentences, 16, count), options.rounds)
        for count in options.numbers
    ]
    orders = [
        point("sentences", size, partial(order_text, model, sentences, size), options.rounds)
        for size in options.order_lengths
    ]
    last = numbers[-1]
    return {
        "score_by_length": lengths,
        "score_by_number": numbers,
        "order_by_length": orders,
        "exponents": {
            "score_by_length": exponent(lengths, "sentences"),
            "score_by_number": exponent(numbers, "documents"),
            "order_by_length": exponent(orders, "sentences"),
        },
        "sentences_per_cpu_second": 16 * last["documents"] / last["cpu_seconds"],
    }


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=["weft-reader", "foltz-glove"])
    parser.add_argument("--lengths", nargs="+", type=int, default=[4, 8, 16, 32, 64, 128, 256])
    parser.add_argument("--numbers", nargs="+", type=int, default=[8, 16, 32, 64, 128, 256])
    parser.add_argument("--order-lengths", nargs="+", type=int, default=[4, 8, 16, 32, 64])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/cost_curves.json"))
    return parser.parse_args()


def main() -> int:
    """Measure, print and write the curves."""
    options = arguments()
    sentences = sentences_of(options.data, 40_000)
    record: Measured = {
        "benchmark": "cost_curves",
        "seed": 0,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "weft": VERSION,
        "load_at_start": os.getloadavg()[0],
        "data": options.data.name,
        "models": {name: curve(load(name, device="cpu"), sentences, options) for name in options.models},
        "load_at_end": os.getloadavg()[0],
    }
    with write_atomically(options.out) as file:
        file.write((json.dumps(record, indent=1) + "\n").encode())
    json.dump(record, sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
