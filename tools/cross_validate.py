"""How well a configured model tells texts that it has not learned from apart from their permutations.

    python tools/cross_validate.py configs/syntax-hmm-accidents.toml --set model.clusters=12 --set model.clusters=48

Runs cross-validation over the configuration's own training documents (with their published permutations where the file
has them), once for each ``--set`` (settings that belong together are joined by ``;``), else once as configured. Test
data are never read. Prints a JSON line a run.
"""

from __future__ import annotations

import argparse
import json
import time

from weft.config import RunConfig, read_config
from weft.corpora.corruption import PermutedDocument, permutations
from weft.corpora.locate import find_data
from weft.corpora.parsing import Parser, find_parser
from weft.corpora.readers import read_permuted
from weft.models import create_model
from weft.tasks.discrimination import discriminate


def training_documents(config: RunConfig) -> list[PermutedDocument]:
    """The documents that a configuration trains on, with permutations."""
    read = [item for name in config.data.train for item in read_permuted(find_data(name))]
    made = (item if item.orders else PermutedDocument(item.document, permutations(item.document)) for item in read)
    return list(made)[: config.data.limit or None]


def accuracy(
    config: RunConfig, documents: list[PermutedDocument], folds: int, seed: int, parsers: dict[str, Parser]
) -> float:
    """The share of pairs in order, over all folds."""
    right = pairs = 0.0
    for fold in range(folds):
        model = create_model(config.model.name, config.model.settings)
        if hasattr(model, "with_parser"):  # one for all folds: a sentence is parsed once
            name = config.model.settings.get("parser", "")
            parsers.setdefault(name, find_parser(name))
            model.with_parser(parsers[name])
        model.fit([item.document for n, item in enumerate(documents) if n % folds != fold], seed=seed)
        found = discriminate(model, documents[fold::folds]).measures["accuracy"]
        right, pairs = right + sum(found.numerators), pairs + sum(found.denominators)
    return right / pairs


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--set", action="append", default=[], dest="settings", help="key=value[;key=value]")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, action="append", default=[])
    chosen = parser.parse_args()
    parsers: dict[str, Parser] = {}
    for settings in chosen.settings or [""]:
        config = read_config(chosen.config, [one for one in settings.split(";") if one])
        documents = training_documents(config)
        for seed in chosen.seed or [config.run.seed]:
            began = time.perf_counter()
            value = accuracy(config, documents, chosen.folds, seed, parsers)
            line = {"settings": settings, "seed": seed, "accuracy": round(value, 4)}
            print(json.dumps(line | {"seconds": round(time.perf_counter() - began, 1)}), flush=True)


if __name__ == "__main__":
    main()
