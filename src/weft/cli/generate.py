"""`weft generate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options
from weft.cli.options import option
from weft.generation.decoding_settings import Decoding

if TYPE_CHECKING:
    from weft.document import Document
    from weft.loaded_model import Model as LoadedModel

SAMPLING = "Sampling"  # a section of --help
METHOD_HELP = "beam, diverse (groups of beams that avoid each other) or sample."
DRAWS_HELP = "Latent variables drawn per sentence, by a model that has them (vlv-gm). [default: 5]"
DEFAULTS = Decoding()


def generate(
    files: options.Files,
    model: options.Model = options.DEFAULT_MODEL,
    sentences: Annotated[int, option("Number of sentences to write.", "N", low=1, high=100)] = 1,
    combine: options.Combine = None,
    rerank: Annotated[str | None, typer.Option(hidden=True, help="Old name of --combine.")] = None,
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006
    method: Annotated[str, option(METHOD_HELP, "NAME")] = DEFAULTS.method,
    beam: Annotated[int, option("Size of the N-best list.", "N", low=1, high=1000)] = DEFAULTS.beam,
    max_tokens: Annotated[
        int, option("Length of the longest sentence, in tokens.", "N", low=5, high=500)
    ] = DEFAULTS.max_tokens,
    temperature: Annotated[float, option("Temperature of sampling.", "X", section=SAMPLING)] = DEFAULTS.temperature,
    top_k: Annotated[int, option("Number of words to sample from; 0 for all.", "N", section=SAMPLING)] = DEFAULTS.top_k,
    top_p: Annotated[float, option("Probability mass to sample from.", "P", section=SAMPLING)] = DEFAULTS.top_p,
    draws: Annotated[int | None, option(DRAWS_HELP, "N", section=SAMPLING, low=1, high=100)] = None,
    seed: options.Seed = DEFAULTS.seed,
    format: options.Format = options.OutputFormat.table,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
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
