"""`weft corrupt`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from weft.cli import options
from weft.cli.options import argument, option


def corrupt(
    source: Annotated[str, argument("File of documents.", "FILE")],
    out: Annotated[Path, option("JSONL file to write.", "FILE", "--out", "-o")],
    permutations: Annotated[int, option("Permutations per document.", "N", low=0)] = 20,
    replacements: Annotated[int, option("Sentence replacements per document.", "N", low=0)] = 0,
    seed: options.Seed = 1,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
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
        options=read_options(input, encoding, language, column, id_column, speaker, clean),
    )
    message(f"wrote {written} documents to {out}")
