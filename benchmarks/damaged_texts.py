"""What repetition and random letters do to a score: one sound text, and what becomes of it.

    python benchmarks/damaged_texts.py [--model weft-reader] [--out results/benchmarks/damaged_texts.json]

The percentile is among texts of all genres. `docs/score.md` shows the result.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import weft
from weft.document import Document, Score
from weft.io.atomic_files import write_atomically
from weft.registry import DEFAULT_MODEL

TEXT = (
    "The town built a new library last year.",
    "It stands beside the river and has large windows.",
    "Children come there after school to read.",
    "In winter the rooms are warm, and many stay until evening.",
    "The librarian knows most of them by name.",
)
MONTHS = ("January", "March", "June", "August", "October")
LETTERS = "bcdfghjklmnpqrstvwxz"
WORDS, LONGEST_WORD = 7, 7  # of a sentence of random letters


def random_sentence(generator: random.Random) -> str:
    """Return a sentence of random letters, which forms no word."""
    words = ("".join(generator.choices(LETTERS, k=generator.randint(3, LONGEST_WORD))) for _ in range(WORDS))
    return " ".join(words).capitalize() + "."


def damaged_texts(seed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the text as written and damaged, each with its name."""
    generator = random.Random(seed)
    noise = [random_sentence(generator) for _ in TEXT]
    shuffled = [*TEXT]
    generator.shuffle(shuffled)
    yield "as written", TEXT
    yield "shuffled", tuple(shuffled)
    yield "the first sentence five times", (TEXT[0],) * 5
    yield "every sentence twice", tuple(sentence for sentence in TEXT for _ in range(2))
    yield "the whole text twice", TEXT * 2
    yield "the last sentence three times more", (*TEXT, *(TEXT[-1],) * 3)
    yield "five sentences that differ in one word", tuple(f"The town built a library in {month}." for month in MONTHS)
    yield "five sentences of random letters", tuple(noise)
    yield "one sentence of random letters five times", (noise[0],) * 5
    yield (
        "random letters after every sentence",
        tuple(sentence for pair in zip(TEXT, noise, strict=True) for sentence in pair),
    )


def row(name: str, score: Score) -> dict[str, Any]:
    """Return what a score says about a text."""
    return {
        "text": name, "value": score.value, "percentile": score.percentile, "fluency": score.fluency,
        "breaks": len(score.breaks), "warnings": [warning.code for warning in score.warnings],
    }  # fmt: skip


def main() -> None:
    """Score the texts, and print or write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    texts = [(name, Document(name, sentences)) for name, sentences in damaged_texts(options.seed)]
    scores = weft.score([document for _, document in texts], model=options.model, genre="all")
    rows = [row(name, score) for (name, _), score in zip(texts, scores, strict=True)]
    result = {"benchmark": "damaged_texts", "model": options.model, "seed": options.seed, "texts": rows}
    for one in rows:
        print(one)
    if options.out:
        with write_atomically(options.out) as file:
            file.write((json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
