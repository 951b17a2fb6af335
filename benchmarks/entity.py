"""Entity grid and entity graph from parsed documents: documents a CPU second, beside TRUNAJOD 0.1.1 in one run.

    pip install '.[parse]'
    pip install --no-deps TRUNAJOD==0.1.1
    python benchmarks/entity.py --data accidents.train.jsonl --data valid.paragraphs.jsonl
        [--out results/benchmarks/entity.json]

Both get the same parses, by weft's parser: weft as it keeps them, TRUNAJOD as documents of spaCy. Parsing is timed
apart. Grid: from parses to the shares of all transitions of length 2, TRUNAJOD's only ones; weft also up to length 3,
with salience and edges, as its model uses them. Graph: all six scores (three projections, with and without distance),
from parses, and from grids that are there already. Permutations: 20 orders of each document, which TRUNAJOD can only
score as documents of their own. Where TRUNAJOD is not installed its figures are left out.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read once, when numpy is imported

import argparse
import importlib.metadata
import json
import platform
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft.corpora.corruption import permutations
from weft.corpora.parsed import ParsedSentence
from weft.corpora.parsing import find_parser
from weft.corpora.readers import read_documents
from weft.document import Document
from weft.models.baselines.entity_columns import Columns, columns_of
from weft.models.baselines.entity_graph import EntityGraph, graph_scores
from weft.models.baselines.entity_grid import EntityGrid
from weft.models.baselines.entity_mentions import find_mentions
from weft.models.baselines.entity_transitions import WindowOptions, transition_shares
from weft.version import VERSION
from weft.writing import write_atomically

GRID_BAR, GRAPH_BAR = 3.0, 10.0  # times TRUNAJOD's documents a second
PEER = "TRUNAJOD"
LONG = 10_000  # sentences
Parses = list[ParsedSentence]
POS = {"NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "PRP": "PRON"}


def main() -> None:
    """Measure, say how it went, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/entity.json"))
    options = parser.parse_args()
    record = {
        "benchmark": "entity",
        "weft": VERSION,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "peer": peer_version(),
        "sets": [measure(path, options.rounds) for path in options.data],
        "long_document": measure_long(),
    }
    print(json.dumps(record, indent=2))
    with write_atomically(options.out) as handle:
        handle.write((json.dumps(record, indent=2) + "\n").encode())


def peer_version() -> str:
    """The installed TRUNAJOD, or that there is none."""
    try:
        return f"{PEER} {importlib.metadata.version(PEER)}"
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def measure(path: Path, rounds: int) -> dict[str, Any]:
    """All rates of one set of documents."""
    documents = [document for document in read_documents(path) if len(document) > 1]
    parser = find_parser("weft-parser")
    start = time.process_time()
    parses = [parser.parse(document.sentences) for document in documents]
    parse_seconds = time.process_time() - start
    ours: dict[str, float] = {
        "grid_length_2": rate(grid_features, parses, rounds),
        "grid_as_modelled": rate(model_features, parses, rounds),
        "graph_six_scores": rate(six_scores, parses, rounds),
        "graph_from_grid": rate(graph_scores, [columns(document) for document in parses], rounds),
        "grid_20_permutations": rate_of(lambda: permuted_features(documents, parses), len(documents), rounds),
    }
    record: dict[str, Any] = {
        "data": path.name,
        "documents": len(documents),
        "sentences": sum(map(len, documents)),
        "parse_documents_per_cpu_second": round(len(documents) / parse_seconds, 1),
        "weft_documents_per_cpu_second": {name: round(value, 1) for name, value in ours.items()},
    }
    if peer_version() != "not installed":
        record |= measure_peer(parses, ours, rounds)
    return record


def measure_peer(parses: Sequence[Parses], ours: dict[str, float], rounds: int) -> dict[str, Any]:
    """TRUNAJOD's rates on the same parses, and how many times faster weft is."""
    from TRUNAJOD.entity_grid import EntityGrid as PeerGrid
    from TRUNAJOD.entity_grid import get_local_coherence

    documents = spacy_documents(parses)
    theirs = {
        "grid_length_2": rate(PeerGrid, documents, rounds),
        "graph_six_scores": rate(lambda document: get_local_coherence(PeerGrid(document)), documents, rounds),
    }
    theirs["graph_from_grid"] = rate(get_local_coherence, [PeerGrid(document) for document in documents], rounds)
    theirs["grid_20_permutations"] = theirs["grid_length_2"] / 21
    times = {name: ours[name] / value for name, value in theirs.items()}
    return {
        "peer_documents_per_cpu_second": {name: round(value, 1) for name, value in theirs.items()},
        "times_faster": {name: round(value, 1) for name, value in times.items()},
        "passed": {
            "grid": times["grid_length_2"] >= GRID_BAR,
            "graph_from_grid": times["graph_from_grid"] >= GRAPH_BAR,
            "graph_from_parses": times["graph_six_scores"] >= GRAPH_BAR,
        },
    }


def rate(work: Callable[[Any], object], items: Sequence[Any], rounds: int) -> float:
    """Items a second, one at a time: the median of some rounds."""
    return rate_of(lambda: [work(item) for item in items], len(items), rounds)


def rate_of(work: Callable[[], object], count: int, rounds: int) -> float:
    """How many items a second of processor time some work does that goes through all of them."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return count / statistics.median(seconds)


def columns(parses: Parses) -> Columns:
    """The grid of a parsed document."""
    return columns_of([find_mentions(parse) for parse in parses])


def grid_features(parses: Parses) -> object:
    """TRUNAJOD's features: the shares of transitions of length 2."""
    grid = columns(parses)
    return transition_shares(grid, [range(grid.size)], 2, WindowOptions(salience=0))


MODEL = EntityGrid()


def model_features(parses: Parses) -> object:
    """The features of weft's ranker."""
    grid = columns(parses)
    return MODEL.features(grid, [range(grid.size)])


def permuted_features(documents: Sequence[Document], parses: Sequence[Parses]) -> None:
    """The features of each document and 20 permutations, as in the field's standard task."""
    for document, parsed in zip(documents, parses, strict=True):
        orders = [tuple(range(len(document))), *permutations(document, count=20, seed=1)]
        transition_shares(columns(parsed), orders, 2, WindowOptions(salience=0))


def six_scores(parses: Parses) -> object:
    """All six scores of Guinaudeau and Strube."""
    return graph_scores(columns(parses))


def spacy_documents(parses: Sequence[Parses]) -> list[Any]:
    """The same parses as TRUNAJOD wants them."""
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    vocab = Vocab()
    found = []
    for document in parses:
        words: list[str] = []
        labels: list[str] = []
        pos, heads, starts = [], [], []
        for parse in document:
            heads += [head + len(words) for head in parse.heads]
            words += parse.words
            pos += [POS.get(tag, "X") for tag in parse.tags]
            labels += parse.labels
            starts += [place == 0 for place in range(len(parse))]
        found.append(Doc(vocab, words=words, pos=pos, deps=labels, heads=heads, sent_starts=starts))
    return found


def measure_long() -> dict[str, Any]:
    """A text of 10,000 sentences: seconds, and how much memory it took on top."""
    mentions = [{f"noun{place * 7919 % 3001}": 3, f"rare{place}": 1, "report": 2} for place in range(LONG)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    grid = columns_of(mentions)
    MODEL.features(grid, [range(LONG)])
    grid_seconds = time.perf_counter() - start
    start = time.perf_counter()
    EntityGraph().score_grid(grid)
    graph_seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "sentences": LONG,
        "entities": len(grid.names),
        "grid_seconds": round(grid_seconds, 2),
        "graph_seconds": round(graph_seconds, 2),
        "more_memory_mib": round((peak - before) / 1024, 1),
    }


if __name__ == "__main__":
    main()
