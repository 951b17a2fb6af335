"""`weft prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from weft.cli import options
from weft.cli.options import option

if TYPE_CHECKING:
    from weft.corpora.process_pool import OrderedMap

DROP_HELP = "Leave out paragraphs found in held-out texts instead of stopping."
RESTART_HELP = "Start an interrupted run from the beginning instead of continuing it."
ENGINE_HELP = "Where texts are encoded: processes of this machine, or ray."


def prepare(
    files: options.Files,
    out: Annotated[Path, option("Store to write.", "FOLDER", "--out", "-o")],
    tokenizer: Annotated[Path | None, option("Saved tokenizer. [default: one is trained on the input]", "FILE")] = None,
    kind: Annotated[str, option("Kind of tokenizer to train.", "bpe|words")] = "bpe",
    vocabulary: Annotated[int, option("Size of the vocabulary to train.", "N")] = 16384,
    held_out: Annotated[list[Path], option("Texts that must not be in the store; repeat for more.", "FILE")] = [],  # noqa: B006
    drop_overlap: Annotated[bool, option(DROP_HELP, "", "--drop-overlap")] = False,
    workers: Annotated[int | None, option("Number of processes. [default: one per core]", "N")] = None,
    engine: Annotated[options.EngineName, option(ENGINE_HELP, "processes|ray")] = options.EngineName.processes,
    overwrite: Annotated[bool, option("Replace a store made from other inputs.", "", "--overwrite")] = False,
    restart: Annotated[bool, option(RESTART_HELP, "", "--restart")] = False,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
) -> None:
    """Turn texts into a memory-mapped token store for training.

    An interrupted run continues where it stopped.

    Example: weft prepare train-*.jsonl.xz --out store --held-out test.paragraphs.jsonl
    """
    from weft.cli.output import message, progress_bar, read_options
    from weft.corpora.readers.found_files import expanded
    from weft.corpora.store.prepare import prepare

    with progress_bar() as progress:
        store = prepare(
            expanded(files),
            out,
            tokenizer=tokenizer,
            tokenizer_kind=kind,
            vocabulary_size=vocabulary,
            held_out=held_out,
            drop_overlap=drop_overlap,
            workers=workers,
            apply=_ordered_map(engine),
            overwrite=overwrite,
            restart=restart,
            options=read_options(input, encoding, language, column, id_column, speaker, clean),
            progress=progress,
        )
    counts = store.info.counts
    message(f"wrote {out}: {counts['articles']} articles, {counts['sentences']} sentences, {counts['tokens']} tokens")


def _ordered_map(engine: options.EngineName) -> OrderedMap:
    if engine == options.EngineName.processes:
        from weft.corpora.process_pool import map_in_order

        return map_in_order
    from weft.scale.ray_engine import in_order_with_ray

    return in_order_with_ray
