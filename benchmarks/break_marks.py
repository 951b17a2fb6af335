"""What marked breaks are worth on texts that the calibration has not seen.

    python benchmarks/break_marks.py --data $WEFT_DATA/genres/test.jsonl.xz
        --data $WEFT_DATA/wikipedia/test.paragraphs.jsonl [--model weft-reader] [--limit 100] [--seed 1]
        [--out results/benchmarks/break_marks.json]

Reads every text as written and one damaged copy of it, as `weft calibrate` does: half of the copies have an intruding
sentence of the next text, the others have another order. For each file and genre the result has the share of sound
texts in which a gap is marked (false alarms), the expected calibration error over all gaps, the share of damaged copies
with a mark at a break, and how many gaps were marked and how many of these are breaks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.corpora.negatives.damaged_documents import damaged_copies
from weft.corpora.readers.formats import read_labelled
from weft.document import Document
from weft.hub import load_model
from weft.io.atomic_files import write_atomically
from weft.protocols import BreakModel
from weft.registry import DEFAULT_MODEL
from weft.scoring.break_calibration import calibration_error

FEWEST = 3  # sentences
ALL = "all"


@dataclass
class Counts:
    """What was counted in some texts."""

    alarms: list[bool] = field(default_factory=list)  # of each sound text: is a gap marked?
    found: list[bool] = field(default_factory=list)  # of each damaged copy: is a break marked?
    chances: list[float] = field(default_factory=list)  # of gaps
    broken: list[bool] = field(default_factory=list)  # of the same gaps
    marked: list[bool] = field(default_factory=list)  # of the gaps of damaged copies: is a marked one a break?

    def summary(self) -> dict[str, float | int]:
        """Return the shares."""
        return {
            "texts": len(self.alarms),
            "false_alarms": sum(self.alarms) / len(self.alarms),
            "calibration_error": calibration_error(self.chances, self.broken),
            "damaged_marked": sum(self.found) / max(1, len(self.found)),
            "marks": len(self.marked),
            "marks_right": sum(self.marked) / max(1, len(self.marked)),
        }


def counted(model: BreakModel, texts: Sequence[Document], seed: int) -> Counts:
    """Read texts and their damaged copies."""
    found, calibration = Counts(), model.break_calibration
    assert calibration is not None
    for text in texts:
        chances = model.break_probabilities(text)
        found.alarms.append(bool(calibration.marks(chances)))
        found.chances += chances
        found.broken += [False] * len(chances)
    for copy in damaged_copies(texts, seed=seed):
        chances = model.break_probabilities(copy.document)
        marks = calibration.marks(chances)
        found.found.append(any(copy.broken[gap] for gap in marks))
        found.marked += [bool(copy.broken[gap]) for gap in marks if copy.broken[gap] is not None]
        known = [(chance, label) for chance, label in zip(chances, copy.broken, strict=True) if label is not None]
        found.chances += [chance for chance, _ in known]
        found.broken += [label for _, label in known]
    return found


def joined(parts: Sequence[Counts]) -> Counts:
    """Return the counts of several genres together."""
    total = Counts()
    for part in parts:
        total.alarms += part.alarms
        total.found += part.found
        total.chances += part.chances
        total.broken += part.broken
        total.marked += part.marked
    return total


def genres_of(path: str, limit: int) -> dict[str, list[Document]]:
    """Return the first texts of each genre of a file; those without a genre have the name of the file."""
    found: dict[str, list[Document]] = defaultdict(list)
    for text in _texts(path):
        same = found[text.genre or Path(path).name]
        if len(same) < limit:
            same.append(text)
    return found


def _texts(path: str) -> Iterator[Document]:
    return (text for text in read_labelled([path]) if len(text) >= FEWEST and len(set(text.sentences)) > 1)


def measured(model: BreakModel, path: str, limit: int, seed: int) -> dict[str, Any]:
    """Return what was counted in a file, by genre and together."""
    counts = {}
    for genre, texts in sorted(genres_of(path, limit).items()):
        counts[genre] = counted(model, texts, seed)
        print(path, genre, counts[genre].summary(), file=sys.stderr)
    everything = {ALL: joined(list(counts.values())).summary()}
    return everything if len(counts) == 1 else everything | {name: one.summary() for name, one in counts.items()}


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", required=True, help="texts that the model was not calibrated with")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--limit", type=int, default=100, help="texts of each genre of a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    model = load_model(options.model)
    if not isinstance(model, BreakModel) or model.break_calibration is None:
        sys.exit(f"{options.model} has no calibrated breaks; allowed: a reader after `weft calibrate`")
    files = {Path(path).parent.name: measured(model, path, options.limit, options.seed) for path in options.data}
    result = {
        "benchmark": "break_marks", "model": options.model, "limit": options.limit, "seed": options.seed,
        "threshold": model.break_calibration.threshold, "data": files,
    }  # fmt: skip
    text = json.dumps(result, indent=1) + "\n"
    print(text)
    if options.out:
        with write_atomically(options.out) as file:
            file.write(text.encode())


if __name__ == "__main__":
    main()
