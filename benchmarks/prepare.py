"""Speed of `weft prepare` beside bare `tokenizers.encode_batch` on the same text, and its peak memory.

    python benchmarks/prepare.py --data DIR [--shards 1] [--rounds 2] --out results/benchmarks/prepare.json

`DIR` holds ``train-00.jsonl.xz`` and so on. The bare rate has the text in memory already and uses every core; the rate
of `weft prepare` includes decompressing, parsing and writing. Both are measured by turns in one run with one tokenizer.
Wall time depends on what else the machine does, so every round is reported together with its CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import tokenizers
from tokenizers import Tokenizer as BareTokenizer

try:
    import psutil
except ModuleNotFoundError:
    sys.exit("psutil is not installed; next: pip install '.[dev]'")

from weft.corpora.text.tokenizers import BpeTokenizer
from weft.io.cpu_cores import usable_cores
from weft.version import VERSION

RATIO_BAR = 0.60
MEMORY_BAR = 1.5 * 2**30
BATCH = 10_000
TRAINING_SENTENCES = 100_000

# Runs in a process of its own, so that the text held in memory for the bare rate does not count as its memory.
CHILD = """
import json, resource, sys, time
from weft.corpora.store.prepare import prepare
options = json.loads(sys.argv[1])
start = time.perf_counter()
inputs, out = options.pop("inputs"), options.pop("out")
# A few paragraphs of the research data overlap with the held-out ones; they are dropped and counted.
store = prepare(inputs, out, drop_overlap=True, **options)
seconds = time.perf_counter() - start
usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
cpu = sum(part.ru_utime + part.ru_stime for part in usage)
print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, **store.info.counts}))
"""


def read_sentences(shards: Sequence[Path]) -> list[str]:
    """Return every sentence of some shards of articles."""
    sentences: list[str] = []
    for shard in shards:
        with lzma.open(shard, "rt", encoding="utf-8") as lines:
            for line in lines:
                for paragraph in json.loads(line)["paragraphs"]:
                    sentences.extend(paragraph)
    return sentences


def bare_rate(path: Path, sentences: Sequence[str], megabytes: float) -> dict[str, float]:
    """Return the rate of the library alone, in batches, on every core."""
    tokenizer = BareTokenizer.from_file(str(path))
    start, cpu = time.perf_counter(), time.process_time()
    tokens = 0
    for i in range(0, len(sentences), BATCH):
        tokens += sum(map(len, tokenizer.encode_batch(sentences[i : i + BATCH], add_special_tokens=False)))
    seconds = time.perf_counter() - start
    cpu = time.process_time() - cpu
    rate = megabytes / seconds
    return {"seconds": seconds, "cpu_seconds": cpu, "megabytes_per_second": rate, "tokens": tokens}


def memory_of_tree(process: psutil.Process) -> int:
    """Return the bytes of a process and its children; shared pages are divided among the processes."""
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            memory = member.memory_full_info()
        except psutil.Error:  # it has ended or is just starting
            continue
        total += getattr(memory, "pss", 0) or memory.uss
    return total


def prepare_apart(
    shards: Sequence[Path], tokenizer: Path, out: Path, held_out: Sequence[Path] = ()
) -> tuple[dict[str, Any], int]:
    """Prepare in a new process and return its counts and the peak memory of it and its workers together."""
    options = {
        "inputs": [str(shard) for shard in shards],
        "out": str(out),
        "tokenizer": str(tokenizer),
        "held_out": [str(path) for path in held_out],
    }
    command = [sys.executable, "-c", CHILD, json.dumps(options)]
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        watched = psutil.Process(child.pid)
        while child.poll() is None:
            try:
                peak = max(peak, memory_of_tree(watched))
            except psutil.NoSuchProcess:
                break
            time.sleep(0.1)
        output = child.stdout.read() if child.stdout else ""
    if child.returncode:
        raise SystemExit(f"prepare failed with exit code {child.returncode}")
    result: dict[str, Any] = json.loads(output)
    return result, peak


def measure_round(shards: Sequence[Path], out: Path, tokenizer: Path, sentences: Sequence[str]) -> dict[str, Any]:
    """Return the bare rate, the rate of `weft prepare` and their ratio."""
    megabytes = sum(len(sentence.encode()) for sentence in sentences) / 1e6
    bare = bare_rate(tokenizer, sentences, megabytes)
    ours, _ = prepare_apart(shards, tokenizer, out)
    if ours["tokens"] != bare["tokens"]:
        raise SystemExit(f"different numbers of tokens: {ours['tokens']} and {bare['tokens']}")
    ours["megabytes_per_second"] = megabytes / ours["seconds"]
    return {
        "megabytes": megabytes,
        "bare": bare,
        "prepare": ours,
        "ratio": bare["seconds"] / ours["seconds"],
        "cpu_ratio": bare["cpu_seconds"] / ours["cpu_seconds"],
        "load_after": os.getloadavg()[0],
    }


def measure_speed(shards: Sequence[Path], folder: Path, tokenizer: Path, rounds: int) -> dict[str, Any]:
    """Return the rounds, and whether the worst of them passes the bar."""
    sentences = read_sentences(shards)
    BpeTokenizer.train(sentences[:TRAINING_SENTENCES]).save(tokenizer)
    measured = [measure_round(shards, folder / f"speed-{i}", tokenizer, sentences) for i in range(rounds)]
    ratios = [measurement["ratio"] for measurement in measured]
    return {
        "rounds": measured,
        "ratio_median": statistics.median(ratios),
        "ratio_worst": min(ratios),
        "ratio_bar": RATIO_BAR,
        "ratio_passes": min(ratios) >= RATIO_BAR,
    }


def measure_memory(shards: Sequence[Path], folder: Path, tokenizer: Path, held_out: Sequence[Path]) -> dict[str, Any]:
    """Return the peak memory of the main process and all workers."""
    result, peak = prepare_apart(shards, tokenizer, folder / "memory", held_out)
    return {
        "shards": len(shards),
        **result,
        "peak_bytes": peak,
        "peak_bar_bytes": int(MEMORY_BAR),
        "peak_passes": peak < MEMORY_BAR,
    }


def machine() -> dict[str, Any]:
    """Return the versions and the machine that the numbers depend on."""
    return {
        "cores": usable_cores(),
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "tokenizers": tokenizers.__version__,
        "weft": VERSION,
        "load_at_start": os.getloadavg()[0],
    }


def save(path: Path, result: dict[str, Any]) -> None:
    """Write the results so far, so that they survive the failure of a later part."""
    text = json.dumps(result, indent=1) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(text)


def main() -> None:
    """Measure, print the results and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--shards", type=int, default=1, help="number of shards for the comparison of speed")
    parser.add_argument("--rounds", type=int, default=2, help="number of rounds")
    parser.add_argument("--memory-shards", type=int, default=5, help="number of shards for peak memory; 0 skips it")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    shards = sorted(arguments.data.glob("train-*.jsonl.xz"))
    held_out = sorted(arguments.data.glob("*.paragraphs.jsonl"))
    # Nothing is random here; the seed is recorded because every result of weft records one.
    result: dict[str, Any] = {"benchmark": "prepare", "seed": 0, "machine": machine()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer = folder / "tokenizer.json"
        result["speed"] = measure_speed(shards[: arguments.shards], folder, tokenizer, arguments.rounds)
        save(arguments.out, result)
        if arguments.memory_shards:
            chosen = shards[: arguments.memory_shards]
            result["memory"] = measure_memory(chosen, folder, tokenizer, held_out)
            save(arguments.out, result)


if __name__ == "__main__":
    main()
