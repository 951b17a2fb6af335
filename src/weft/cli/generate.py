"""`weft generate`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated

from weft.cli import options
from weft.cli.options import option
from weft.generation.decoding_settings import Decoding

if TYPE_CHECKING:
    from weft.cli.output import DocumentTable
    from weft.document import Document

SAMPLING = "Sampling"  # a section of --help
METHOD_HELP = "beam, diverse (groups of beams that avoid each other) or sample."
DRAWS_HELP = "Latent variables drawn per sentence, by a model that has them (vlv-gm). [default: 5]"
RERANK_HELP = (
    "Name or folder of another model that chooses among the N-best list. "
    "[default: the writing model itself, by --combine; weft-reader for hf]"
)
DEFAULTS = Decoding()


def generate(
    files: options.Files,
    model: options.Model = options.DEFAULT_WRITER,
    sentences: Annotated[int, option("Number of sentences to write.", "N", low=1, high=100)] = 1,
    combine: options.Combine = None,
    rerank: Annotated[str | None, option(RERANK_HELP, "NAME")] = None,
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006
    allow_download: options.AllowDownload = False,
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
    out: options.Out = None,
    format: options.FileFormat = None,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
    strict: options.Strict = False,
) -> None:
    """Continue texts sentence by sentence.

    Each sentence is shown as soon as it is written. The search finds an N-best list for every sentence: --combine uni
    takes the first entry, bi and mmi rerank the list, and --rerank has another model choose. Entries that repeat an
    earlier sentence come last. Any causal language model writes with --model hf.

    Example: weft generate examples/essay.txt --sentences 3 --combine mmi
    """
    from weft.cli.output import chosen_format, output_to, progress_bar, read_options, with_names
    from weft.corpora.readers.formats import read_files
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    decoding = Decoding(
        method=method, beam=beam, temperature=temperature, top_k=top_k, top_p=top_p, max_tokens=max_tokens,
        draws=draws or DEFAULTS.draws, seed=seed,
    )  # fmt: skip
    loaded = load(model, device=device.value, settings=parse_settings(setting, allow_download=allow_download))
    loaded = loaded.writing(combine, draws=draws)
    judge = loaded.judge(rerank, combine)
    reading = read_options(input, encoding, language, column, id_column, speaker, clean, strict=strict)
    form = chosen_format(format, out)
    documents = with_names(read_files(files, reading), form)
    with progress_bar() as progress, output_to(out):
        write = partial(loaded.generate_stream, sentences=sentences, decoding=decoding, judge=judge, progress=progress)
        _write(documents, write, sentences, loaded.name, form)


def _write(
    documents: Iterator[Document], write: Callable[[Document], Iterator[str]], sentences: int, model: str, form: str
) -> None:
    from rich.text import Text

    from weft.cli.output import DocumentTable, message, write_lines, write_record
    from weft.document import Continuation
    from weft.report.terminal import printable

    table = DocumentTable(["id", "number", "sentence"])
    for document in documents:
        if not document.sentences:
            _write_empty(document, model, form, table)
            continue
        found = []
        for number, sentence in enumerate(write(document)):
            found.append(sentence)
            if form == "csv":
                table.write(document, [[document.id, number, sentence]])
            elif form == "table":
                write_lines([Text(printable(sentence))])
            sys.stdout.flush()
        if form == "json":
            write_record(document, Continuation(document, tuple(found), model).to_dict() | {"warnings": []})
        if len(found) < sentences:
            message(
                f"{document.id}: {len(found)} of {sentences} written: no candidate is a whole sentence; "
                "try a higher --max-tokens or --beam, or another --seed"
            )


def _write_empty(document: Document, model: str, form: str, table: DocumentTable) -> None:
    """Keep the place of a text that cannot be continued, and say why."""
    from weft.cli.output import message, write_record

    reason = "; ".join(document.layout_warnings) or "nothing to continue: the text has no sentence"
    if form == "json":
        write_record(document, {"id": document.id, "sentences": [], "model": model, "warnings": [reason]})
    elif form == "csv":
        table.write(document, [[document.id, "", ""]])
    message(f"{document.id}: {reason}")
