"""How a configuration does on documents it has not learned from, by cross-validation on the TRAINING documents.

Every fold is trained from scratch by `weft train` on the others' documents; the test set is never read.

    python benchmarks/cross_validation.py configs/discriminative-accidents.toml --set model.dropout=0.5 --only 2
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from weft.config import read_config
from weft.corpora.corruption import PermutedDocument
from weft.corpora.locate import find_data
from weft.corpora.negatives import write_negatives
from weft.corpora.readers import read_permuted
from weft.runs import train
from weft.tasks.discrimination import discriminate
from weft.tasks.metrics import ratio


def folds(
    documents: Sequence[PermutedDocument], count: int
) -> list[tuple[list[PermutedDocument], list[PermutedDocument]]]:
    """Learned from and held out, by turns; the order is the same each time."""
    order = np.random.default_rng(0).permutation(len(documents))
    held = [set(order[number::count].tolist()) for number in range(count)]
    return [
        (
            [document for number, document in enumerate(documents) if number not in chosen],
            [document for number, document in enumerate(documents) if number in chosen],
        )
        for chosen in held
    ]


def fold_accuracy(
    config: str, settings: Sequence[str], learned: list[PermutedDocument], held: list[PermutedDocument]
) -> float:
    """Train on one part and tell originals from permutations in the other."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "learned.jsonl"
        write_negatives(file, (PermutedDocument(item.document, ()) for item in learned))
        changes = [f'data.train=["{file}"]', f"run.out={place}/model", f"run.folder={place}/run"]
        model = train(read_config(config, [*settings, *changes]))
        found = discriminate(model, held).measures["accuracy"]
    return ratio(found.numerators, found.denominators) or 0.0


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", type=int, default=0, help="only the first so many folds")
    chosen = parser.parse_args()
    data = read_config(chosen.config, chosen.settings).data.train
    documents = [item for name in data for item in read_permuted(find_data(name))]
    began, accuracies = time.monotonic(), []
    for learned, held in folds(documents, chosen.folds)[: chosen.only or chosen.folds]:
        accuracies.append(fold_accuracy(chosen.config, chosen.settings, learned, held))
    spread = statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0
    each = " ".join(f"{value:.4f}" for value in accuracies)
    seconds = (time.monotonic() - began) / len(accuracies)
    sys.stdout.write(
        f"{Path(chosen.config).stem} {' '.join(chosen.settings)}: {statistics.mean(accuracies):.4f} ± {spread:.4f} "
        f"({each}), {seconds:.0f} s a fold\n"
    )


if __name__ == "__main__":
    main()
