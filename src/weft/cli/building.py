"""Commands that make models: models, config, prepare, train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import (
    Column,
    DataRoot,
    Encoding,
    Files,
    Format,
    Input,
    Language,
    OutputFormat,
    Override,
    command_line,
)


def models(format: Format = OutputFormat.table) -> None:
    """List the built-in models and what each one's score means."""
    from weft.cli.output import write_models

    write_models(format.value)


def config(
    name: Annotated[str, typer.Argument(help="A model's name, or a TOML file.")],
    setting: Override = [],  # noqa: B006
) -> None:
    """Show a model's settings with their defaults, or check a configuration file and write it out whole.

    Example: weft config foltz-lda
    """
    from weft.training.config import config_of
    from weft.training.config_text import render_config

    typer.echo(render_config(config_of(name, setting)), nl=False)


def prepare(
    files: Files,
    out: Annotated[Path, typer.Option("--out", "-o", help="The store folder to write.")],
    tokenizer: Annotated[
        Path | None, typer.Option(help="A saved tokenizer; without it one is trained on the input.")
    ] = None,
    kind: Annotated[str, typer.Option("--kind", help="The tokenizer to train: bpe or words.")] = "bpe",
    vocabulary: Annotated[int, typer.Option(help="Size of the vocabulary to train.")] = 16384,
    held_out: Annotated[list[Path], typer.Option(help="Texts that must not be in the store; repeat for more.")] = [],  # noqa: B006
    drop_overlap: Annotated[
        bool, typer.Option(help="Leave out paragraphs found in held-out texts instead of refusing.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; one a core by default.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace a store made of other inputs.")] = False,
    restart: Annotated[bool, typer.Option(help="Forget an interrupted run instead of going on with it.")] = False,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Turn text into a memory-mapped token store for training; goes on where an interrupted run stopped.

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


def train(
    config: Annotated[Path, typer.Argument(help="A TOML file, such as configs/foltz-lda.toml.")],
    setting: Override = [],  # noqa: B006
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="The model folder to write; run.out of the file otherwise."),
    ] = None,
    part: Annotated[
        list[str],
        typer.Option(help="Of a neural model, only this part (forward, backward, prior, precedence); repeat for more."),
    ] = [],  # noqa: B006
    minutes: Annotated[float | None, typer.Option(help="Minutes of training a part.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    data_root: DataRoot = None,
) -> None:
    """Train a model from a configuration file and write its folder; a run that was stopped goes on.

    Example: weft train configs/foltz-lda.toml --set model.topics=100 --out my-topics
    """
    from weft.cli.output import message, progress_bar
    from weft.training.config import read_config
    from weft.training.runs import train, untrained_parts

    named = {"run.out": out, "training.minutes": minutes, "run.device": device}
    overrides = [*setting, *(f"{key}={value}" for key, value in named.items() if value is not None)]
    chosen = read_config(config, overrides)
    with progress_bar() as progress:
        trained = train(chosen, parts=part, data_root=data_root, command=command_line(), progress=progress)
    missing = untrained_parts(trained)
    if missing:
        message(f"trained {', '.join(part)}; {chosen.run.out} is written once {', '.join(missing)} are trained too")
        return
    message(f"wrote {chosen.run.out}")


def curves(
    run: Annotated[Path, typer.Argument(help="A run's folder (run.folder), or a log.jsonl.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture to write: .svg, .png or .pdf.")],
    title: Annotated[str, typer.Option(help="Above the picture.")] = "",
) -> None:
    """Draw the training curves of a run: loss over steps, training and validation, all parts.

    Example: weft curves runs/seq2seq --out seq2seq.svg
    """
    from weft.cli.output import message
    from weft.report.training_curves import draw_curves

    message(f"wrote {draw_curves(run, out, title=title)}")
