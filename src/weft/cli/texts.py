"""Commands on texts: score, order, generate, picture."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import (
    DEFAULT_MODEL,
    Column,
    Encoding,
    Files,
    Format,
    Input,
    Language,
    Model,
    Objective,
    OutputFormat,
    Seed,
    Setting,
)

if TYPE_CHECKING:
    from weft.corpora.readers.formats import ReadOptions
    from weft.document import Document


def score(
    files: Files,
    model: Model = DEFAULT_MODEL,
    setting: Setting = [],  # noqa: B006  typer copies it
    explain: Annotated[
        bool, typer.Option("--explain", "-e", help="Show every transition and where the text breaks.")
    ] = False,
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Score how well the sentences of texts hang together; higher is more coherent.

    Example: weft score examples/essay.txt --explain
    """
    from weft.cli.output import read_options, write_scores
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    reading = read_options(input, encoding, language, column)
    write_scores(load(model, settings=parse_settings(setting)), files, reading, form=format.value, explain=explain)


def order(
    files: Files,
    model: Model = DEFAULT_MODEL,
    setting: Setting = [],  # noqa: B006
    first: Annotated[
        bool, typer.Option("--first-given", help="The first sentence of the input is known to come first.")
    ] = False,
    search: Annotated[
        str, typer.Option(help="auto, exact (up to 16 sentences), beam, greedy (grows at both ends).")
    ] = "auto",
    objective: Objective = "auto",
    beam: Annotated[int, typer.Option(min=1, max=1000, help="Beam width.")] = 10,
    seed: Seed = 1,
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Put shuffled sentences into the most coherent order.

    Example: weft order examples/shuffled.txt --input lines
    """
    from weft.cli.output import read_options, write_orders
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    reading = read_options(input, encoding, language, column)
    chosen = {"first_given": first, "search": search, "objective": objective, "beam": beam, "seed": seed}
    write_orders(load(model, settings=parse_settings(setting)), files, reading, chosen, form=format.value)


def generate(
    files: Files,
    model: Annotated[str, typer.Option("--model", "-m", help="A folder with a generative model.")] = DEFAULT_MODEL,
    sentences: Annotated[int, typer.Option(min=1, max=100, help="Sentences to write, each joining the context.")] = 1,
    rerank: Annotated[
        str, typer.Option(help="uni (the search's own choice), bi or mmi (its N-best list reranked).")
    ] = "mmi",
    method: Annotated[str, typer.Option(help="beam, diverse or sample.")] = "diverse",
    beam: Annotated[int, typer.Option(min=1, max=1000, help="Size of the N-best list.")] = 10,
    temperature: Annotated[float, typer.Option(help="Of sampling.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="Sample among the k likeliest words; 0 for all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Sample among the likeliest words that make up this probability.")] = 0.9,
    max_tokens: Annotated[int, typer.Option(min=5, max=500, help="Longest sentence.")] = 60,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, help="Of a model with latent variables (vlv-gm): z drawn a sentence, by default 5."
        ),
    ] = None,
    seed: Seed = 1,
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Continue texts, sentence by sentence; each sentence is shown as soon as it is written.

    Example: weft generate examples/essay.txt --sentences 3 --rerank mmi
    """
    from weft.cli.output import read_options, write_continuations
    from weft.loaded_model import load

    chosen = {
        "sentences": sentences, "combine": rerank, "method": method, "beam": beam, "temperature": temperature,
        "top_k": top_k, "top_p": top_p, "max_tokens": max_tokens, "draws": draws, "seed": seed,
    }  # fmt: skip
    reading = read_options(input, encoding, language, column)
    write_continuations(load(model), files, reading, chosen, form=format.value)


def picture(
    file: Annotated[str, typer.Argument(help="The text to draw; - for stdin.")],
    model: Annotated[
        str, typer.Option("--model", "-m", help="The folder of a trained hmm-lda, hmm-lda-gm (topics) or vlv-gm (z).")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture to write: .svg, .png or .pdf.")],
    title: Annotated[str, typer.Option(help="Above the picture; the text's name without it.")] = "",
    sentences: Annotated[int | None, typer.Option(min=1, help="Draw only the first so many sentences.")] = None,
    document: Annotated[
        int | None, typer.Option(min=1, help="Which text, counted from 1, where the file holds several.")
    ] = None,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Draw what a model holds between the lines of a text: the topics of its sentences, or the path of z.

    Example: weft picture examples/essay.txt --model zoo/hmm-lda --out topics.svg
    """
    from weft.cli.output import message, read_options
    from weft.hub import load_model
    from weft.report.figures import picture_format
    from weft.report.latent_pictures import draw_latent, first_sentences

    picture_format(out)  # a wrong name is told before a model is read
    text = _one_document(file, read_options(input, encoding, language, column), document)
    text = text if sentences is None else first_sentences(text, sentences)
    message(f"wrote {draw_latent(load_model(model), text, out, title=title)}")


def _one_document(file: str, reading: ReadOptions, number: int | None) -> Document:
    """The text of a file that holds one, or the one that was chosen."""
    from weft.corpora.readers.formats import read_documents
    from weft.errors import ConfigError

    wanted = 0 if number is None else number - 1
    found = list(islice(read_documents(file, reading), wanted, wanted + 2))
    if not found or (number is None and len(found) > 1):
        raise ConfigError(
            "a picture shows one text",
            seen=f"{file} with several" if found else f"{file} with fewer than {wanted + 1}",
            allowed="a file with one text, or the number of a text in it",
            next_step="choose one with --document 1",
        )
    return found[0]
