"""Cross-validation of a configured model on its own training documents: accuracy on permutations.

    python tools/cross_validate.py configs/syntax-hmm-accidents.toml --set model.clusters=12 --set model.clusters=48
    python tools/cross_validate.py configs/discriminative-accidents.toml --only 3

The documents are those of the configuration, with their published permutations where the file has them. Each ``--set``
is one run (settings of one run are joined by ``;``); without it, the configuration runs as it is. Test data are never
read. Prints one JSON line per run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.corpora.corrupt import write_negatives
from weft.corpora.data_folder import find_data
from weft.corpora.negatives.permute import permutations
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.readers.formats import read_permuted
from weft.corpora.syntax.parser import Parser, find_parser
from weft.document import Document
from weft.evaluation.discrimination import discriminate
from weft.evaluation.metrics import ratio
from weft.protocols import NetworkModel
from weft.registry import create_model
from weft.training.config import RunConfig, read_config
from weft.training.runs import train


def training_documents(config: RunConfig) -> list[PermutedDocument]:
    """Return the training documents of a configuration, with permutations."""
    read = [item for name in config.data.train for item in read_permuted(find_data(name))]
    made = (item if item.orders else PermutedDocument(item.document, permutations(item.document)) for item in read)
    return list(made)[: config.data.limit or None]


def learned_from(config: RunConfig, documents: Sequence[Document], seed: int, parsers: dict[str, Parser]) -> Any:
    """Return the configured model, trained from scratch on some documents."""
    model: Any = create_model(config.model.name, config.model.settings)
    if isinstance(model, NetworkModel):  # a network is trained as by `weft train`
        return _trained(config, documents, seed)
    if hasattr(model, "with_parser"):  # one parser for all folds, so that a sentence is parsed once
        name = config.model.settings.get("parser", "")
        parsers.setdefault(name, find_parser(name))
        model.with_parser(parsers[name])
    return model.fit(documents, seed=seed)


def _trained(config: RunConfig, documents: Sequence[Document], seed: int) -> Any:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "learned.jsonl"
        write_negatives(file, (PermutedDocument(document, ()) for document in documents))
        data = replace(config.data, train=(str(file),))
        run = replace(config.run, seed=seed, out=f"{place}/model", folder=f"{place}/run")
        return train(replace(config, data=data, run=run))


def accuracies(
    config: RunConfig, documents: list[PermutedDocument], seed: int, parsers: dict[str, Parser], chosen: Namespace
) -> list[float]:
    """Return the accuracy in each fold."""
    found = []
    for fold in range(chosen.only or chosen.folds):
        others = [item.document for n, item in enumerate(documents) if n % chosen.folds != fold]
        measure = discriminate(learned_from(config, others, seed, parsers), documents[fold :: chosen.folds]).measures[
            "accuracy"
        ]
        found.append(ratio(measure.numerators, measure.denominators) or 0.0)
    return found


def main() -> None:
    """Run cross-validation for every group of settings and every seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--set", action="append", default=[], dest="settings", help="key=value[;key=value]")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", type=int, default=0, help="number of folds to run; 0 runs all")
    parser.add_argument("--seed", type=int, action="append", default=[])
    chosen = parser.parse_args()
    parsers: dict[str, Parser] = {}
    for settings in chosen.settings or [""]:
        config = read_config(chosen.config, [one for one in settings.split(";") if one])
        documents = training_documents(config)
        for seed in chosen.seed or [config.run.seed]:
            began = time.perf_counter()
            found = accuracies(config, documents, seed, parsers, chosen)
            line = {"settings": settings, "seed": seed, "accuracy": round(statistics.mean(found), 4)}
            line["folds"] = [round(value, 4) for value in found]
            print(json.dumps(line | {"seconds": round(time.perf_counter() - began, 1)}), flush=True)


if __name__ == "__main__":
    main()
