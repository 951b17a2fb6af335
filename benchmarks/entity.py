"""Speed of the entity grid and the entity graph, beside TRUNAJOD 0.1.1: documents per CPU second.

    pip install 'weft-coherence[parse]'
    pip install --no-deps TRUNAJOD==0.1.1
    python benchmarks/entity.py --data accidents.train.jsonl --data valid.paragraphs.jsonl
        [--out results/benchmarks/entity.json]

Both programs get the same parses, made by weft's parser: weft in its own form, TRUNAJOD as spaCy documents. Parsing is
timed separately.

- Grid: from parses to the shares of all transitions of length 2, the only length that TRUNAJOD has; for weft also up to
  length 3 with salience and edges, as in its model.
- Graph: all six scores (three projections, with and without distance), from parses and from finished grids
  (`get_local_coherence` takes a grid); for weft also the one score of its model, with the part of every gap.
- Permutations: 20 orders of each document. TRUNAJOD scores each order as a separate document.

Every piece of work runs once before it is timed, so that the caches are in the same state for all. The pieces take
turns in each round, and the best round of each counts, because other processes slow some rounds down. Neither program
keeps anything between documents or rounds. If TRUNAJOD is not installed, its figures are omitted.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read once, when numpy is imported

import argparse
import importlib.metadata
import json
import platform
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft.corpora.negatives.permute import permutations
from weft.corpora.readers.formats import read_documents
from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.parser import find_parser
from weft.document import Document
from weft.io.atomic_files import write_atomically
from weft.models.entity.entity_graph import EntityGraph, graph_scores
from weft.models.entity.entity_grid import EntityGrid
from weft.models.entity.grid import SparseGrid, build_grid
from weft.models.entity.mentions import find_mentions, find_shared
from weft.models.entity.transitions import WindowOptions, transition_shares
from weft.version import VERSION

GRID_BAR, GRAPH_BAR = 3.0, 10.0  # times TRUNAJOD's documents a second
PEER = "TRUNAJOD"
LONG = 10_000  # sentences
Parses = list[ParsedSentence]
POS = {"NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "PRP": "PRON"}


def main() -> None:
    """Measure, print the results and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--rounds", type=int, default=40)
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
    """Return the version of the installed TRUNAJOD, or ``not installed``."""
    try:
        return f"{PEER} {importlib.metadata.version(PEER)}"
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def measure(path: Path, rounds: int) -> dict[str, Any]:
    """Return all rates of one set of documents."""
    documents = [document for document in read_documents(path) if len(document) > 1]
    parser = find_parser("weft-parser")
    start = time.process_time()
    parses = [parser.parse(document.sentences) for document in documents]
    parse_seconds = time.process_time() - start
    peer = peer_works(parses) if peer_version() != "not installed" else {}
    works = our_works(documents, parses) | {f"{PEER} {name}": work for name, work in peer.items()}
    rates = {name: len(documents) / seconds for name, seconds in best_seconds(works, rounds).items()}
    record: dict[str, Any] = {
        "data": path.name,
        "documents": len(documents),
        "sentences": sum(map(len, documents)),
        "distinct_sentences": len({sentence for document in documents for sentence in document.sentences}),
        "rounds": rounds,
        "parse_documents_per_cpu_second": round(len(documents) / parse_seconds, 1),
        "weft_documents_per_cpu_second": {
            name: round(rate, 1) for name, rate in rates.items() if not name.startswith(PEER)
        },
    }
    return record | (compared(rates, tuple(peer)) if peer else {})


def our_works(documents: Sequence[Document], parses: Sequence[Parses]) -> dict[str, Callable[[], object]]:
    """Return the pieces of work of weft by name."""
    grids = [columns(document) for document in parses]
    return {
        "grid_length_2": lambda: each(grid_features, parses),
        "grid_as_modelled": lambda: each(model_features, parses),
        "graph_six_scores": lambda: each(six_scores, parses),
        "graph_as_modelled": lambda: each(lambda document: GRAPH.score_grid(columns(document)), parses),
        "graph_from_grid": lambda: each(lambda grid: graph_scores(grid.shared(), grid.size), grids),
        "grid_20_permutations": lambda: permuted_features(documents, parses),
    }


def peer_works(parses: Sequence[Parses]) -> dict[str, Callable[[], object]]:
    """Return the pieces of work of TRUNAJOD, on the same parses."""
    from TRUNAJOD.entity_grid import EntityGrid as PeerGrid
    from TRUNAJOD.entity_grid import get_local_coherence

    documents = spacy_documents(parses)
    grids = [PeerGrid(document) for document in documents]
    return {
        "grid_length_2": lambda: each(PeerGrid, documents),
        "graph_six_scores": lambda: each(lambda document: get_local_coherence(PeerGrid(document)), documents),
        "graph_from_grid": lambda: each(get_local_coherence, grids),
    }


def compared(rates: dict[str, float], names: tuple[str, ...]) -> dict[str, Any]:
    """Return TRUNAJOD's rates and the ratios of weft's rates to them."""
    theirs = {name: rates[f"{PEER} {name}"] for name in names}
    theirs["grid_20_permutations"] = theirs["grid_length_2"] / 21
    times = {name: rates[name] / value for name, value in theirs.items()}
    return {
        "peer_documents_per_cpu_second": {name: round(value, 1) for name, value in theirs.items()},
        "times_faster": {name: round(value, 1) for name, value in times.items()},
        "passed": {
            "grid": times["grid_length_2"] >= GRID_BAR,
            "graph_from_grid": times["graph_from_grid"] >= GRAPH_BAR,
            "graph_from_parses": times["graph_six_scores"] >= GRAPH_BAR,
        },
    }


def each(work: Callable[[Any], object], items: Sequence[Any]) -> None:
    """Call the function on each item and drop the results, so that their memory is not measured."""
    for item in items:
        work(item)


def best_seconds(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the CPU seconds of each piece of work in its best round."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            work()
            start = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - start)
    return best


def columns(parses: Parses) -> SparseGrid:
    """Return the grid of a parsed document."""
    return build_grid([find_mentions(parse) for parse in parses])


def grid_features(parses: Parses) -> object:
    """Return the features that TRUNAJOD has: the shares of transitions of length 2."""
    grid = columns(parses)
    return transition_shares(grid, [range(grid.size)], 2, WindowOptions(salience=0))


MODEL, GRAPH = EntityGrid(), EntityGraph()


def model_features(parses: Parses) -> object:
    """Return the features of weft's ranker."""
    grid = columns(parses)
    return MODEL.features(grid, [range(grid.size)])


def permuted_features(documents: Sequence[Document], parses: Sequence[Parses]) -> None:
    """Compute the features of each document and 20 permutations, as in the discrimination task."""
    for document, parsed in zip(documents, parses, strict=True):
        orders = [tuple(range(len(document))), *permutations(document, count=20, seed=1)]
        transition_shares(columns(parsed), orders, 2, WindowOptions(salience=0))


def six_scores(parses: Parses) -> object:
    """Return all six scores of Guinaudeau and Strube."""
    return graph_scores(find_shared(parses), len(parses))


def spacy_documents(parses: Sequence[Parses]) -> list[Any]:
    """Return the parses as spaCy documents."""
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
    """Return the seconds and the additional memory for a text of 10,000 sentences."""
    found = [{f"noun{place * 7919 % 3001}": 3, f"rare{place}": 1, "report": 2} for place in range(LONG)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    grid = build_grid(found)
    MODEL.features(grid, [range(LONG)])
    grid_seconds = time.perf_counter() - start
    start = time.perf_counter()
    GRAPH.score_grid(grid)
    graph_seconds = time.perf_counter() - start
    start = time.perf_counter()
    graph_scores(grid.shared(), LONG)
    six_seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "sentences": LONG,
        "entities": len(grid.names),
        "grid_seconds": round(grid_seconds, 2),
        "graph_seconds": round(graph_seconds, 2),
        "graph_six_scores_seconds": round(six_seconds, 2),
        "more_memory_mib": round((peak - before) / 1024, 1),
    }


if __name__ == "__main__":
    main()
