"""Attack weft with hostile inputs: files of all formats, commands, calls of the Python API and model folders.

    python -m benchmarks.attack --inputs 20000 --seed 1 [--workers 2] [--out results/benchmarks/attack.json]
    python -m benchmarks.attack --seed 1 --only 1234        # one input again, with its traceback

No input may cause a traceback, an exit code other than 0, 2, 130, 141 and 143, a number that is not finite, an error
that is not one short line, a hang (`SECONDS` of the processor, or `PATIENCE` of waiting) or too much memory (`MEMORY`).
Each input depends on the seed and on its number alone. Inputs run one after the other in worker processes with bounded
memory; a worker that hangs or dies is replaced, and its input is a fault. Exits with 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import logging
import os
import platform
import random
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
from benchmarks.hostile_calls import ALLOWED_CODES, Fault, strike, target_of, targets

from weft.io.atomic_files import write_atomically
from weft.registry import DEFAULT_MODEL
from weft.version import VERSION

SECONDS = 60  # of the processor: an input that takes more is a hang. A busy machine makes no input a hang
PATIENCE = 600  # seconds on the clock: an input that waits so long is a hang as well
MEMORY = 4 * 2**30  # bytes that a worker may allocate
SHARD = 400  # inputs of one worker, after which its memory is given back
MOST_LISTED = 200  # faults in the report
Record = dict[str, Any]

# One input ------------------------------------------------------------------------------------------------------------


def strike_number(seed: int, number: int) -> Record:
    """Run one input in a folder of its own, and return how it ended."""
    rng = random.Random(f"{seed}:{number}")
    target = target_of(rng)
    record: Record = {"number": number, "target": target}
    before, start, here = _peak(), _processor_seconds(), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="weft-attack-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            done = strike(target, rng, Path(folder))
            record |= {"end": done.end, "code": done.code, "what": done.what}
        except Fault as fault:
            record |= {"end": "fault", "fault": str(fault)[:1000]}
        except (Exception, KeyboardInterrupt):
            record |= {"end": "fault", "fault": traceback.format_exc()[-3000:]}
        finally:
            os.chdir(here)
    return {**record, "seconds": _processor_seconds() - start, "grown": _peak() - before, "peak": _peak()}


def _processor_seconds() -> float:
    """Return the seconds of the processor that this process and those it has started and waited for have used."""
    return sum(os.times()[:4])


def _peak() -> int:
    """Return the largest number of bytes that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def work(seed: int, numbers: Iterable[int]) -> None:
    """Run inputs one after the other; write a line before and after each to stdout."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # commands may write to it directly
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    logging.disable()
    warnings.simplefilter("ignore")
    for number in numbers:
        print(json.dumps({"start": number}), file=answers, flush=True)
        print(json.dumps(strike_number(seed, number)), file=answers, flush=True)
        if number % 50 == 0:
            gc.collect()


# Workers --------------------------------------------------------------------------------------------------------------


def run_shard(seed: int, numbers: range) -> list[Record]:
    """Run inputs in workers, and return one record for each of them."""
    records: list[Record] = []
    while len(records) < len(numbers):
        records += run_worker(seed, numbers[len(records) :])
        last = records[-1]
        print(f"\r{last['number']} {last['target']:30}", end="", file=sys.stderr, flush=True)
    return records


def run_worker(seed: int, numbers: range) -> list[Record]:
    """Run inputs in one worker up to the end, or up to one that makes it hang or die."""
    words = [sys.executable, "-m", "benchmarks.attack", "--seed", str(seed), "--work"]
    words += [str(numbers.start), str(numbers.stop)]
    records: list[Record] = []
    with tempfile.TemporaryFile() as errors:
        worker = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, cwd=Path(__file__).parents[1])
        try:
            records += _answers(worker)
        except TimeoutError as hang:
            records.append(_lost(seed, numbers[len(records)], f"a hang: {hang}"))
        finally:
            worker.kill()
            code = worker.wait()
            if worker.stdout is not None:
                worker.stdout.close()
        if not records or (len(records) < len(numbers) and records[-1]["end"] != "fault"):
            errors.seek(0)
            tail = errors.read().decode("utf-8", "replace")[-1500:]
            records.append(_lost(seed, numbers[len(records)], f"the worker died with code {code}: {tail}"))
    return records


def _answers(worker: subprocess.Popen[bytes]) -> Iterator[Record]:
    """Yield the records of a worker; raise TimeoutError if it works or waits too long for one."""
    assert worker.stdout is not None
    process, pending = psutil.Process(worker.pid), b""
    while True:
        _await_answer(worker.stdout.fileno(), process)
        chunk = os.read(worker.stdout.fileno(), 2**16)
        if not chunk:
            return
        *lines, pending = (pending + chunk).split(b"\n")
        yield from (record for line in lines if "start" not in (record := json.loads(line)))


def _await_answer(answers: int, process: psutil.Process) -> None:
    """Return when there is something to read; raise TimeoutError if the process works or waits too long before."""
    start, used = time.monotonic(), _used(process)
    while not select.select([answers], [], [], min(SECONDS, 5))[0]:
        if _used(process) - used > SECONDS:
            raise TimeoutError(f"no end after {SECONDS} seconds of the processor")
        if time.monotonic() - start > PATIENCE:
            raise TimeoutError(f"no end after {PATIENCE} seconds")


def _used(process: psutil.Process) -> float:
    """Return the seconds of the processor that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def _lost(seed: int, number: int, why: str) -> Record:
    target = target_of(random.Random(f"{seed}:{number}"))
    return {"number": number, "target": target, "end": "fault", "fault": why, "seconds": 0.0, "grown": 0, "peak": 0}


# Report ---------------------------------------------------------------------------------------------------------------


def report(records: list[Record], *, seed: int, seconds: float) -> Record:
    """Return counts by target, exit codes, the slowest input, the peak of memory, and all faults."""
    ends: defaultdict[str, Counter[str]] = defaultdict(Counter)
    codes: Counter[str] = Counter()
    for record in records:
        ends[record["target"]][record["end"]] += 1
        if record.get("code") is not None:
            codes[str(record["code"])] += 1
    faults = [record for record in records if record["end"] == "fault"]
    shown = ("number", "target", "what", "seconds", "grown")
    return {
        "benchmark": "attack",
        "command": f"python -m benchmarks.attack --inputs {len(records)} --seed {seed}",
        "seed": seed,
        "model": DEFAULT_MODEL,
        "inputs": len(records),
        "faults": len(faults),
        "by_target": {name: {"inputs": ends[name].total(), **_counted(ends[name])} for name in targets()},
        "exit_codes": dict(sorted(codes.items(), key=lambda item: int(item[0]))),
        "allowed_codes": list(ALLOWED_CODES),
        "limits": {"processor_seconds": SECONDS, "seconds": PATIENCE, "memory_bytes": MEMORY},
        "slowest": _shown(max(records, key=lambda one: one["seconds"]), shown),
        "most_memory": _shown(max(records, key=lambda one: one["grown"]), shown),
        "peak_bytes": max(record["peak"] for record in records),
        "seconds": seconds,
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()},
        "weft": VERSION,
        "listed_faults": [_shown(one, ("number", "target", "fault")) for one in faults[:MOST_LISTED]],
    }


def _counted(ends: Counter[str]) -> dict[str, int]:
    return {end: ends[end] for end in ("read", "refused", "fault")}


def _shown(record: Record, keys: Iterable[str]) -> Record:
    return {key: record.get(key, "") for key in keys}


def summary(found: Record) -> Iterator[str]:
    """Yield the lines of a report for people."""
    yield f"{'target':24}{'inputs':>8}{'read':>8}{'refused':>9}{'faults':>8}"
    for name, counts in found["by_target"].items():
        yield f"{name:24}{counts['inputs']:8}{counts['read']:8}{counts['refused']:9}{counts['fault']:8}"
    yield f"exit codes: {', '.join(f'{code}: {count}' for code, count in found['exit_codes'].items())}"
    slowest, memory = found["slowest"], found["most_memory"]
    yield f"slowest: {slowest['seconds']:.1f} s of the processor, input {slowest['number']} ({slowest['target']})"
    yield f"most memory: {memory['grown'] / 2**20:.0f} MiB, input {memory['number']} ({memory['target']})"
    yield f"peak of a worker: {found['peak_bytes'] / 2**20:.0f} MiB; {found['seconds']:.0f} s in all"
    for fault in found["listed_faults"]:
        yield f"fault {fault['number']} ({fault['target']}): {fault['fault'].strip().splitlines()[-1][:300]}"
    yield f"{found['inputs']} inputs, {found['faults']} faults"


# Main -----------------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes at the same time")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/attack.json"))
    parser.add_argument("--only", type=int, help="run one input in this process, and write nothing")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def attack(inputs: int, seed: int, workers: int = 1) -> Record:
    """Run all inputs and return the report."""
    shards = [range(inputs)[first : first + SHARD] for first in range(0, inputs, SHARD)]
    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        records = [record for some in pool.map(lambda shard: run_shard(seed, shard), shards) for record in some]
    print(file=sys.stderr)
    return report(records, seed=seed, seconds=time.perf_counter() - start)


def main() -> int:
    """Run the attack, print the summary and write the report; return 1 if there is a fault."""
    options = arguments()
    if options.work:
        work(options.seed, range(*options.work))
        return 0
    if options.only is not None:
        record = strike_number(options.seed, options.only)
        print(json.dumps(record, indent=1) if "fault" not in record else record["fault"])
        return int(record["end"] == "fault")
    found = attack(options.inputs, options.seed, options.workers)
    print("\n".join(summary(found)))
    with write_atomically(options.out) as file:
        file.write((json.dumps(found, indent=1) + "\n").encode())
    return int(found["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
