"""How often the reasons for breaks are right, in dev texts of all genres with a damage that is known.

Each text gets a sentence of another text, or one of its own is moved by at least four places. Where a gap beside
that sentence is marked as a break, its reason is right if it is about this sentence: `foreign` for one of another
text, `moved` for a moved one. What a reason says about the sentence, rightly or not, is counted by its code.

    python benchmarks/reasons.py --data $WEFT_DATA/genres/dev.jsonl.xz --out results/benchmarks/reasons.json
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import weft
from weft.document import Document
from weft.io.atomic_files import write_atomically
from weft.loaded_model import Model
from weft.models.common.thread_pool import few_threads
from weft.ordering.break_reasons import break_reasons
from weft.version import VERSION

SHORTEST, LONGEST = 8, 40  # sentences of a text
FARTHEST = 4  # places that a sentence is moved by, at least


def texts_of(path: Path, most: int, seed: int) -> list[Sequence[str]]:
    """Return some texts of a file of JSON lines, as sentences."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = map(json.loads, file)
        found = [tuple(sentence for part in row["paragraphs"] for sentence in part) for row in rows]
    fitting = [one for one in found if SHORTEST <= len(one) <= LONGEST]
    return random.Random(seed).sample(fitting, min(most, len(fitting)))


def intruders(texts: Sequence[Sequence[str]], numbers: random.Random) -> Iterator[tuple[Document, int]]:
    """Yield each text with a sentence of another one, and its place."""
    for number, text in enumerate(texts):
        place = numbers.randrange(1, len(text))
        sentence = numbers.choice(texts[number - 1])
        yield Document(str(number), (*text[:place], sentence, *text[place:])), place


def moves(texts: Sequence[Sequence[str]], numbers: random.Random) -> Iterator[tuple[Document, int]]:
    """Yield each text with one of its sentences moved far, and its new place."""
    for number, text in enumerate(texts):
        start = numbers.randrange(len(text))
        place = numbers.choice([other for other in range(len(text)) if abs(other - start) >= FARTHEST])
        rest = [*text[:start], *text[start + 1 :]]
        yield Document(str(number), (*rest[:place], text[start], *rest[place:])), place


def measure(model: Model, damaged: Iterator[tuple[Document, int]], right: str) -> dict[str, Any]:
    """Return what the reasons of the marked gaps beside the damage say."""
    counts: Counter[str] = Counter()
    for document, place in damaged:
        gaps = [gap for gap in model.score(document).breaks if gap in (place - 1, place)]
        with few_threads():
            found = break_reasons(model.inner, document, gaps)
        for gap in gaps:
            reason = found.get(gap)
            about = "" if reason is None else " of it" if reason.sentence == place else " of another"
            counts["none" if reason is None else reason.code + about] += 1
    marked, given = sum(counts.values()), sum(counts.values()) - counts["none"]
    it = sum(number for name, number in counts.items() if name.endswith(" of it"))
    return {
        "marked_gaps": marked,
        "given": round(given / max(1, marked), 3),
        "right": round(counts[f"{right} of it"] / max(1, given), 3),
        "right_sentence": round(it / max(1, given), 3),
        "counts": dict(sorted(counts.items())),
    }


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="weft-reader")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    model, texts = weft.load(options.model), texts_of(options.data, options.texts, options.seed)
    result = {
        "benchmark": "reasons", "version": VERSION, "model": options.model, "data": options.data.name,
        "texts": len(texts), "seed": options.seed,
        "intruder": measure(model, intruders(texts, random.Random(options.seed)), "foreign"),
        "moved": measure(model, moves(texts, random.Random(options.seed)), "moved"),
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if options.out is not None:
        with write_atomically(options.out) as file:
            file.write(json.dumps(result, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
