"""A run: from a configuration to a model folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from weft.config import RunConfig
from weft.corpora.files import sha256_of
from weft.corpora.locate import find_data
from weft.corpora.readers import read_documents
from weft.document import Document
from weft.errors import ConfigError
from weft.models import CoherenceModel, create_model
from weft.progress import Progress, silent


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
        >>> from weft.config import build_config
        >>> out = pathlib.Path(tempfile.mkdtemp()) / "model"
        >>> _ = train(build_config({"model": {"name": "random"}, "run": {"out": str(out)}}))
        >>> (out / "model.json").is_file()
        True
    """
    if not config.run.out:
        raise ConfigError(
            "the run has no place to go",
            seen=config.run.out,
            allowed="a folder",
            next_step="give --out FOLDER",
        )
    files = [find_data(name, data_root) for name in config.data.train]
    model = create_model(config.model.name, config.model.settings)
    if hasattr(model, "parts"):
        from weft.neural_runs import train_parts

        trained: CoherenceModel = train_parts(
            model, config, files, parts=parts, data_root=data_root, command=command, progress=progress
        )
        return trained
    model.fit(_documents(files, config.data.limit), seed=config.run.seed, progress=progress)
    training = {
        "seed": config.run.seed,
        "data": {name: sha256_of(path) for name, path in zip(config.data.train, files, strict=True)},
        "data_fingerprint": _fingerprint(files),
        "limit": config.data.limit,
        "command": command,
    }
    model.save(config.run.out, training=training)
    return model


def _documents(files: list[Path], limit: int) -> Iterator[Document]:
    every = (document for path in files for document in read_documents(path))
    return islice(every, limit or None)


def _fingerprint(files: list[Path]) -> str:
    return hashlib.sha256("".join(sha256_of(path) for path in files).encode()).hexdigest()
