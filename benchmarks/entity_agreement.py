"""Agreement of weft's entity grids with Barzilay and Lapata's own grids, cell by cell.

    pip install 'weft-coherence[parse]'
    python benchmarks/entity_agreement.py --data barzilay_lapata [--out results/benchmarks/entity_agreement.json]

The folder holds the documents (`accidents.train.jsonl`, …) and `raw_texts_and_grids.tar.gz`, the authors' grids. A
document is compared if both sides split it into the same number of sentences. A sentence is compared if the two rows
share at least half of the entities of the shorter row; otherwise they are different sentences. Cells that are empty in
both grids always agree, so the informative figures are those of cells with a mention in at least one grid. The rules
were chosen on the training documents; the grids of the test documents are used only here.
"""

from __future__ import annotations

import argparse
import json
import tarfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.corpora.readers.formats import read_documents
from weft.corpora.syntax.parser import Parser, find_parser
from weft.document import Document
from weft.io.atomic_files import write_atomically
from weft.models.entity.mentions import ROLE_NAMES, Mentions, find_mentions
from weft.version import VERSION

FOLDERS = {"accidents": "ntsb", "earthquakes": "apws"}
ORIGINAL = ".perm-1-p.parsed.grid"  # the first permutation is the text itself
Rules = Mapping[str, Any]
RULES: Mapping[str, Rules] = {"all nouns (default)": {}, "heads of noun phrases": {"nouns": "heads"}}


def main() -> None:
    """Compare, print the results and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--parser", default="weft-parser")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/entity_agreement.json"))
    options = parser.parse_args()
    pipeline = find_parser(options.parser)
    grids = read_grids(options.data / "raw_texts_and_grids.tar.gz")
    record = {
        "benchmark": "entity_agreement",
        "weft": VERSION,
        "parser": pipeline.name,
        "sets": [
            measure(options.data, domain, split, grids, pipeline) for domain in FOLDERS for split in ("train", "test")
        ],
    }
    print(json.dumps(record, indent=2))
    with write_atomically(options.out) as handle:
        handle.write((json.dumps(record, indent=2) + "\n").encode())


def read_grids(path: Path) -> dict[tuple[str, str, str], list[Mentions]]:
    """Return the authors' grids of the original texts by folder, split and document; one row per sentence."""
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            place = Path(member.name)
            handle = archive.extractfile(member) if place.name.endswith(ORIGINAL) else None
            if handle is not None:
                key = (place.parent.name, place.parent.parent.name, place.name.removesuffix(ORIGINAL))
                found[key] = read_grid(handle.read().decode("latin-1"))
    return found


def read_grid(text: str) -> list[Mentions]:
    """Return the mentions of each sentence of a grid file, which has one entity per line."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    size = max((len(row) - 1 for row in rows), default=0)
    found: list[Mentions] = [{} for _ in range(size)]
    for entity, *cells in rows:
        for sentence, cell in zip(found, cells, strict=False):
            if cell != "-":
                sentence[entity.lower()] = ROLE_NAMES.index(cell)
    return found


def measure(
    folder: Path, domain: str, split: str, grids: Mapping[tuple[str, str, str], list[Mentions]], parser: Parser
) -> dict[str, Any]:
    """Return the agreement on one set of documents for each of the rules."""
    documents = list(read_documents(folder / f"{domain}.{split}.jsonl"))
    compared = [
        (document, grid)
        for document in documents
        if len(grid := grids.get((FOLDERS[domain], split, document.id), [])) == len(document)
    ]
    return {
        "domain": domain,
        "split": split,
        "documents": len(documents),
        "documents_compared": len(compared),
        "agreement": {name: agreement(compared, parser, rules) for name, rules in RULES.items()},
    }


def agreement(compared: Sequence[tuple[Document, list[Mentions]]], parser: Parser, rules: Rules) -> dict[str, Any]:
    """Return how many cells agree, and the counts of all pairs of cells (theirs, then ours)."""
    cells: Counter[str] = Counter()
    empty, skipped = 0, 0
    for document, grid in compared:
        ours = [find_mentions(parse, **rules) for parse in parser.parse(document.sentences)]
        entities = len(set().union(*ours, *grid))
        for mine, theirs in zip(ours, grid, strict=True):
            if 2 * len(mine.keys() & theirs.keys()) < min(len(mine), len(theirs)):
                skipped += 1
                continue
            both = mine.keys() | theirs.keys()
            cells.update(ROLE_NAMES[theirs.get(name, 0)] + ROLE_NAMES[mine.get(name, 0)] for name in both)
            empty += entities - len(both)
    return summary(cells, empty) | {"sentences_not_the_same": skipped}


def summary(cells: Counter[str], empty: int) -> dict[str, Any]:
    """Return the shares of cells that agree."""
    in_both = sum(count for pair, count in cells.items() if "-" not in pair)
    same = sum(count for pair, count in cells.items() if pair[0] == pair[1])
    theirs = sum(count for pair, count in cells.items() if pair[0] != "-")
    ours = sum(count for pair, count in cells.items() if pair[1] != "-")
    return {
        "cells": sum(cells.values()) + empty,
        "cells_alike": round((same + empty) / (sum(cells.values()) + empty), 4),
        "cells_with_a_mention_alike": round(same / sum(cells.values()), 4),
        "mention_precision": round(in_both / ours, 4),
        "mention_recall": round(in_both / theirs, 4),
        "mention_f1": round(2 * in_both / (ours + theirs), 4),
        "role_accuracy_where_both_have_one": round(same / in_both, 4),
        "theirs_then_ours": dict(sorted(cells.items())),
    }


if __name__ == "__main__":
    main()
