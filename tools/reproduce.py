"""Compute published results again and compare their metrics.

    python tools/reproduce.py --count 20 --seed 17            # 20 results drawn at random
    python tools/reproduce.py --results wikipedia-pairs/foltz-glove.json accidents/foltz-lda.json
    python tools/reproduce.py --count 20 --seed 17 --list     # only name them

Every result in ``results/`` records the command that made it. This script runs that command again with another output
folder and compares all metrics. Results of models that are not in this repository (other language models, trainings
whose weights were not kept) are left out of the draw and counted.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
SKIPPED = ("training", "benchmarks")
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Published:
    """One published result: its file below ``results/`` and what the file holds."""

    name: str
    content: dict[str, Any]

    @property
    def command(self) -> list[str]:
        """The recorded command without the leading ``weft``."""
        return shlex.split(self.content.get("command", ""))[1:]

    @property
    def model(self) -> str:
        """The model as the command names it: a name or a folder."""
        words = self.command
        places = [number for number, word in enumerate(words) if word in {"-m", "--model"}]
        return words[places[0] + 1] if places else str(self.content["model"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the commands of the chosen results and print one line for each result."""
    options = _options(arguments)
    known = list(read_results())
    possible = [one for one in known if _can_run(one)]
    chosen = _chosen(possible, options)
    print(f"{len(known)} results, {len(possible)} of models at hand, {len(chosen)} chosen (seed {options.seed})")
    if options.list:
        for one in chosen:
            print(f"{one.name}: weft {shlex.join(one.command)}")
        return 0
    differing = sum(not _reproduced(group, options.device) for group in _by_command(chosen))
    print(f"{differing} commands gave other metrics" if differing else "all metrics are equal")
    return 1 if differing else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compute published results again and compare their metrics.")
    parser.add_argument("--count", type=int, default=20, help="number of results to draw")
    parser.add_argument("--seed", type=int, default=17, help="seed of the draw")
    parser.add_argument("--results", nargs="*", default=[], help="results by name instead of a draw")
    parser.add_argument("--task", nargs="*", default=[], help="draw only from these folders of results/")
    parser.add_argument("--device", default="", help="auto, cpu or cuda; omit for the command's own")
    parser.add_argument("--list", action="store_true", help="only name the results")
    return parser.parse_args(arguments)


def read_results() -> Iterable[Published]:
    """All published results, sorted by name."""
    for path in sorted(RESULTS.glob("*/*.json")):
        if path.parent.name not in SKIPPED:
            yield Published(f"{path.parent.name}/{path.name}", json.loads(path.read_text(encoding="utf-8")))


def _can_run(one: Published) -> bool:
    """Whether the command needs nothing that this repository does not hold."""
    words = " ".join(one.command)
    if not one.command or one.command[0] != "evaluate" or "models/" in words:
        return False
    return one.model != "hf" and (not one.model.startswith("zoo/") or (ROOT / one.model).is_dir())


def _chosen(possible: list[Published], options: argparse.Namespace) -> list[Published]:
    if options.results:
        return [one for one in possible if one.name in options.results]
    possible = [one for one in possible if not options.task or one.name.split("/")[0] in options.task]
    return sorted(random.Random(options.seed).sample(possible, options.count), key=lambda one: one.name)


def _by_command(chosen: Sequence[Published]) -> list[list[Published]]:
    """Results that one command made are computed once."""
    groups: dict[str, list[Published]] = {}
    for one in chosen:
        groups.setdefault(shlex.join(one.command), []).append(one)
    return list(groups.values())


def _reproduced(group: Sequence[Published], device: str) -> bool:
    command = [sys.executable, "-m", "weft", *group[0].command]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        extra = ["--out", place, *(["--device", device] if device else [])]
        done = subprocess.run([*command, *extra], cwd=ROOT, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - started
        if done.returncode:
            print(f"FAILED  {shlex.join(group[0].command)}: {done.stderr.strip().splitlines()[-1:]}")
            return False
        equal = [_compared(one, Path(place), seconds) for one in group]  # every line is printed
        return all(equal)


def _compared(one: Published, place: Path, seconds: float) -> bool:
    again = json.loads((place / one.name).read_text(encoding="utf-8"))["metrics"]
    before = one.content["metrics"]
    odd = [name for name in {**before, **again} if not _equal(before.get(name), again.get(name))]
    worst = f"  {odd[0]}: {before.get(odd[0])} before, {again.get(odd[0])} now" if odd else ""
    print(f"{'DIFFERS' if odd else 'equal  '}  {one.name}  {len(before)} metrics, {seconds:.0f} s{worst}", flush=True)
    return not odd


def _equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
