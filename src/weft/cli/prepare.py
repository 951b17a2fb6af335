"""`weft prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Column, Encoding, Files, Input, Language


def prepare(
    files: Files,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Store to write.")],
    tokenizer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Saved tokenizer. [default: one is trained on the input]"),
    ] = None,
    kind: Annotated[str, typer.Option("--kind", metavar="bpe|words", help="Kind of tokenizer to train.")] = "bpe",
    vocabulary: Annotated[int, typer.Option(metavar="N", help="Size of the vocabulary to train.")] = 16384,
    held_out: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Texts that must not be in the store; repeat for more.")
    ] = [],  # noqa: B006
    drop_overlap: Annotated[
        bool,
        typer.Option(
            "--drop-overlap", metavar="", help="Leave out paragraphs found in held-out texts instead of stopping."
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of processes. [default: one per core]")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", metavar="", help="Replace a store made from other inputs.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", metavar="", help="Start an interrupted run again instead of continuing it.")
    ] = False,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Turn texts into a memory-mapped token store for training.

    An interrupted run continues where it stopped.

    Example: weft prepare train-*.jsonl.xz --out store --held-out test.paragraphs.jsonl
    """
    from weft.cli.output import message, progress_bar, read_options
    from weft.corpora.store.prepare import prepare

    with progress_bar() as progress:
        store = prepare(
            files,
            out,
            tokenizer=tokenizer,
            tokenizer_kind=kind,
            vocabulary_size=vocabulary,
            held_out=held_out,
            drop_overlap=drop_overlap,
            workers=workers,
            overwrite=overwrite,
            restart=restart,
            options=read_options(input, encoding, language, column),
            progress=progress,
        )
    counts = store.info.counts
    message(f"wrote {out}: {counts['articles']} articles, {counts['sentences']} sentences, {counts['tokens']} tokens")
