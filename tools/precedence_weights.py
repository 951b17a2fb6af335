"""Choose the weight of precedence in ordering: τ on validation paragraphs for several weights.

    python tools/precedence_weights.py --model zoo/seq2seq --weight 0 --weight 0.1 --weight 1
        [--combine mmi] [--data wikipedia/valid.paragraphs.jsonl] [--documents 300] [--beam 10] [--seed 1]
        [--out results/benchmarks/precedence_seq2seq.json]

The first sentence is given and excluded from τ. Weight 0 orders by transitions alone, as in the paper. The weight is
chosen on validation paragraphs, never on test paragraphs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from weft.corpora.data_folder import find_data
from weft.corpora.readers.jsonl import read_jsonl
from weft.document import Document
from weft.evaluation.metrics import bootstrap_interval, kendall_tau, ratio
from weft.hub import load_model
from weft.io.atomic_files import write_atomically
from weft.ordering.order import order_document
from weft.training.devices import start_runtime
from weft.version import VERSION


def rank_correlations(model: Any, documents: Sequence[Document], *, weight: float, beam: int, seed: int) -> list[float]:
    """Return τ of every document without the given first sentence."""
    chosen = model.adjusted({"precedence_weight": weight}) if weight else model
    objective: Any = "both" if weight else "coherence"
    taus = []
    for document in documents:
        found = order_document(chosen, document, first=0, search="beam", objective=objective, beam=beam, seed=seed)
        tau = kendall_tau(list(found.order[1:]))
        if tau is not None:  # undefined for fewer than three sentences
            taus.append(tau)
    return taus


def summary(taus: list[float], weight: float, seed: int) -> dict[str, Any]:
    """Return the mean, its interval and the values."""
    ones = [1.0] * len(taus)
    interval = bootstrap_interval(taus, ones, seed=seed)
    return {"weight": weight, "tau": ratio(taus, ones), "interval": interval, "documents": len(taus), "taus": taus}


def main() -> int:
    """Order with every weight; print and write the results after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder of a model that has learned precedence")
    parser.add_argument(
        "--weight", type=float, action="append", required=True, help="weight of precedence, 0 or more; may be repeated"
    )
    parser.add_argument("--combine", default="mmi")
    parser.add_argument("--data", default="wikipedia/valid.paragraphs.jsonl")
    parser.add_argument("--data-root")
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--beam", type=int, default=10)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or Path("results/benchmarks") / f"precedence_{Path(options.model).name}.json"
    documents = list(islice(read_jsonl(find_data(options.data, options.data_root)), options.documents))
    report: dict[str, Any] = {
        "benchmark": "precedence", "model": options.model, "combine": options.combine, "data": options.data,
        "beam": options.beam, "seed": options.seed, "weft": VERSION, "weights": [],
    }  # fmt: skip
    with start_runtime(options.device) as runtime:
        model: Any = load_model(options.model)
        model = model.to(runtime.device).combined(options.combine)
        for weight in options.weight:
            taus = rank_correlations(model, documents, weight=weight, beam=options.beam, seed=options.seed)
            report["weights"].append(summary(taus, weight, options.seed))
            with write_atomically(out) as handle:
                handle.write((json.dumps(report) + "\n").encode())
            print(json.dumps({name: value for name, value in report["weights"][-1].items() if name != "taus"}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
