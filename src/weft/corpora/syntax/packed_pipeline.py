"""spaCy pipelines in weft's model folders: settings, labels and float16 weights.

The folder is checked like every other (`weft.io.model_folder`). spaCy builds an untrained pipeline from the settings,
and the weights are copied into it. No file format of spaCy is read, and the folder is half as large.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import ModelError
from weft.io.model_folder import Artifact, load_artifact, require
from weft.io.package_files import PRETRAINED

if TYPE_CHECKING:
    from spacy.language import Language

EMBEDDED = PRETRAINED / "parser"
KIND = "weft-parser"
SETTINGS, LABELS = "pipeline.cfg", "labels.json"
SPACY = "3.8"  # the layout of the networks may change with the minor version


def load_packed(folder: str | Path) -> Language:
    """Return the pipeline of a folder that ``tools/train_parser.py pack`` wrote.

    Raises:
        ModelError: The folder is damaged, or was made for another version of spaCy.
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
            "not a parser", seen=f"{artifact.model} at {folder}", allowed=KIND, next_step="give another folder"
        )
    made_for = str(artifact.config.get("spacy"))
    if spacy.__version__.split(".")[:2] != made_for.split("."):
        raise ModelError(
            "weft's own parser does not fit the installed spaCy",
            seen=f"spaCy {spacy.__version__}",
            allowed=f"spaCy {made_for}",
            next_step=f"pip install 'spacy=={made_for}.*', or install another English pipeline and give its name",
        )


def _initialize(language: Language, labels: Mapping[str, Any]) -> None:
    """Create the networks with their shapes; one word serves as training data."""
    from spacy.training import Example

    examples = [Example.from_dict(language.make_doc("word"), {})]
    for name in language.pipe_names:
        known = {"labels": labels[name]} if name in labels else {}
        language.get_pipe(name).initialize(lambda: examples, nlp=language, **known)


def _fill(language: Language, artifact: Artifact, folder: str | Path) -> None:
    places = {f"{part}.{place}.{name}": (node, name) for part, place, node, name in pipeline_weights(language)}
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


def pipeline_weights(language: Language) -> Iterator[tuple[str, int, Any, str]]:
    """Yield the component of every weight, the number of its node in thinc's order, the node, and its name there."""
    for part in language.pipe_names:
        model = getattr(language.get_pipe(part), "model", None)
        for place, node in enumerate(model.walk() if model is not None else ()):
            for name in node.param_names:
                if node.has_param(name):
                    yield part, place, node, name
