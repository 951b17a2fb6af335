"""Accuracy, speed and size of the embedded parser on held-out sentences.

    pip install 'weft-coherence[parse]'
    python benchmarks/parser.py --data silver.jsonl.xz [--parser weft-parser] [--rounds 5]
        [--out results/benchmarks/parser.json]

The sentences are the 5% of the data that `silver_parses.part_of` holds out. Their reference parses were made by another
parser, so the figures measure agreement with that parser. Words are split by the pipeline's own tokenizer. The rate
covers all of `Parser.parse`, from text to parse, on one thread; the median over rounds is compared with the bar.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read once, when numpy is imported

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from weft.corpora.syntax.packed_pipeline import EMBEDDED
from weft.corpora.syntax.packed_pipeline import KIND as OWN
from weft.corpora.syntax.parser import Parser
from weft.corpora.syntax.spacy_pipelines import Pipeline, load_pipeline
from weft.io.atomic_files import write_atomically
from weft.version import VERSION

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script has only its own folder on the path
from tools.parse_accuracy import parse_accuracy
from tools.silver_parses import HELD_OUT, SilverSentence, read_silver

LAS_BAR = 0.91
RATE_BAR = 8000.0  # words per CPU second
BYTES_BAR = 5 * 2**20


def main() -> None:
    """Measure, print the results and write them."""
    options = parse_arguments()
    sentences = [sentence for sentence in read_silver(options.data) if sentence.part == HELD_OUT]
    record = measure(load_pipeline(options.parser), sentences, options.rounds)
    if options.parser == OWN:
        record["bytes"] = sum(path.stat().st_size for path in EMBEDDED.iterdir())
        record["passed"]["bytes"] = record["bytes"] < BYTES_BAR
    print(json.dumps(record, indent=2))
    with write_atomically(options.out) as handle:
        handle.write((json.dumps(record, indent=2) + "\n").encode())


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--parser", default=OWN)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/parser.json"))
    return parser.parse_args()


def measure(pipeline: Pipeline, sentences: list[SilverSentence], rounds: int) -> dict[str, Any]:
    """Return the accuracy, and the speed of several rounds without cached parses."""
    import spacy

    texts = [sentence.text for sentence in sentences]
    parses = Parser(pipeline).parse(texts)
    accuracy = parse_accuracy([sentence.parse for sentence in sentences], parses)
    words = sum(len(parse) for parse in parses)
    distinct = sum(len(parse) for parse in dict(zip(texts, parses, strict=True)).values())
    rates = [distinct / seconds(pipeline, texts) for _ in range(rounds)]
    return {
        "benchmark": "parser",
        "parser": pipeline.name,
        "fingerprint": pipeline.fingerprint,
        "sentences": len(sentences),
        "words": words,
        **{name: round(value, 4) for name, value in accuracy.items()},
        "words_per_cpu_second": round(statistics.median(rates)),
        "rounds": [round(rate) for rate in rates],
        "bars": {"las": LAS_BAR, "words_per_cpu_second": RATE_BAR, "bytes": BYTES_BAR},
        "passed": {
            "las": accuracy["las"] >= LAS_BAR,
            "words_per_cpu_second": statistics.median(rates) >= RATE_BAR,
        },
        "weft": VERSION,
        "spacy": spacy.__version__,
        "machine": f"{platform.machine()}, one thread, Python {platform.python_version()}",
    }


def seconds(pipeline: Pipeline, texts: list[str]) -> float:
    """Return the CPU seconds of parsing texts with an empty cache."""
    parser = Parser(pipeline)
    started = time.process_time()
    parser.parse(texts)
    return time.process_time() - started


if __name__ == "__main__":
    main()
