"""`weft generate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import (
    DEFAULT_MODEL,
    Column,
    Combine,
    Device,
    DeviceName,
    Encoding,
    Files,
    Format,
    Input,
    Language,
    Model,
    OutputFormat,
    Seed,
    Setting,
)
from weft.generation.decoding_settings import Decoding

if TYPE_CHECKING:
    from weft.document import Document
    from weft.loaded_model import Model as LoadedModel

SAMPLING = "Sampling"
DEFAULTS = Decoding()


def generate(
    files: Files,
    model: Model = DEFAULT_MODEL,
    sentences: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Number of sentences to write.")] = 1,
    combine: Combine = None,
    rerank: Annotated[str | None, typer.Option(hidden=True, help="Old name of --combine.")] = None,
    device: Device = DeviceName.auto,
    setting: Setting = [],  # noqa: B006
    method: Annotated[
        str, typer.Option(metavar="NAME", help="beam, diverse (groups of beams that avoid each other) or sample.")
    ] = DEFAULTS.method,
    beam: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Size of the N-best list.")] = DEFAULTS.beam,
    max_tokens: Annotated[
        int, typer.Option(min=5, max=500, metavar="N", help="Length of the longest sentence, in tokens.")
    ] = DEFAULTS.max_tokens,
    temperature: Annotated[
        float, typer.Option(metavar="X", help="Temperature of sampling.", rich_help_panel=SAMPLING)
    ] = DEFAULTS.temperature,
    top_k: Annotated[
        int, typer.Option(metavar="N", help="Number of words to sample from; 0 for all.", rich_help_panel=SAMPLING)
    ] = DEFAULTS.top_k,
    top_p: Annotated[
        float, typer.Option(metavar="P", help="Probability mass to sample from.", rich_help_panel=SAMPLING)
    ] = DEFAULTS.top_p,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100,
            metavar="N",
            help="Latent variables drawn per sentence, by a model that has them (vlv-gm). [default: 5]",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    seed: Seed = DEFAULTS.seed,
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Continue texts sentence by sentence.

    Each sentence is shown as soon as it is written. The search finds an N-best list for every sentence: --combine uni
    takes the first entry, bi and mmi rerank the list.

    Example: weft generate examples/essay.txt --sentences 3 --combine mmi
    """
    from weft.cli.output import documents_in, read_options
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    decoding = Decoding(
        method=method, beam=beam, temperature=temperature, top_k=top_k, top_p=top_p, max_tokens=max_tokens,
        draws=draws or DEFAULTS.draws, seed=seed,
    )  # fmt: skip
    loaded = load(model, device=device.value, settings=parse_settings(setting))
    loaded = loaded.writing(combine or rerank, draws=draws)
    reading = read_options(input, encoding, language, column)
    _write(loaded, documents_in(files, reading), sentences, decoding, format.value)


def _write(model: LoadedModel, documents: Iterator[Document], sentences: int, decoding: Decoding, form: str) -> None:
    from rich.text import Text

    from weft.cli.output import csv_table, write_json, write_lines
    from weft.document import Continuation
    from weft.report.terminal import printable

    table = csv_table(form, ["id", "number", "sentence"])
    for document in documents:
        written = model.generate_stream(document, sentences=sentences, decoding=decoding)
        if form == "json":
            write_json(Continuation(document, tuple(written), model.name).to_dict())
            continue
        for number, sentence in enumerate(written):
            if form == "csv":
                table.writerow([document.id, number, sentence])
            else:
                write_lines([Text(printable(sentence))])
            sys.stdout.flush()
