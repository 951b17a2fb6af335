"""A run: from a configuration to a model folder."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from weft.corpora.data_folder import find_data
from weft.corpora.readers.formats import read_documents
from weft.document import Document
from weft.errors import ConfigError
from weft.io.atomic_files import explain_write_errors
from weft.io.file_hash import sha256_of
from weft.progress import Progress, silent
from weft.protocols import CoherenceModel
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
    """Build the configured model, let it learn from the configured files, and write its folder.

    Args:
        config: What to train, from what, how.
        parts: Of a neural model, only these parts; its folder is written once all parts are trained.
        data_root: Where the research data lie.
        command: The command to record.
        progress: Told how far it is.

    Example:
        >>> import pathlib, tempfile
        >>> from weft.training.config import build_config
        >>> out = pathlib.Path(tempfile.mkdtemp()) / "model"
        >>> _ = train(build_config({"model": {"name": "random"}, "run": {"out": str(out)}}))
        >>> (out / "model.json").is_file()
        True
    """
    _check_place(config.run.out)
    files = [find_data(name, data_root) for name in config.data.train]
    model = create_model(config.model.name, config.model.settings)
    if hasattr(model, "parts"):
        from weft.training.neural_runs import train_parts

        trained: CoherenceModel = train_parts(
            model, config, files, parts=parts, data_root=data_root, command=command, progress=progress
        )
        return trained
    model.fit(_documents(files, config.data.limit), seed=config.run.seed, progress=progress)
    model.save(config.run.out, training=_record(config, files, command))
    return model


def _check_place(out: str) -> None:
    if not out:
        raise ConfigError(
            "the run has no place to go",
            seen=out,
            allowed="a folder",
            next_step="give --out FOLDER",
        )
    place = Path(out)
    with explain_write_errors(place):  # now, and not after hours of training
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent):
            pass


def _record(config: RunConfig, files: Sequence[Path], command: str) -> dict[str, Any]:
    """What a model folder says of how it came to be."""
    hashes = [sha256_of(path) for path in files]
    return {
        "seed": config.run.seed,
        "data": dict(zip(config.data.train, hashes, strict=True)),
        "data_fingerprint": hashlib.sha256("".join(hashes).encode()).hexdigest(),
        "limit": config.data.limit,
        "command": command,
    }


def _documents(files: list[Path], limit: int) -> Iterator[Document]:
    every = (document for path in files for document in read_documents(path))
    return islice(every, limit or None)
