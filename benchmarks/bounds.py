"""Log-probabilities of vlv-gm by every estimate: how high they are, and how often originals score above permutations.

    python benchmarks/bounds.py --model zoo/vlv-gm [--data wikipedia/valid.paragraphs.jsonl] [--documents 100]
        [--permutations 5] [--few 5] [--many 100] [--device auto] [--seed 1] [--out results/benchmarks/bounds.json]

An estimate draws z from the posterior (elbo, iwae) or from the prior (prior), or takes the higher of both (tighter).
elbo, iwae and prior are lower bounds in expectation, so a higher mean is a better estimate of the log-probability;
tighter, the higher of two noisy bounds, can be above the log-probability, the more so with few samples. Printed for
each: nats per sentence of originals and of permutations, both directions together; the accuracies of uni, bi and
MMI; and the share of texts for which z from the prior gives the higher estimate.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.data_folder import find_data
from weft.corpora.negatives.permute import permutations
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.readers.jsonl import read_jsonl
from weft.evaluation.discrimination import discriminate
from weft.evaluation.metrics import bootstrap_interval, ratio
from weft.hub import model_folder
from weft.io.atomic_files import write_atomically
from weft.models.vlv.estimators import Estimate
from weft.models.vlv.vlv_gm import VlvGm
from weft.training.devices import start_runtime
from weft.training.part_names import ENCODERS
from weft.version import VERSION

Bounds = npt.NDArray[np.float64]


def estimates(few: int, many: int) -> list[Estimate]:
    """Return the estimates to compare.

    Example:
        >>> [one.name for one in estimates(5, 100)][:3]
        ['elbo-5', 'iwae-5', 'prior-5']
        >>> [one.name for one in estimates(5, 0)]
        ['elbo-5', 'iwae-5', 'prior-5', 'tighter-5']
    """
    counts = (few, many) if many else (few,)
    return [Estimate("elbo", few), *(Estimate(kind, n) for n in counts for kind in ("iwae", "prior", "tighter"))]


def bounds(model: VlvGm, documents: Sequence[PermutedDocument]) -> list[Bounds]:
    """Return the bound of each document in nats per sentence, original order first: [orders] each."""
    found = []
    for item in documents:
        orders = [list(range(len(item.document))), *(list(order) for order in item.orders)]
        total = np.zeros(len(orders))
        for part in ENCODERS:
            read = orders if part == "forward" else [order[::-1] for order in orders]
            values = model.predictors[part].log_probs(item.document.sentences, read)
            total += [one.mean() for one in values]
        found.append(total / len(ENCODERS))
    return found


def report_of(model: VlvGm, documents: Sequence[PermutedDocument], seed: int) -> tuple[dict[str, Any], list[Bounds]]:
    """Return the figures of one estimate, and its bounds."""
    found = bounds(model, documents)
    report: dict[str, Any] = {
        "originals": float(np.mean([one[0] for one in found])),
        "permutations": float(np.mean([one[1:].mean() for one in found])),
    }
    for combine in ("uni", "bi", "mmi"):
        measure = discriminate(model.combined(combine), documents).measures["accuracy"]
        counts = measure.numerators, measure.denominators
        report[combine] = {"accuracy": ratio(*counts), "interval": bootstrap_interval(*counts, seed=seed)}
    return report, found


def higher(one: Sequence[Bounds], other: Sequence[Bounds]) -> dict[str, float]:
    """Return the share of originals and of permutations for which the first bound is higher than the second.

    Example:
        >>> higher([np.array([-1.0, -4.0])], [np.array([-2.0, -3.0])])
        {'originals': 1.0, 'permutations': 0.0}
    """
    wins = [a > b for a, b in zip(one, other, strict=True)]
    return {
        "originals": float(np.mean([row[0] for row in wins])),
        "permutations": float(np.mean(np.concatenate([row[1:] for row in wins]))),
    }


def main() -> int:
    """Measure, print the results and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="vlv-gm", help="name or folder of a trained vlv-gm")
    parser.add_argument("--data", default="wikipedia/valid.paragraphs.jsonl")
    parser.add_argument("--data-root")
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--permutations", type=int, default=5)
    parser.add_argument("--few", type=int, default=5, help="number of samples of z")
    parser.add_argument("--many", type=int, default=100, help="larger number of samples of z; 0: none")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/bounds.json"))
    options = parser.parse_args()
    path = find_data(options.data, options.data_root)
    texts = islice(read_jsonl(path), options.documents)
    count, seed = options.permutations, options.seed
    documents = [PermutedDocument(one, permutations(one, count=count, seed=seed)) for one in texts]
    report: dict[str, Any] = {
        "benchmark": "bounds", "model": options.model, "data": path.name, "documents": len(documents),
        "permutations": count, "seed": seed, "weft": VERSION, "estimates": {}, "prior_higher": {},
    }  # fmt: skip
    found: dict[str, list[Bounds]] = {}
    with start_runtime(options.device) as runtime:
        trained = VlvGm.load(model_folder(options.model)).to(runtime.device)
        for one in estimates(options.few, options.many):
            chosen = trained.adjusted({"estimator": one.kind, "samples": one.samples})
            report["estimates"][one.name], found[one.name] = report_of(chosen, documents, seed)
            print(one.name, json.dumps(report["estimates"][one.name]), flush=True)
    for n in filter(None, (options.few, options.many)):
        report["prior_higher"][str(n)] = higher(found[f"prior-{n}"], found[f"iwae-{n}"])
    with write_atomically(options.out) as handle:
        handle.write((json.dumps(report, indent=1) + "\n").encode())
    print(json.dumps(report["prior_higher"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
