"""`weft calibrate`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from weft.cli import options
from weft.cli.options import argument, option

UNIT_HELP = "What counts as a text: every paragraph, every document, or an excerpt of each length of every document."
GENRE_HELP = "Genre of the texts that have no label; JSON lines have one in their key genre. [default: none]"
OUT_HELP = "Model folder to write; the model itself stays as it is. [default: write to its own folder]"


class Unit(StrEnum):
    """What counts as a text."""

    paragraph = "paragraph"
    text = "text"
    excerpt = "excerpt"


def calibrate(
    model: Annotated[str, argument("Name or folder of a model; reference scores are written to its folder.", "MODEL")],
    data: Annotated[list[str], option("Texts that the model was not trained on; repeat for more.", "FILE")],
    texts: Annotated[str, option("Name of these texts, shown beside scores.", "NAME")] = "texts",
    unit: Annotated[Unit, option(UNIT_HELP, "paragraph|text|excerpt")] = Unit.paragraph,
    genre: Annotated[str, option(GENRE_HELP, "NAME")] = "",
    out: Annotated[str | None, option(OUT_HELP, "FOLDER", "--out", "-o")] = None,
    device: options.Device = options.DeviceName.auto,
    data_root: options.DataRoot = None,
    seed: options.Seed = 1,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
) -> None:
    """Score reference texts, so that the scores of a model come with percentiles.

    The texts are scored as written and shuffled; 20 texts are enough. Texts with a genre give percentiles among texts
    of that genre. For a reader, probabilities of breaks are calibrated as well.

    Example: weft calibrate my-model --data essays.jsonl --texts "student essays" --unit text

    Example: weft calibrate weft-reader --data essays.jsonl --texts "student essays" --out my-model
    """
    from weft.cli.output import message, progress_bar, read_options
    from weft.corpora.readers.formats import read_labelled
    from weft.evaluation.calibration import calibrate
    from weft.hub import model_folder
    from weft.io.model_folder import load_artifact
    from weft.models.common.network_parts import saved_break_calibration

    documents = read_labelled(
        data, data_root, read_options(input, encoding, language, column, id_column, speaker, clean), genre
    )
    with progress_bar() as progress:
        found = calibrate(
            model,
            documents,
            texts=texts,
            unit=unit.value,
            out=out,
            seed=seed,
            device=device.value,
            command=options.command_line(),
            progress=progress,
        )
    place = model_folder(model) if out is None else Path(out)
    counts = ", ".join(f"{group.n} of {group.fewest} sentences or more" for group in found.groups)
    message(f"wrote the scores of {texts} ({counts}) to {place}")
    if found.genres:
        numbers = (f"{name} {sum(group.n for group in groups)}" for name, groups in found.genres.items())
        message(f"genres, with their number of texts: {', '.join(numbers)}")
    if breaks := saved_break_calibration(load_artifact(place), place):
        message(
            f"wrote the calibration of breaks: expected error {breaks.error_before:.3f} before, {breaks.error:.3f} "
            f"after; a gap is marked above {breaks.threshold:.2f}, in {breaks.false_alarms:.0%} of sound texts at most"
        )
