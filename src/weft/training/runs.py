"""A training run: from a configuration to a model folder.

The steps are: check the output folder, find the data, build the model, train it, write its folder. A neural model is
trained part by part (`neural_run`); any other model learns from documents with `fit`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from weft.corpora.data_folder import find_data
from weft.corpora.readers.formats import read_documents
from weft.errors import ConfigError, ModelError
from weft.io.atomic_files import explain_write_errors
from weft.io.folder_locks import sweep_folders
from weft.io.model_folder import MANIFEST, check_replaceable, read_manifest
from weft.progress import Progress, silent
from weft.protocols import CoherenceModel, NeuralModel
from weft.registry import create_model
from weft.training.config import RunConfig


def train(
    config: RunConfig,
    *,
    parts: Sequence[str] = (),
    data_root: str | None = None,
    command: str = "",
    progress: Progress = silent,
) -> CoherenceModel:
    """Train the configured model on the configured data and write its folder.

    Args:
        config: The configuration.
        parts: Parts of a neural model to train; its folder is written by a run of all parts, which skips trained ones.
        data_root: The folder of the research data.
        command: The command to record.
        progress: Called with the progress of the run.

    Returns:
        The trained model.

    Raises:
        ConfigError: The configuration allows no run, or the output folder holds another model.

    Example:
        >>> import pathlib, tempfile
        >>> from weft.training.config import build_config
        >>> out = pathlib.Path(tempfile.mkdtemp()) / "model"
        >>> _ = train(build_config({"model": {"name": "random"}, "run": {"out": str(out)}}))
        >>> (out / "model.json").is_file()
        True
    """
    _check_output(config.run.out)
    _check_replaced(config.run.out, config.model.name)
    files = [find_data(name, data_root) for name in config.data.train]
    model = create_model(config.model.name, config.model.settings)
    if isinstance(model, NeuralModel):
        from weft.training.neural_run import train_parts  # imports torch

        train_parts(model, config, files, parts=parts, data_root=data_root, command=command, progress=progress)
    else:
        from weft.training.records import files_record, training_record

        documents = (document for path in files for document in read_documents(path))
        model.fit(islice(documents, config.data.limit or None), seed=config.run.seed, progress=progress)
        model.save(config.run.out, training=training_record(config, files_record(config, files), command))
    return model


def untrained_parts(model: CoherenceModel) -> list[str]:
    """Return the parts of a neural model that are not trained yet; other models have none."""
    if not isinstance(model, NeuralModel):
        return []
    trained = model.networks()
    return [part for part in model.parts if part not in trained]


def _check_output(out: str) -> None:
    """Raise an error before training if the model folder cannot be written; sweep what killed runs have left."""
    if not out:
        raise ConfigError(
            "no output folder given", seen=out, allowed="a folder", next_step="give --out FOLDER, or out= in Python"
        )
    place = Path(out)
    with explain_write_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent):
            pass
    check_replaceable(place)
    sweep_folders(place)


def _check_replaced(out: str, name: str) -> None:
    """Raise an error before training if the output folder holds another model; a folder of the same one is replaced."""
    if not (Path(out) / MANIFEST).is_file():
        return
    try:
        held = read_manifest(out)["model"]
    except ModelError:  # a damaged folder is replaced
        return
    if held != name:
        raise ConfigError(
            f"{out} holds another model",
            seen=held,
            allowed=f"a new folder, or a folder of {name}",
            next_step="give another --out, or remove the folder",
        )
