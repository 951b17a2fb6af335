"""The record of a training run in a model folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.corpora.store.token_store import TokenStore
from weft.hub import model_folder
from weft.io.file_hash import sha256_of
from weft.io.model_folder import read_manifest
from weft.training.config import RunConfig


def training_record(config: RunConfig, data: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return the record of a run.

    Args:
        config: The configuration of the run.
        data: The record of the data: `files_record` or `store_record`.
        command: The command that started the run.
    """
    record = {"seed": config.run.seed, **data}
    if config.training:
        record["settings"] = dict(config.training)
    return {**record, "command": command, **_built_on(config)}


def files_record(config: RunConfig, files: Sequence[Path]) -> dict[str, Any]:
    """Return the record of training data in files of documents."""
    hashes = [sha256_of(path) for path in files]
    return {
        "data": dict(zip(config.data.train, hashes, strict=True)),
        "data_fingerprint": hashlib.sha256("".join(hashes).encode()).hexdigest(),
        "limit": config.data.limit,
    }


def store_record(store: TokenStore) -> dict[str, Any]:
    """Return the record of training data in a token store."""
    return {
        "data": store.info.body.get("inputs", []),
        "data_fingerprint": store.info.fingerprint,
        "sentences": store.sentence_count,
    }


def _built_on(config: RunConfig) -> dict[str, Any]:
    named = {"start": config.run.start}
    if config.run.base != config.run.start:  # recorded once
        named["base"] = config.run.base
    return {name: lineage(folder) for name, folder in named.items() if folder}


def lineage(folder: str) -> dict[str, Any]:
    """Return the record of a model that another one is built on: its hash and its own training record."""
    manifest = read_manifest(model_folder(folder))
    made = {name: value for name, value in manifest.get("training", {}).items() if name != "data"}
    return {"folder": folder, "sha256": manifest["sha256"], "training": made}
