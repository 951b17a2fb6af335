"""Exported readers beside PyTorch: agreement on texts, and speed on one CPU thread.

    pip install 'weft-coherence[train,hf]'
    python benchmarks/export.py [--model NAME] [--data FILE] [--texts 1000] [--documents 8] [--rounds 3] [--seed 1]
        [--arithmetic float32] [--out results/benchmarks/export.json]

Without ``--model``, the reader is MiniLM-L6 with heads of random weights: sizes and ranges of activations are real, the
odds are not. An exported model, such as weft-reader, is built in PyTorch from the weights in its graphs. Without
``--data``, texts of 3 to 20 sentences are drawn from the probes of the package; of a file, the first 20 sentences of
each paragraph are read.

Agreement: tables of PyTorch, in float32 with the weights as saved (int8), beside those of each arithmetic of ``weft
export``. Counted are texts whose tables differ by more than 1e-3 somewhere, and decisions that differ: the better of
two orders (the own one and a shuffle, ten shuffles each), the order that the search finds, and breaks at even odds.

Speed: documents of 15 sentences of 32 tokens, tokenisation included, in documents per CPU second. The peer encodes the
same sentences with sentence-transformers' MiniLM-L6. All take turns in each round.
"""

from __future__ import annotations

import os

# Libraries read these when numpy, torch and transformers are first imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"

import argparse
import json
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import weft
from weft.corpora.readers.formats import read_documents
from weft.corpora.text.tokenizers import load_tokenizer
from weft.document import Document
from weft.hub import find_model
from weft.io.atomic_files import write_atomically
from weft.io.model_folder import load_artifact
from weft.models.reader.bert_weights import MINILM, encoder_folder
from weft.models.reader.export import ARITHMETICS, export
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import PART, ReaderSettings
from weft.models.reader.text_tables import TextTables
from weft.version import VERSION

TOLERANCE = 1e-3
SHUFFLES = 10
LONGEST = 20  # sentences
SENTENCES, TOKENS = 15, 32
TORCH, PEER = "pytorch", "sentence-transformers MiniLM-L6"
TABLES = ("follows", "precedence", "breaks")
Measurement = dict[str, Any]


# -- models and texts ------------------------------------------------------------------------------------------------


def untrained(folder: Path, seed: int) -> Path:
    """Write a reader that has the encoder of MiniLM-L6 and heads of random weights."""
    torch.manual_seed(seed)
    model = Reader(ReaderSettings(encoder=MINILM))
    tokenizer = load_tokenizer(encoder_folder(MINILM) / "tokenizer.json")
    model.assemble({PART: model.new_network(PART, tokenizer)}, tokenizer).save(folder)
    return folder


def in_pytorch(name: str, folder: Path) -> Path:
    """Return the folder of a trained reader with its weights for PyTorch; that of an exported one is written."""
    found = find_model(name).folder
    assert found is not None
    model = Reader.load(found)
    if not load_artifact(found).graphs:
        return found
    assert model.tokenizer is not None
    Reader(model.settings).assemble(model.networks(), model.tokenizer).save(folder)
    return folder


def probe_texts(count: int, seed: int) -> list[Document]:
    """Return texts of sentences drawn from the probes of the package."""
    path = Path(weft.__file__).parent / "probes" / "probes.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    sentences = sorted({sentence for row in rows for side in ("better", "worse") for sentence in row[side]})
    draw = random.Random(seed)
    return [Document(f"p{n}", tuple(draw.sample(sentences, draw.randint(3, LONGEST)))) for n in range(count)]


def file_texts(path: Path, count: int) -> list[Document]:
    """Return the first paragraphs of a file."""
    found: list[Document] = []
    for paragraph in (one for document in read_documents(path) for one in document.paragraphs()):
        if len(paragraph) > 2:
            found.append(Document(paragraph.id, paragraph.sentences[:LONGEST]))
        if len(found) == count:
            break
    return found


def documents_of_tokens(model: Reader, count: int, seed: int) -> list[Document]:
    """Return documents of sentences with the same number of tokens, all different."""
    assert model.tokenizer is not None
    tokenizer, draw = model.tokenizer, random.Random(seed)
    words = sorted({word for text in probe_texts(200, seed) for one in text.sentences for word in one.split()})
    short = [word for word in words if word.isalpha() and len(tokenizer.encode_batch([word])[0]) == 1]
    return [
        Document(f"s{n}", tuple(" ".join(draw.choices(short, k=TOKENS - 2)) for _ in range(SENTENCES)))
        for n in range(count)
    ]


# -- agreement -------------------------------------------------------------------------------------------------------


def orders_of(text: Document, seed: int) -> Iterator[list[int]]:
    """Yield the order of a text and shuffles of it."""
    draw = random.Random(f"{seed} {text.id}")
    yield list(range(len(text)))
    for _ in range(SHUFFLES):
        yield draw.sample(range(len(text)), len(text))


def differences(one: TextTables, other: TextTables) -> dict[str, float]:
    """Return the largest difference of each table."""
    pairs = ((one.follows, other.follows), (one.precedence, other.precedence), (one.breaks, other.breaks))
    return {name: float(np.abs(a - b).max()) for name, (a, b) in zip(TABLES, pairs, strict=True)}


class Agreement:
    """Counts how far an exported reader differs from PyTorch."""

    def __init__(self, own: Reader, other: Reader, seed: int) -> None:
        self.own, self.other, self.seed = own, other, seed
        self.found: list[dict[str, float]] = []
        self.decisions, self.gaps = {"pairs": 0, "orders": 0, "breaks": 0}, 0

    def add(self, text: Document) -> None:
        """Compare both on one text."""
        tables = self.own.tables(text), self.other.tables(text)
        self.found.append(differences(*tables))
        self.gaps += len(text) - 1
        orders = list(orders_of(text, self.seed))
        values = [model.order_scores(text, orders) for model in (self.own, self.other)]
        better = [[value is not None and value > (row[0] or 0.0) for value in row[1:]] for row in values]
        self.decisions["pairs"] += sum(a != b for a, b in zip(*better, strict=True))
        self.decisions["orders"] += self.own.arrange(text) != self.other.arrange(text)
        self.decisions["breaks"] += int(((tables[0].breaks > 0) != (tables[1].breaks > 0)).sum())

    def summary(self) -> Measurement:
        """Return what was counted."""
        worst, texts = np.array([max(row.values()) for row in self.found]), len(self.found)
        return {
            "largest": {name: max(row[name] for row in self.found) for name in TABLES},
            "median of texts": float(np.median(worst)),
            "texts within 1e-3": float(np.mean(worst <= TOLERANCE)),
            "decisions that differ": self.decisions,
            "decisions": {"pairs": SHUFFLES * texts, "orders": texts, "breaks": self.gaps},
        }


# -- speed -----------------------------------------------------------------------------------------------------------


def peer() -> Callable[[Document], object]:
    """Return sentence-transformers' encoding of the sentences of a document."""
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(encoder_folder(MINILM)), device="cpu")
    return lambda document: encoder.encode(list(document.sentences))


def speeds(
    contenders: dict[str, Callable[[Document], object]], make: Callable[[int], list[Document]], rounds: int
) -> Measurement:
    """Return documents per CPU second; every round has new documents, so that nothing is remembered."""
    for score in contenders.values():
        score(make(0)[0])
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(1, rounds + 1):
        for document in make(number):
            for name, score in contenders.items():
                before = time.process_time()
                score(document)
                rates[name].append(1 / (time.process_time() - before))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "documents per CPU second": medians,
        f"times {PEER}": {name: rate / medians[PEER] for name, rate in medians.items()},
    }


def main() -> None:
    """Measure, print and write the results."""
    options = arguments()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        written = Path(place) / "reader"
        folder = in_pytorch(options.model, written) if options.model else untrained(written, options.seed)
        own = Reader.load(folder)
        folders = {name: export(folder, Path(place) / name, arithmetic=name) for name in options.arithmetic}
        exported = {name: Reader.load(path) for name, path in folders.items()}
        sizes = {name: sum(one.stat().st_size for one in path.iterdir()) / 1e6 for name, path in folders.items()}
        texts = file_texts(options.data, options.texts) if options.data else probe_texts(options.texts, options.seed)
        compared = {name: Agreement(own, model, options.seed) for name, model in exported.items()}
        for number, text in enumerate(texts, 1):
            for one in compared.values():  # PyTorch reads a text once: its tables are cached
                one.add(text)
            if number % 100 == 0:
                print(f"text {number} of {len(texts)}", file=sys.stderr)
        scorers = {name: scorer(model) for name, model in {TORCH: own, **exported}.items()}
        fast = speeds(
            {PEER: peer(), **scorers},
            lambda number: documents_of_tokens(own, options.documents, options.seed + number),
            options.rounds,
        )
    found = {
        "benchmark": "export",
        "model": options.model or "MiniLM-L6 with heads of random weights",
        "data": options.data.name if options.data else "probes of the package",
        "texts": len(texts),
        "seed": options.seed,
        "megabytes": sizes,
        "agreement with pytorch": {name: one.summary() for name, one in compared.items()},
        "speed": fast,
        "machine": machine(),
    }
    print(json.dumps(found, indent=1))
    if options.out:
        with write_atomically(options.out) as file:
            file.write((json.dumps(found, indent=1) + "\n").encode())


def scorer(model: Reader) -> Callable[[Document], object]:
    """Return how a model scores one document."""
    return lambda document: model.score([document])


def machine() -> Measurement:
    """Return the versions and the machine that the numbers depend on."""
    return {
        "cores": os.cpu_count(),
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "weft": VERSION,
        **{name: version(name) for name in ("numpy", "onnx", "onnxruntime", "tokenizers", "sentence-transformers")},
        "load": os.getloadavg()[0],
    }


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="name or folder of a trained reader")
    parser.add_argument("--arithmetic", nargs="+", choices=ARITHMETICS, default=ARITHMETICS)
    parser.add_argument("--data", type=Path, help="documents, in any format that weft reads")
    parser.add_argument("--texts", type=int, default=1000, help="number of texts to compare")
    parser.add_argument("--documents", type=int, default=8, help="number of documents to time in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
