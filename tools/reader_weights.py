"""Choose the weights of a reader's score and of its search for orders, on validation texts.

    python tools/reader_weights.py zoo/reader --data wikipedia/valid.paragraphs.jsonl --data genres/dev.jsonl.xz
        [--most 20] [--limit 300] [--orders 100] [--device auto] [--seed 1] [--out weights.json]
    python tools/reader_weights.py zoo/reader --choose neighbour_weight=0.3 --choose precedence_weight=0.2
    python tools/reader_weights.py zoo/reader --best weights.json

The score of an order is the mean of log p(next) plus `neighbour_weight` times the mean precedence of neighbours plus
`precedence_weight` times the mean precedence of all pairs. Each text is read once; for every pair of weights the tool
prints the accuracy against permutations (`pairs`) and exchanged neighbours (`swaps`), and for every `order_weight` the
mean τ of orders that are found with nothing given. Weights are chosen here, never on test texts; `--choose` writes them
into the model folder, and `--best` writes those with the highest mean over the files of swaps + 0.5 pairs + 0.3 τ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.data_folder import find_data
from weft.corpora.negatives.permute import permutations
from weft.corpora.readers.formats import read_documents
from weft.document import Document
from weft.errors import ConfigError, WeftError
from weft.evaluation.metrics import kendall_tau
from weft.hub import load_model
from weft.io.atomic_files import write_atomically
from weft.io.model_folder import load_artifact, save_artifact
from weft.models.common.setting_checks import restored_settings
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import ReaderSettings
from weft.models.reader.text_tables import TextTables
from weft.training.config import parse_settings

PRECEDENCE = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
BESIDE = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2)
ORDER = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
ORDER_BESIDE = (0.0, 0.1, 0.3, 0.5)
KIND_WEIGHTS = {"swaps": 1.0, "pairs": 0.5, "orders": 0.3}  # of the value that `--best` looks for
NEGATIVES = 20
TIE = 1e-9  # smaller differences of scores are rounding errors

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Margins:
    """How much higher the original of each pair is: next sentence, precedence of neighbours and of all pairs."""

    pairs: Numbers  # [pairs, 3]
    swaps: Numbers  # [pairs, 3]

    def accuracy(self, kind: str, neighbours: float, precedence: float) -> float:
        """Return the share of pairs whose original scores higher; ties are wrong."""
        margins = self.pairs if kind == "pairs" else self.swaps
        return float((margins @ np.array([1.0, neighbours, precedence]) > TIE).mean()) if len(margins) else float("nan")


def parts(tables: TextTables, orders: npt.NDArray[np.int64]) -> Numbers:
    """Return the three parts of the scores of orders, whose weighted sum is the score: [orders, 3]."""
    steps = tables.values(orders, 0.0)
    neighbours = replace(tables, follows=tables.precedence).values(orders, 0.0)
    return np.stack([steps, neighbours, tables.values(orders, 1.0) - steps], axis=1)


def margins(tables: TextTables, document: Document, seed: int) -> Margins:
    """Return the margins of a text over its permutations and over all exchanges of two neighbours."""
    shuffled = permutations(document, count=NEGATIVES, seed=seed)
    own = list(range(len(document)))
    swapped = [[*own[:left], left + 1, left, *own[left + 2 :]] for left in own[:-1]]
    found = parts(tables, np.array([own, *shuffled, *swapped]))
    gains = found[0] - found[1:]
    return Margins(gains[: len(shuffled)], gains[len(shuffled) :])


def orders_found(model: Reader, document: Document, seed: int) -> dict[str, float]:
    """Return τ of the order that the search finds with each pair of weights."""
    start = np.random.default_rng([seed, len(document)]).permutation(len(document)).tolist()
    shuffled = document.reorder(start)
    taus = {}
    for neighbours, order in product(ORDER_BESIDE, ORDER):
        chosen = model.adjusted({"neighbour_weight": neighbours, "order_weight": order})
        tau = kendall_tau([start[place] for place in chosen.arrange(shuffled)])
        taus[_names(neighbours, 0.0, order)[1]] = float("nan") if tau is None else tau
    return taus


def measure(
    model: Reader, documents: Sequence[Document], seed: int, ordered: int | None = None
) -> dict[str, dict[str, Any]]:
    """Return accuracies and τ of all weights; with ``ordered``, τ of about so many texts, as a search takes time."""
    found, taus = [], []
    every = max(1, len(documents) // ordered) if ordered else 1
    for number, document in enumerate(documents):
        found.append(margins(model.tables(document), document, seed))
        taus += [orders_found(model, document, seed)] if number % every == 0 else []
        if number % 100 == 99:
            print(f"{number + 1} of {len(documents)} texts", file=sys.stderr, flush=True)
    whole = Margins(np.concatenate([one.pairs for one in found]), np.concatenate([one.swaps for one in found]))
    scores = {
        _names(neighbours, precedence, 0.0)[0]: {
            kind: whole.accuracy(kind, neighbours, precedence) for kind in ("pairs", "swaps")
        }
        for neighbours, precedence in product(BESIDE, PRECEDENCE)
    }
    return {"scores": scores, "orders": {name: float(np.nanmean([one[name] for one in taus])) for name in taus[0]}}


def texts(name: str, *, most: int, limit: int | None, data_root: str | None) -> list[Document]:
    """Return the first sentences of documents of a file that have three or more; with a limit, of every k-th one."""
    cut = (one.reorder(range(min(most, len(one)))) for one in read_documents(find_data(name, data_root)))
    kept = [one for one in cut if len(one) > 2]
    return kept[:: max(1, len(kept) // limit)][:limit] if limit else kept


def loaded(folder: str, device: str) -> Reader:
    """Return a trained reader on a device.

    Raises:
        ConfigError: The folder has another model.
    """
    model: Any = load_model(folder)
    if not isinstance(model, Reader):
        raise ConfigError("not a reader", seen=folder, allowed="the folder of a trained reader")
    return model.to(device if device != "auto" else model.devices()[-1])


def main() -> int:
    """Measure, print the best weights and write all values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of a trained reader")
    parser.add_argument("--data", action="append", default=[], help="file of validation texts; may be repeated")
    parser.add_argument("--choose", action="append", default=[], help="KEY=VALUE to write; may be repeated")
    parser.add_argument("--best", type=Path, help="JSON file of --out, whose best weights are written")
    parser.add_argument("--data-root", help="the data folder")
    parser.add_argument("--most", type=int, default=20, help="number of sentences that are read of a text")
    parser.add_argument("--limit", type=int, help="number of texts of each file")
    parser.add_argument("--orders", type=int, help="number of texts of each file that are put in order")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON file for all values")
    options = parser.parse_args()
    try:
        if options.best:
            options.choose += best_weights(json.loads(options.best.read_text(encoding="utf-8")))
        if options.choose:
            choose(options.model, options.choose)
        model, results = loaded(options.model, options.device), {}
        for name in options.data:
            chosen = texts(name, most=options.most, limit=options.limit, data_root=options.data_root)
            results[name] = measure(model, chosen, options.seed, options.orders)
            report(name, results[name])
    except WeftError as error:
        print(error, file=sys.stderr)
        return 2
    if options.out:
        with write_atomically(options.out) as file:
            file.write(json.dumps(results, indent=1).encode())
    return 0


def best_weights(results: Mapping[str, Any]) -> list[str]:
    """Return the weights with the highest value, as KEY=VALUE: the mean over files of the sum of `KIND_WEIGHTS`."""

    def value(neighbours: float, precedence: float, order: float) -> float:
        scores, orders = _names(neighbours, precedence, order)
        found = [{**one["scores"][scores], "orders": one["orders"][orders]} for one in results.values()]
        return sum(weight * float(one[kind]) for one in found for kind, weight in KIND_WEIGHTS.items())

    neighbours, precedence, order = max(product(ORDER_BESIDE, PRECEDENCE, ORDER), key=lambda one: value(*one))
    return [f"neighbour_weight={neighbours:g}", f"precedence_weight={precedence:g}", f"order_weight={order:g}"]


def _names(neighbours: float, precedence: float, order: float) -> tuple[str, str]:
    """Return the names of weights in results: those of a score, and those of a search."""
    shared = f"neighbour_weight {neighbours:g} "
    return f"{shared}precedence_weight {precedence:g}", f"{shared}order_weight {order:g}"


def choose(folder: str, pairs: Sequence[str]) -> None:
    """Write weights into a model folder; its networks stay as they are.

    Raises:
        ConfigError: The folder has another model, or a setting is not one that a trained reader can change.
    """
    artifact = load_artifact(folder)
    if artifact.model != Reader.name:
        raise ConfigError("not a reader", seen=artifact.model, allowed="the folder of a trained reader")
    settings = restored_settings(ReaderSettings, artifact, folder).adjusted(parse_settings(pairs))
    save_artifact(replace(artifact, config=settings.to_dict()), folder)
    print(f"wrote {', '.join(pairs)} to {folder}")


def report(name: str, found: dict[str, dict[str, Any]]) -> None:
    """Print the best weights of a file, and the values of the weights that training does not change."""
    plain = found["scores"]["neighbour_weight 0 precedence_weight 0.1"]
    print(f"{name}: plain weights: pairs {plain['pairs']:.4f} swaps {plain['swaps']:.4f}")
    for kind in ("pairs", "swaps"):
        best = max(found["scores"], key=lambda one: found["scores"][one][kind])
        print(f"{name}: best {kind}: {best}: {found['scores'][best]}")
    best = max(found["orders"], key=lambda one: found["orders"][one])
    print(f"{name}: best order: {best}: tau {found['orders'][best]:.4f}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
