"""`weft score --workers` and `--engine ray`: kills at random moments, speed-up, overhead and memory.

    python benchmarks/scale.py --parts kills speed memory --out results/benchmarks/scale.json

- kills: workers and drivers are killed at random moments; a killed command is given again. The files of every trial
  must be those of a run that nobody disturbed.
- speed: documents per second with one and with two workers, in processes and with Ray, and of plain `weft score` in one
  thread, by turns. Wall time depends on what else the machine does, so the load is recorded.
- memory: the memory of the workers and of the command while many documents are scored by a quick model;
  memory default: by the default model.

The documents are made of a small vocabulary with a seed; every part says how many there are, and which model it uses.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import psutil
except ModuleNotFoundError:
    sys.exit("psutil is not installed; next: pip install '.[dev]'")

from weft.io.atomic_files import write_atomically
from weft.version import VERSION

SPEEDUP_BARS = {"processes": 1.8, "ray": 1.7}
OVERHEAD_BAR, MEMORY_BAR = 1.15, 2**30
WORKERS_DIED = 2  # exit code of the command if its workers are killed again and again; it is given again then
FILES = 4
SHORT = (2, 3)  # sentences of the documents that show the memory
NAMES = ("the cat", "a farmer", "the river", "my sister", "the old house", "a ship", "the teacher", "this garden")
VERBS = ("sees", "remembers", "leaves", "follows", "repairs", "paints", "visits", "forgets", "finds")
PLACES = ("in the morning", "near the sea", "after the war", "with great care", "in winter", "at the market")
Measured = dict[str, Any]


def text_of(source: random.Random, sentences: int) -> str:
    """Return a text of short sentences."""
    parts = (
        f"{source.choice(NAMES).capitalize()} {source.choice(VERBS)} {source.choice(NAMES)} {source.choice(PLACES)}."
        for _ in range(sentences)
    )
    return " ".join(parts)


def write_documents(folder: Path, count: int, seed: int, sentences: tuple[int, int] = (3, 6)) -> list[str]:
    """Write documents of so many sentences, the least and the most, to JSONL files, and return the files."""
    folder.mkdir(exist_ok=True)
    source = random.Random(seed)
    paths = [folder / f"in-{number}.jsonl" for number in range(FILES)]
    for number, path in enumerate(paths):
        with path.open("w", encoding="utf-8") as file:
            for row in range(number, count, FILES):
                file.write(json.dumps({"id": f"d{row}", "text": text_of(source, source.randint(*sentences))}) + "\n")
    return list(map(str, paths))


def command_of(files: Sequence[str], out: Path, model: str, workers: int, engine: str) -> list[str]:
    """Return the command that scores the files."""
    options = ["--model", model, "--workers", str(workers), "--engine", engine, "--out", str(out)]
    return [sys.executable, "-m", "weft", "score", *files, *options]


def contents(folder: Path) -> str:
    """Return one hash of the names and bytes of all files of a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


# -- kills -----------------------------------------------------------------------------------------------------------


def worker_processes(driver: psutil.Process) -> list[psutil.Process]:
    """Return the processes that score for a driver."""
    found = []
    for child in driver.children(recursive=True):
        try:
            line = " ".join(child.cmdline())
        except psutil.Error:
            continue
        if "spawn_main" in line or "ray::_Worker" in line:
            found.append(child)
    return found


class Disturbed:
    """A command that is killed, or whose workers are, at random moments, and that is given again until it ends.

    Args:
        command: The command.
        kills: Number of kills.
        seconds: Time that the command takes if nobody disturbs it.
        source: Random numbers.
    """

    def __init__(self, command: list[str], kills: int, seconds: float, source: random.Random) -> None:
        self.command, self.kills, self.seconds, self.source = command, kills, seconds, source
        self.killed: list[str] = []

    def run(self) -> None:
        """Run the command to its end."""
        while True:
            with subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
                if self._disturb(child):
                    continue
                errors = child.stderr.read() if child.stderr else ""
            if not child.returncode:
                return
            if child.returncode != WORKERS_DIED or not self.killed:
                raise SystemExit(f"the command failed: {errors}")

    def _disturb(self, child: subprocess.Popen[str]) -> bool:
        """Kill something from time to time; return whether the command itself was killed."""
        while len(self.killed) < self.kills:
            try:
                child.wait(self.source.uniform(0.05, self.seconds / self.kills))
                return False
            except subprocess.TimeoutExpired:
                pass
            workers = worker_processes(psutil.Process(child.pid)) if self.source.random() < 0.5 else []
            if workers:
                self.killed.append("worker")
                self.source.choice(workers).send_signal(signal.SIGKILL)
            else:
                self.killed.append("driver")
                child.kill()
                return True
        child.wait()
        return False


def measure_kills(options: argparse.Namespace, folder: Path) -> Measured:
    """Return the trials, and whether the output was the same in all of them."""
    files = write_documents(folder, options.documents, options.seed)
    start = time.perf_counter()
    whole = folder / "whole"
    subprocess.run(command_of(files, whole, options.model, 2, options.engine), check=True, capture_output=True)
    seconds, expected = time.perf_counter() - start, contents(whole)
    manifest = json.loads((whole / "manifest.json").read_text())
    source, killed, trials = random.Random(options.seed), list[str](), list[Measured]()
    while len(killed) < options.kills:  # a trial may end before all its kills are done
        out = folder / f"trial-{len(trials)}"
        count = min(options.kills_per_trial, options.kills - len(killed))
        run = Disturbed(command_of(files, out, options.model, 2, options.engine), count, seconds, source)
        run.run()
        killed += run.killed
        trials.append({"killed": run.killed, "same_bytes": contents(out) == expected})
        print(f"trial {len(trials)}: {trials[-1]}", file=sys.stderr)
        shutil.rmtree(out)
    return {
        "documents": options.documents,
        "model": options.model,
        "engine": options.engine,
        "seconds_undisturbed": seconds,
        "totals": manifest["totals"],
        "kills": {"worker": killed.count("worker"), "driver": killed.count("driver")},
        "trials": trials,
        "passed": all(trial["same_bytes"] for trial in trials),
    }


# -- speed -----------------------------------------------------------------------------------------------------------


def keep_orphans() -> None:
    """Make this process the parent of all processes below it whose own parent ends, as those of Ray are (Linux)."""
    become_subreaper = 36
    ctypes.CDLL(None).prctl(become_subreaper, 1, 0, 0, 0)


def wait_for_orphans() -> None:
    """Wait until every process below this one has ended, so that its CPU seconds are counted."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0):
            pass


def timed(command: list[str], output: Path | None = None) -> Measured:
    """Return the wall seconds of a command, and the CPU seconds of all processes that it has started.

    CPU seconds of processes that Ray itself ends are missing in part.
    """
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before, start = os.times(), time.perf_counter()
    with (output or Path(os.devnull)).open("wb") as file:
        subprocess.run(command, check=True, env=one_thread, stdout=file, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    wait_for_orphans()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"seconds": seconds, "cpu_seconds": cpu}


def measure_speed(options: argparse.Namespace, folder: Path) -> Measured:
    """Return the times of plain `weft score` and of one and two workers, by turns, and their ratios.

    Every way also scores two documents, whose time is that of the start.
    """
    keep_orphans()
    ways = [(engine, workers) for engine in options.engines for workers in (1, 2)]
    names = ["plain", *(f"{engine} {workers}" for engine, workers in ways)]
    sets = {"start": write_documents(folder / "two", 2, options.seed)}
    sets["run"] = write_documents(folder / "all", options.speed_documents, options.seed)
    rounds = []
    for number in range(options.rounds):
        found: Measured = {}
        for part, files in sets.items():
            plain = [sys.executable, "-m", "weft", "score", *files, "--model", options.speed_model, "--format", "jsonl"]
            times = {"plain": timed(plain, folder / "plain.jsonl")}
            for engine, workers in ways:
                out = folder / f"{part}-{engine}-{workers}-{number}"
                times[f"{engine} {workers}"] = timed(command_of(files, out, options.speed_model, workers, engine))
            found[part] = times
        rounds.append({**found, "load_after": os.getloadavg()[0]})
        print(f"round {number + 1}: {rounds[-1]}", file=sys.stderr)
    medians = {
        part: {
            name: {key: statistics.median(one[part][name][key] for one in rounds) for key in ("seconds", "cpu_seconds")}
            for name in names
        }
        for part in sets
    }
    return {
        "documents": options.speed_documents,
        "model": options.speed_model,
        "rounds": rounds,
        "medians": medians,
        **speed_ratios(medians, options.engines),
    }


def speed_ratios(medians: Measured, engines: Sequence[str]) -> Measured:
    """Return the ratios of the bars: of whole commands, and without the start; by wall time and by CPU seconds.

    By CPU seconds, two workers are as much faster as two free cores would make them: twice, times the CPU seconds of
    one worker, through those of two.
    """
    found: Measured = {}
    for kind in ("seconds", "cpu_seconds"):
        whole = {name: one[kind] for name, one in medians["run"].items()}
        work = {name: seconds - medians["start"][name][kind] for name, seconds in whole.items()}
        cores = 2 if kind == "cpu_seconds" else 1
        for part, times in (("whole", whole), ("work", work)):
            speedups = {engine: cores * times[f"{engine} 1"] / times[f"{engine} 2"] for engine in engines}
            overheads = {engine: times[f"{engine} 1"] / times["plain"] for engine in engines}
            found[f"{part}_by_{kind}"] = {
                "speedup_of_two_workers": speedups,
                "time_of_one_worker_by_plain": overheads,
                "passed": {
                    **{f"speedup {engine}": speedups[engine] >= SPEEDUP_BARS[engine] for engine in engines},
                    **{f"overhead {engine}": overheads[engine] <= OVERHEAD_BAR for engine in engines},
                },
            }
    return found


# -- memory ----------------------------------------------------------------------------------------------------------


def measure_memory(options: argparse.Namespace, folder: Path) -> Measured:
    """Return the memory while very many documents are scored by a quick model."""
    files = write_documents(folder, options.memory_documents, options.seed, SHORT)
    return memory_of(options.model, options.memory_documents, files, folder)


def measure_default_memory(options: argparse.Namespace, folder: Path) -> Measured:
    """Return the memory of the model whose speed is measured, with as many documents."""
    files = write_documents(folder, options.speed_documents, options.seed)
    return memory_of(options.speed_model, options.speed_documents, files, folder)


def memory_of(model: str, documents: int, files: Sequence[str], folder: Path) -> Measured:
    """Return the largest memory of a worker, and of the command itself, in every tenth of a run."""
    start, samples = time.perf_counter(), []
    command = command_of(files, folder / "memory", model, 2, "processes")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as child:
        driver = psutil.Process(child.pid)
        while child.poll() is None:
            try:
                workers = [worker.memory_info().rss for worker in worker_processes(driver)]
                samples.append((time.perf_counter() - start, driver.memory_info().rss, max(workers, default=0)))
            except psutil.Error:
                pass
            time.sleep(0.25)
    total = samples[-1][0]
    tenths = [[one for one in samples if tenth <= 10 * one[0] / total <= tenth + 1] for tenth in range(10)]
    workers = [max(one[2] for one in part) for part in tenths if part]
    driver_bytes = [max(one[1] for one in part) for part in tenths if part]
    return {
        "documents": documents,
        "model": model,
        "seconds": total,
        "worker_bytes_by_tenth": workers,
        "driver_bytes_by_tenth": driver_bytes,
        "growth_after_first_half": max(workers[5:]) / max(workers[:5]),
        "driver_growth_after_first_half": max(driver_bytes[5:]) / max(driver_bytes[:5]),
        "passed": max(workers) < MEMORY_BAR,
    }


def machine() -> Measured:
    """Return what the numbers depend on."""
    return {
        "cores": os.cpu_count(),
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "weft": VERSION,
        "load_at_start": os.getloadavg()[0],
    }


PARTS = {
    "kills": measure_kills,
    "speed": measure_speed,
    "memory": measure_memory,
    "memory default": measure_default_memory,
}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--documents", type=int, default=100_000, help="documents of every trial with kills")
    parser.add_argument("--kills", type=int, default=20, help="number of kills in all trials together")
    parser.add_argument("--kills-per-trial", type=int, default=5)
    parser.add_argument("--engine", default="processes", help="engine that is disturbed")
    parser.add_argument("--model", default="foltz-glove", help="model of kills and memory")
    parser.add_argument("--speed-documents", type=int, default=2000)
    parser.add_argument("--speed-model", default="weft-reader")
    parser.add_argument("--engines", nargs="+", default=["processes", "ray"], help="engines whose speed is measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-documents", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/scale.json"))
    return parser.parse_args()


def main() -> int:
    """Measure the parts and write them beside those that the file already has."""
    options = arguments()
    record: Measured = json.loads(options.out.read_text()) if options.out.is_file() else {}
    record |= {"benchmark": "scale", "seed": options.seed}
    for part in options.parts:
        with tempfile.TemporaryDirectory() as folder:
            record[part] = {"machine": machine(), **PARTS[part](options, Path(folder))}
        with write_atomically(options.out) as file:
            file.write((json.dumps(record, indent=1) + "\n").encode())
    json.dump({part: record[part] for part in options.parts}, sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
