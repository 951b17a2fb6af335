"""`weft picture`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

from weft.cli import options
from weft.cli.options import argument, option

if TYPE_CHECKING:
    from weft.corpora.readers.formats import ReadOptions
    from weft.document import Document


def picture(
    file: Annotated[str, argument("Text to draw; - for stdin.", "FILE")],
    model: Annotated[
        str, option("A trained hmm-lda or hmm-lda-gm (topics), or vlv-gm (latent variable).", "NAME", "--model", "-m")
    ],
    out: options.Picture,
    title: Annotated[str, option("Title of the picture. [default: name of the text]", "TEXT")] = "",
    sentences: Annotated[int | None, option("Number of sentences to draw. [default: all]", "N", low=1)] = None,
    document: Annotated[int | None, option("Number of the text in a file with several, from 1.", "N", low=1)] = None,
    device: options.Device = options.DeviceName.auto,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
) -> None:
    """Draw the topics or the latent variables that a model infers from a text.

    Example: weft picture examples/essay.txt --model hmm-lda --out topics.svg
    """
    from weft.cli.output import message, read_options
    from weft.loaded_model import load
    from weft.report.figure_files import picture_format
    from weft.report.latent_pictures import draw_latent, first_sentences

    picture_format(out)  # a wrong name is refused before a model is read
    text = _one_document(file, read_options(input, encoding, language, column, id_column, speaker, clean), document)
    text = text if sentences is None else first_sentences(text, sentences)
    message(f"wrote {draw_latent(load(model, device=device.value).inner, text, out, title=title)}")


def _one_document(file: str, reading: ReadOptions, number: int | None) -> Document:
    """Return the text of a file that holds one, or the chosen one."""
    from weft.corpora.readers.formats import read_documents
    from weft.errors import ConfigError

    wanted = 0 if number is None else number - 1
    found = list(islice(read_documents(file, reading), wanted, wanted + 2))
    if not found or (number is None and len(found) > 1):
        raise ConfigError(
            "the file has several texts; a picture shows one" if found else "the file has no such text",
            seen=f"{file} with several" if found else f"{file} with fewer than {wanted + 1}",
            allowed="a file with one text, or the number of a text in it",
            next_step="choose one with --document 1",
        )
    return found[0]
