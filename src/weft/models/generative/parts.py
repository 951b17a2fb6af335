"""What a generative model is made of, by the names in its folder; read alike with torch and without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weft.artifacts import Artifact, require
from weft.corpora.tokenizers import Tokenizer, tokenizer_from_text
from weft.errors import ModelError
from weft.models.quantize import Weights, unpack
from weft.reference import REFERENCE, Reference, read_reference

if TYPE_CHECKING:
    from weft.corpora.batches import Direction

PARTS: tuple[Direction, ...] = ("forward", "backward", "prior")
ENCODERS = ("forward", "backward")  # the parts whose encoders precedence stands on
PRECEDENCE = "precedence"
TOKENIZER = "tokenizer.json"


def saved_parts(artifact: Artifact) -> list[str]:
    """The parts a folder holds, in the order they are built: precedence stands on the others."""
    return [part for part in (*PARTS, PRECEDENCE) if part in artifact.config.get("parts", [])]


def saved_weights(artifact: Artifact, part: str) -> Weights:
    """The weights of one part."""
    prefix = f"{part}/"
    packed = {name.removeprefix(prefix): value for name, value in artifact.tensors.items() if name.startswith(prefix)}
    return _with_keys(unpack(packed))


def _with_keys(weights: Weights) -> Weights:
    """Weights from before attention had keys and values: the same products, put together differently.

    A query made of the decoder's state, (Q h) · s, is a key made of the source's, h · (Qᵀ s). What attention found was
    merged with the state, and then went through the output layer; both are linear, so each may go its own way.
    """
    current = dict(weights)
    for module in ("decoder", "attention"):
        if (query := current.pop(f"{module}.query.weight", None)) is not None:
            current[f"{module}.key.weight"] = np.ascontiguousarray(query.T)
    if (merge := current.pop("attention.merge.weight", None)) is not None:
        found, state = np.split(merge, 2, axis=1)  # [hidden, hidden] each
        output = current["output.weight"]  # [dimensions, hidden]
        current["attention.value.weight"], current["output.weight"] = output @ found, output @ state
    return current


def saved_tokenizer(artifact: Artifact, folder: str | Path) -> Tokenizer:
    """The tokenizer of all parts."""
    require(artifact, folder, tensors=(), texts=(TOKENIZER,))
    return tokenizer_from_text(artifact.texts[TOKENIZER], source=str(Path(folder) / TOKENIZER))


def saved_reference(artifact: Artifact, folder: str | Path) -> Reference | None:
    """The reference scores, if the model was calibrated."""
    if REFERENCE not in artifact.texts:
        return None
    return read_reference(artifact.texts[REFERENCE], source=str(Path(folder) / REFERENCE))


def weights_do_not_fit(part: str, folder: str | Path, error: Exception) -> ModelError:
    """The error of a folder whose weights are those of another network than its settings say."""
    return ModelError(
        f"the weights of the {part} network in {folder} do not fit its settings",
        seen=" ".join(str(error).split())[:200],
        allowed="the folder exactly as `weft train` wrote it",
        next_step="copy or train the model again",
    )
