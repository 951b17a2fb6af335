"""`weft calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from weft.cli import options
from weft.cli.options import argument, option

DATA_HELP = "Texts that the model was not trained on, a file, folder or pattern; every paragraph is a text."


def calibrate(
    folder: Annotated[
        str, argument("Model folder, which reference scores are written to; with --out, also a model's name.", "FOLDER")
    ],
    data: Annotated[str, option(DATA_HELP, "FILE")],
    texts: Annotated[str, option("Name of these texts, shown beside scores.", "NAME")] = "texts",
    out: Annotated[
        Path | None, option("Write a calibrated copy of the model to this folder.", "FOLDER", "--out", "-o")
    ] = None,
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

    The texts are scored as written and shuffled. For a reader, probabilities of breaks are calibrated as well.

    Example: weft calibrate my-model --data essays.jsonl --texts "student essays"

    Example: weft calibrate weft-small --data essays.jsonl --texts "student essays" --out my-small
    """
    from weft.cli.output import message, progress_bar, read_options
    from weft.corpora.data_folder import find_data
    from weft.corpora.readers.formats import read_documents
    from weft.corpora.readers.found_files import is_pattern
    from weft.evaluation.calibration import calibrate
    from weft.hub import writable_folder
    from weft.io.model_folder import load_artifact
    from weft.models.common.network_parts import saved_break_calibration

    place = writable_folder(folder) if out is None else out
    source = data if is_pattern(data) else find_data(data, data_root)
    documents = read_documents(source, read_options(input, encoding, language, column, id_column, speaker, clean))
    with progress_bar() as progress:
        found = calibrate(
            folder if out is not None else place,
            documents,
            texts=texts,
            out=out,
            seed=seed,
            device=device.value,
            command=options.command_line(),
            progress=progress,
        )
    counts = ", ".join(f"{group.n} of {group.fewest} sentences or more" for group in found.groups)
    message(f"wrote the scores of {texts} ({counts}) to {place}")
    if breaks := saved_break_calibration(load_artifact(place), place):
        message(
            f"wrote the calibration of breaks: expected error {breaks.error_before:.3f} before, {breaks.error:.3f} "
            f"after; a gap is marked above {breaks.threshold:.2f}, in {breaks.false_alarms:.0%} of sound texts at most"
        )
