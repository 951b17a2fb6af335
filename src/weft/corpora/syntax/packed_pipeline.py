"""A spaCy pipeline as weft keeps one: a model folder with settings, labels and half-precision weights.

The folder is read by weft and checked like any other (`weft.io.model_folder`); spaCy builds an empty pipeline from the
settings, and the weights are put in. Nothing of spaCy's own formats is read, and the file is half as large.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from weft.errors import ModelError
from weft.io.model_folder import Artifact, load_artifact, require, save_artifact
from weft.io.package_files import PRETRAINED

if TYPE_CHECKING:
    from spacy.language import Language

EMBEDDED = PRETRAINED / "parser"
KIND = "weft-parser"
SETTINGS, LABELS = "pipeline.cfg", "labels.json"
SPACY = "3.8"  # the layout of its networks may change from one minor version to the next


def save_packed(language: Language, folder: str | Path, *, version: str, training: Mapping[str, Any]) -> None:
    """Write a trained pipeline of spaCy as a model folder: all of its settings, its labels, and its weights in float16.

    Args:
        language: The pipeline.
        folder: Where to.
        version: What its version is to be.
        training: How it was made.

    Raises:
        ModelError: A weight is too large for float16.
    """
    settings = language.config.copy()
    settings["paths"] = dict.fromkeys(settings["paths"])  # where the data lay when it was trained concerns nobody
    labels = {name: language.get_pipe(name).label_data for name in language.pipe_names}
    labels = {name: known for name, known in labels.items() if known}
    artifact = Artifact(
        KIND,
        {"language": language.lang, "spacy": SPACY, "version": version, "pipeline": language.pipe_names},
        tensors={name: _halved(name, node.get_param(weight)) for name, node, weight in _weights(language)},
        texts={SETTINGS: settings.to_str(), LABELS: json.dumps(labels, indent=1, sort_keys=True) + "\n"},
        training=training,
    )
    save_artifact(artifact, folder)


def load_packed(folder: str | Path) -> Language:
    """Read a folder written by `save_packed`.

    Raises:
        ModelError: It is damaged, or was made for another spaCy.
    """
    from spacy.util import load_model_from_config
    from thinc.api import Config

    artifact = load_artifact(folder)
    _check_kind(artifact, folder)
    require(artifact, folder, tensors=(), texts=(SETTINGS, LABELS))
    language = load_model_from_config(Config().from_str(artifact.texts[SETTINGS], interpolate=False))
    _initialize(language, json.loads(artifact.texts[LABELS]))
    _fill(language, artifact, folder)
    language.meta.update(name=KIND, version=artifact.config["version"])
    return language


def _check_kind(artifact: Artifact, folder: str | Path) -> None:
    import spacy

    if artifact.model != KIND:
        raise ModelError(
            "not a parser", seen=f"{artifact.model} at {folder}", allowed=KIND, next_step="name another folder"
        )
    made_for = str(artifact.config.get("spacy"))
    if spacy.__version__.split(".")[:2] != made_for.split("."):
        raise ModelError(
            "weft's own parser does not fit the installed spaCy",
            seen=f"spaCy {spacy.__version__}",
            allowed=f"spaCy {made_for}",
            next_step=f"pip install 'spacy=={made_for}.*', or install and name another English pipeline",
        )


def _initialize(language: Language, labels: Mapping[str, Any]) -> None:
    """Give every network its shape; a word stands in for the training data."""
    from spacy.training import Example

    examples = [Example.from_dict(language.make_doc("word"), {})]
    for name in language.pipe_names:
        known = {"labels": labels[name]} if name in labels else {}
        language.get_pipe(name).initialize(lambda: examples, nlp=language, **known)


def _fill(language: Language, artifact: Artifact, folder: str | Path) -> None:
    places = {name: (node, weight) for name, node, weight in _weights(language)}
    require(artifact, folder, tensors=tuple(places))
    for name, (node, weight) in places.items():
        value = artifact.tensors[name]
        if value.shape != node.get_param(weight).shape:
            raise ModelError(
                f"a weight of the parser at {folder} has the wrong shape",
                seen=f"{name}: {value.shape}",
                allowed=str(node.get_param(weight).shape),
                next_step="install weft again",
            )
        node.set_param(weight, value.astype(np.float32))


def _weights(language: Language) -> Iterator[tuple[str, Any, str]]:
    """Every weight of a pipeline: a name for it, its node, and its name there. Nodes are numbered as thinc walks."""
    for part in language.pipe_names:
        for place, node in enumerate(language.get_pipe(part).model.walk()):
            for weight in node.param_names:
                if node.has_param(weight):
                    yield f"{part}.{place}.{weight}", node, weight


def _halved(name: str, value: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    with np.errstate(over="ignore"):
        halved = np.asarray(value, dtype=np.float16)
    if not np.isfinite(halved).all():
        raise ModelError(
            "a weight does not fit float16",
            seen=f"{name}: {np.abs(value).max()}",
            allowed=f"up to {np.finfo(np.float16).max}",
            next_step="train with a higher weight decay",
        )
    return halved
