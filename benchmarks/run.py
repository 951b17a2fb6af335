"""weft beside its peers: accuracy, speed, memory, size and start-up, on the same documents in one run.

    python -m benchmarks.run --data $WEFT_DATA --limit 20 --out results/benchmarks/peers.json

Every scorer runs in an environment of its own, which this script builds with pip (`peers/environments.py`), in one
thread. The tasks are those of `weft evaluate`, with the same negatives for all scorers:

- pairs: the text against random orders of it; swaps: against copies with a few sentences exchanged;
- intruder: find a sentence of another text; the links of the scorer point at it, or else the removal that helps most;
- order: restore the order, τ with nothing given. A peer gives the score of every pair of sentences as a text of two
  sentences, and the search of weft does the rest; a model of weft orders as `weft order` does.

Documents per CPU-second include everything from the text to the score. Start-up is the time from the start of the
process to its first score, and includes loading the model. A document is an excerpt of `--limit` texts of every set,
evenly spread over the set. Accuracies have 95% intervals by bootstrap. ``--weft all`` measures every model of weft
that is found and is not for one domain.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that this file can also be started by its path

from benchmarks.peers.environments import (
    HERE,
    PEERS,
    Scorer,
    install_bytes,
    plain_environment,
    prepare_environments,
    python_of,
    weft_scorer,
)

from weft.document import Document, Score
from weft.errors import WeftError
from weft.evaluation.metrics import bootstrap_interval, paired_bootstrap, ratio
from weft.evaluation.result import Measure
from weft.evaluation.sets.data_sets import DATA_SETS
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.evaluation.tasks import TASKS
from weft.hub import known_models
from weft.io.atomic_files import write_atomically
from weft.loaded_model import load
from weft.progress import silent
from weft.version import VERSION

SETS = ("wikipedia", "genres")
PERMUTATIONS = {"pairs": 1, "swaps": 5}  # negatives of a text; five are one of each number of swaps
MEASURES = {  # of every task: name in the table, name of the measure
    "pairs": {"pairs": "accuracy"},
    "swaps": {"swaps": "accuracy", "neighbours": "neighbours"},
    "intruder": {"intruder": "stranger"},
    "order": {"order τ": "free_tau"},
}
WARM_UP = 5  # texts of every set that are scored before the speed is measured
AT_ONCE = 32  # texts of one request
SAME = 0.01  # largest difference between the scores of a scorer and of its twin, in nats per token
DOMAINS = ("-accidents", "-earthquakes")
NOT_ROWS = ("random", "year-sort", "opening", "hf", "foltz-embedding")  # chance, and models that are the peers
Measured = dict[str, Any]
Tasks = dict[str, Measure | None]


# -- scorers -------------------------------------------------------------------------------------------------------


class RunningScorer(AbstractContextManager["RunningScorer"]):
    """A scorer in its own process, as a model that weft's tasks can evaluate; texts that are known are not sent again.

    Args:
        scorer: The scorer.
        folder: The folder of the environments.
        data: The folder of the research data.
    """

    def __init__(self, scorer: Scorer, folder: Path, data: Path) -> None:
        argument = scorer.argument or str(scorer.place(folder) / "trained")
        command = [str(python_of(scorer, folder)), str(HERE / "harness.py")]
        command += [str(HERE / f"{scorer.file}.py"), str(data), argument]
        self.log = folder / f"{scorer.file}{'-' if scorer.argument else ''}{scorer.argument.replace(':', '-')}.log"
        self.known: dict[tuple[str, ...], Score] = {}
        start = time.perf_counter()
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env=plain_environment(), cwd=folder,
                start_new_session=True,  # Linux shares the cores evenly between sessions
            )  # fmt: skip
        self.first = self._answer()
        self.start_seconds = time.perf_counter() - start

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _answer(self) -> Measured:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a scorer has stopped; see {self.log}")
        found: Measured = json.loads(line)
        return found

    def ask(self, texts: Sequence[Sequence[str]]) -> Measured:
        """Return the scores of texts and the CPU seconds that they took."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(list(map(list, texts))) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the scores of documents."""
        texts = [document.sentences for document in documents]
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        for first in range(0, len(new), AT_ONCE):
            batch = new[first : first + AT_ONCE]
            for text, (value, links) in zip(batch, self.ask(batch)["scores"], strict=True):
                self.known[text] = Score(value, tuple(links or ()))
        return [self.known[text] for text in texts]


class PairScorer:
    """A scorer that orders: the score of two neighbours is that of a text of two sentences.

    Args:
        scorer: The running scorer.
    """

    def __init__(self, scorer: RunningScorer) -> None:
        self.scorer = scorer

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the scores of documents."""
        return self.scorer.score(documents)

    def pair_table(self, document: Document) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return the score of every pair of sentences: [sentence before, sentence after]."""
        size = len(document)
        pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
        scores = self.scorer.score([document.reorder(pair) for pair in pairs])
        table = np.zeros((size, size))
        for (i, j), score in zip(pairs, scores, strict=True):
            table[i, j] = score.value or 0.0
        return table


# -- measuring -----------------------------------------------------------------------------------------------------


@cache
def all_documents(path: Path) -> list[Document]:
    """Return the documents of a file, which is read once."""
    return DataFile(path).documents()


def spread(name: str, data: Path, limit: int, offset: int = 0) -> list[Document]:
    """Return ``limit`` documents of a standard set, evenly spread over it; with another offset, others."""
    documents = all_documents(data / DATA_SETS[name].file)
    step = max(1, len(documents) // limit)
    return documents[offset % step :: step][:limit]


def sampled(name: str, data: Path, limit: int, folder: Path) -> DataFile:
    """Return a file with documents of a standard set."""
    path = folder / f"{name}.jsonl"
    chosen = spread(name, data, limit)
    lines = ({"id": one.id, "genre": one.genre or None, "sentences": one.sentences} for one in chosen)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return DataFile(path, search=DATA_SETS[name].search)


def run_task(task: str, model: object, name: str, data: DataFile, options: EvaluateOptions) -> Outcome:
    """Run a task of `weft evaluate`."""
    return TASKS[task].run(Subject(model, name), data, options, silent)


def measure_tasks(
    name: str, model: Any, orderer: Any, sets: dict[str, DataFile], few: dict[str, DataFile], tasks: Sequence[str]
) -> Tasks:
    """Return the accuracy on every task and set, as parts per document.

    Args:
        name: Name of the scorer.
        model: What scores texts.
        orderer: What orders them.
        sets: The documents.
        few: The documents to order.
        tasks: Names of the tasks.
    """
    found: Tasks = {}
    for place, data in sets.items():
        for task in tasks:
            subject, documents = (orderer, few[place]) if task == "order" else (model, data)
            chosen = EvaluateOptions(permutations=PERMUTATIONS.get(task, 1))
            measures = run_task(task, subject, name, documents, chosen).measures
            for shown_as, measure in MEASURES[task].items():
                found[f"{place} {shown_as}"] = measures.get(measure)
    return found


def shown(measure: Measure | None) -> Measured | None:
    """Return a measure with its interval and number of documents."""
    if measure is None or not any(measure.denominators):
        return None
    value = ratio(measure.numerators, measure.denominators)
    interval = bootstrap_interval(measure.numerators, measure.denominators)
    return {"value": value, "interval": interval, "documents": int(np.count_nonzero(measure.denominators))}


def measure_speed(running: RunningScorer, rounds: Sequence[Sequence[Document]], before: Sequence[Document]) -> Measured:
    """Return the rate, the peak memory, and the scores of the first round.

    Every round has other documents, as scorers may remember what they have seen. The best round counts, as other work
    on the machine only slows down.

    Args:
        running: The scorer.
        rounds: The documents of every round.
        before: Documents that are scored before, so that everything is loaded.
    """
    running.ask([document.sentences for document in before])
    answers = [running.ask([document.sentences for document in documents]) for documents in rounds]
    rates = [len(one) / answer["cpu_seconds"] for one, answer in zip(rounds, answers, strict=True)]
    return {
        "documents_per_cpu_second": max(rates),
        "peak_bytes": answers[-1]["peak_bytes"],
        "start_seconds": running.start_seconds,
        "start_cpu_seconds": running.first["cpu_seconds"],
        "scores": [value for value, _ in answers[0]["scores"]],
    }


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one scorer."""

    scorer: Scorer
    numbers: Measured
    tasks: Tasks

    def record(self) -> Measured:
        """Return the row of the file."""
        numbers = {name: value for name, value in self.numbers.items() if name != "scores"}
        tasks = {name: shown(measure) for name, measure in self.tasks.items()}
        return {"name": self.scorer.name, "ours": self.scorer.ours, **numbers, "tasks": tasks}


def measure_scorer(
    scorer: Scorer, options: argparse.Namespace, sets: dict[str, DataFile], few: Any, twin: Row | None
) -> Row:
    """Return everything about one scorer."""
    print(scorer.name, file=sys.stderr)
    begin = time.perf_counter()
    rounds = [
        [document for place in SETS for document in spread(place, options.data, options.limit, offset)]
        for offset in range(options.rounds)
    ]
    before = [document for place in SETS for document in spread(place, options.data, WARM_UP, options.rounds)]
    if scorer.file == "tomotopy_lda":
        with RunningScorer(scorer, options.environments, options.data):
            pass  # learns its topics, which is no part of its start-up
    with RunningScorer(scorer, options.environments, options.data) as running:
        numbers = measure_speed(running, rounds, before)
        if twin is not None and largest_difference(numbers["scores"], twin.numbers["scores"]) < SAME:
            numbers["accuracy_of"], tasks = twin.scorer.name, twin.tasks
        elif scorer.ours:
            model, _, combine = scorer.argument.partition(":")
            ours = load(model, combine=combine or None, device="cpu").inner
            tasks = measure_tasks(scorer.name, ours, ours, sets, few, options.tasks)
        else:
            tasks = measure_tasks(scorer.name, running, PairScorer(running), sets, few, options.tasks)
    numbers["install_bytes"] = install_bytes(scorer, options.environments)
    return Row(scorer, {**numbers, "took": time.perf_counter() - begin}, tasks)


def largest_difference(scores: Sequence[float | None], others: Sequence[float | None]) -> float:
    """Return the largest difference between two lists of scores; infinity if only one of two is a number."""
    if [score is None for score in scores] != [other is None for other in others]:
        return math.inf
    pairs = zip(scores, others, strict=True)
    return max((abs(a - b) for a, b in pairs if a is not None and b is not None), default=0.0)


def dominated(rows: Sequence[Row]) -> list[Measured]:
    """Return for every peer the models of weft that are faster, and more accurate on pairs of all sets."""
    found = []
    for peer in (row for row in rows if not row.scorer.ours):
        ours = [compared(row, peer) for row in rows if row.scorer.ours]
        better = [one["name"] for one in ours if one["faster_and_more_accurate"]]
        record = {"peer": peer.scorer.name, "faster_and_more_accurate": better, "passed": bool(better)}
        found.append({**record, "compared": ours})
    return found


def compared(ours: Row, peer: Row) -> Measured:
    """Return how many times as fast one row is as another, and how much more accurate, with intervals."""
    faster = ours.numbers["documents_per_cpu_second"] / peer.numbers["documents_per_cpu_second"]
    gains: dict[str, Measured] = {}
    for name, mine in ours.tasks.items():
        theirs = peer.tasks[name]
        if mine is not None and theirs is not None and any(mine.denominators):
            gain = paired_bootstrap(mine.numerators, theirs.numerators, mine.denominators)
            gains[name] = {"difference": gain.difference, "interval": gain.interval}
    above = [gains[name]["difference"] > 0 for name in gains if name.endswith(" pairs")]
    better = faster > 1 and len(above) > 0 and all(above)
    return {"name": ours.scorer.name, "times_as_fast": faster, "gains": gains, "faster_and_more_accurate": better}


# -- showing -------------------------------------------------------------------------------------------------------


def table_of(rows: Sequence[Measured]) -> str:
    """Return the rows as a table of Markdown."""
    tasks = list(rows[0]["tasks"])
    heads = ["", *tasks, "documents / CPU-s", "peak memory, MB", "installed, MB", "start-up, CPU-s"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows:
        cells = ["–" if (one := row["tasks"][task]) is None else f"{one['value']:.3f}" for task in tasks]
        megabytes = [f"{row[name] / 1e6:.0f}" for name in ("peak_bytes", "install_bytes")]
        speed, start = f"{row['documents_per_cpu_second']:.1f}", f"{row['start_cpu_seconds']:.1f}"
        lines.append("| " + " | ".join([row["name"], *cells, speed, *megabytes, start]) + " |")
    return "\n".join(lines)


def draw(rows: Sequence[Measured], path: Path) -> None:
    """Draw accuracy against speed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sets = [name for name in rows[0]["tasks"] if name.endswith(" pairs")]
    figure, axes = pyplot.subplots(1, len(sets), figsize=(5.5 * len(sets), 4.5), sharex=True, squeeze=False)
    for axis, name in zip(axes[0], sets, strict=True):
        for row in (row for row in rows if row["tasks"][name] is not None):
            colour, mark = ("#1f6f54", "o") if row["ours"] else ("#8a5a00", "s")
            place = (row["documents_per_cpu_second"], row["tasks"][name]["value"])
            axis.plot(*place, mark, color=colour)
            axis.annotate(row["name"], place, textcoords="offset points", xytext=(5, 4), fontsize=7, color=colour)
        axis.set(xscale="log", xlabel="documents per CPU-second", ylabel="accuracy", title=name)
        axis.margins(0.15)
        axis.grid(alpha=0.3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


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


def weft_names(given: Sequence[str]) -> list[str]:
    """Return the models of weft to measure; ``all`` stands for every one that is found and not for one domain."""
    if list(given) != ["all"]:
        return list(given)
    found = [known.name for known in known_models() if not known.missing and not known.extra]
    return [name for name in found if not name.endswith(DOMAINS) and name not in NOT_ROWS]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the research data")
    parser.add_argument("--weft", nargs="*", default=["weft-reader", "foltz-glove", "foltz-sif"], metavar="NAME[:mmi]")
    parser.add_argument("--peers", nargs="*", default=[peer.file for peer in PEERS], help="files of benchmarks/peers")
    parser.add_argument("--limit", type=int, default=100, help="number of documents of every set")
    parser.add_argument("--order-limit", type=int, default=5, help="number of documents to order")
    parser.add_argument("--tasks", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--rounds", type=int, default=2, help="rounds of the speed, of which the best counts")
    parser.add_argument("--at-once", type=int, default=1, help="scorers measured at the same time, each in one thread")
    parser.add_argument("--environments", type=Path, default=Path("build/peers"), help="folder of the environments")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/peers.json"))
    parser.add_argument("--picture", type=Path, help="picture to write: .svg or .png")
    return parser.parse_args()


def measure(options: argparse.Namespace) -> Measured:
    """Measure every scorer; results so far are written after each, so that they survive a failure."""
    options.environments = options.environments.resolve()
    options.environments.mkdir(parents=True, exist_ok=True)
    scorers = [peer for peer in PEERS if peer.file in options.peers]
    scorers += [weft_scorer(name) for name in weft_names(options.weft)]
    record: Measured = {"benchmark": "peers", "seed": 1, "machine": machine(), "limit": options.limit}
    record |= {
        "order_limit": options.order_limit,
        "rounds": options.rounds,
        "at_once": options.at_once,
        "tasks": options.tasks,
    }
    prepare_environments(scorers, options.environments)
    with tempfile.TemporaryDirectory() as name:
        sets = {place: sampled(place, options.data, options.limit, Path(name)) for place in SETS}
        Path(name, "few").mkdir()
        few = {place: sampled(place, options.data, options.order_limit, Path(name, "few")) for place in SETS}
        record["documents"] = {place: len(data.documents()) for place, data in sets.items()}
        rows: dict[str, Row] = {}
        with ThreadPoolExecutor(options.at_once) as threads:
            for twins in (False, True):
                started = [
                    threads.submit(measure_scorer, scorer, options, sets, few, rows.get(scorer.twin))
                    for scorer in scorers
                    if bool(scorer.twin) == twins
                ]
                for future in as_completed(started):
                    row = future.result()
                    rows[row.scorer.argument or row.scorer.file] = row
                    write(record, [rows[key] for s in scorers if (key := s.argument or s.file) in rows], options.out)
    return record


def write(record: Measured, rows: Sequence[Row], out: Path) -> None:
    """Put rows into the record, and write it."""
    record |= {"rows": [row.record() for row in rows], "bars": dominated(rows), "load_at_end": os.getloadavg()[0]}
    with write_atomically(out) as file:
        file.write((json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def main() -> int:
    """Measure, print the table, and return 1 if a peer is beaten by no model of weft."""
    options = arguments()
    try:
        record = measure(options)
    except WeftError as error:
        print(error, file=sys.stderr)
        return 2
    print(table_of(record["rows"]))
    if options.picture:
        draw(record["rows"], options.picture)
    return 0 if all(bar["passed"] for bar in record["bars"]) else 1


if __name__ == "__main__":
    sys.exit(main())
