"""`weft corrupt`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Column, Encoding, Input, Language, Seed


def corrupt(
    source: Annotated[str, typer.Argument(metavar="FILE", help="File of documents.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="JSONL file to write.")],
    permutations: Annotated[int, typer.Option(min=0, metavar="N", help="Permutations per document.")] = 20,
    replacements: Annotated[int, typer.Option(min=0, metavar="N", help="Sentence replacements per document.")] = 0,
    seed: Seed = 1,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Write documents with their permutations to a file for evaluations.

    Example: weft corrupt mine.jsonl --out mine.pairs.jsonl --permutations 20
    """
    from weft.cli.output import message, read_options
    from weft.corpora.corrupt import corrupt_file

    written = corrupt_file(
        source,
        out,
        permutations_each=permutations,
        replacements_each=replacements,
        seed=seed,
        options=read_options(input, encoding, language, column),
    )
    message(f"wrote {written} documents to {out}")
