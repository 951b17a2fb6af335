"""Reading the parts of a generative model from its folder; shared by the torch and the numpy implementation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from weft.corpora.text.tokenizers import Tokenizer, tokenizer_from_text
from weft.errors import ConfigError, ModelError, is_number
from weft.io.model_folder import Artifact, require
from weft.io.quantization import Weights, unpack
from weft.scoring.break_calibration import BREAK_CALIBRATION, BreakCalibration, read_break_calibration
from weft.training.part_names import ENCODERS, PARTS, PRECEDENCE

TOKENIZER = "tokenizer.json"
PRECEDENCE_WEIGHT = 1.0  # default


def saved_parts(artifact: Artifact, folder: str | Path = "the model folder") -> list[str]:
    """Return the parts of a folder in building order; the precedence part builds on the others.

    Raises:
        ModelError: The parts are not listed, or a required one is missing.
    """
    named, known = artifact.config.get("parts"), (*PARTS, PRECEDENCE)
    listed = named if isinstance(named, list) else []
    found = [part for part in known if part in listed]
    needed = ENCODERS if PRECEDENCE in found else ENCODERS[:1]
    if not set(needed) <= set(found) or any(part not in known for part in listed):
        raise ModelError(
            f"the settings in {folder} are damaged or were altered: `parts` must name the networks of {artifact.model}",
            seen="null" if named is None else named,
            allowed=f"a list of {', '.join(known)}: always {needed[0]}, and {' and '.join(ENCODERS)} with {PRECEDENCE}",
            next_step="copy or train the model again",
        )
    return found


def saved_weights(artifact: Artifact, part: str) -> Weights:
    """Return the weights of one part.

    Raises:
        ValueError: The weights were not packed by `weft.io.quantization`.
    """
    prefix = f"{part}/"
    packed = {name.removeprefix(prefix): value for name, value in artifact.tensors.items() if name.startswith(prefix)}
    return _with_keys(unpack(packed))


def _with_keys(weights: Weights) -> Weights:
    """Return weights in the current format; older weights have queries instead of keys and values.

    The products are the same: (Q h) · s = h · (Qᵀ s). Old networks merged the attention result with the state before
    the output layer. Both steps are linear, so that their matrices can be multiplied.
    """
    current = dict(weights)
    for module in ("decoder", "attention"):
        if (query := current.pop(f"{module}.query.weight", None)) is not None:
            current[f"{module}.key.weight"] = np.ascontiguousarray(query.T)
    if (merge := current.pop("attention.merge.weight", None)) is not None:
        output = current.get("output.weight")  # [dimensions, hidden]
        if output is None or merge.ndim != 2:
            raise ValueError(f"attention.merge.weight has the shape {merge.shape}, or there is no output.weight")
        found, state = np.split(merge, 2, axis=1)  # [hidden, hidden] each
        current["attention.value.weight"], current["output.weight"] = output @ found, output @ state
    return current


def saved_tokenizer(artifact: Artifact, folder: str | Path) -> Tokenizer:
    """Return the tokenizer of all parts."""
    require(artifact, folder, tensors=(), texts=(TOKENIZER,))
    return tokenizer_from_text(artifact.texts[TOKENIZER], source=str(Path(folder) / TOKENIZER))


def saved_break_calibration(artifact: Artifact, folder: str | Path) -> BreakCalibration | None:
    """Return the calibration of breaks, if the model has one."""
    if BREAK_CALIBRATION not in artifact.texts:
        return None
    return read_break_calibration(artifact.texts[BREAK_CALIBRATION], source=str(Path(folder) / BREAK_CALIBRATION))


def check_precedence_weight(weight: object, *, learned: bool) -> None:
    """Check the weight of the precedence part, which has no effect on a model without that part.

    Raises:
        ConfigError: The weight is not a number, or the model has no precedence part.
    """
    if not is_number(weight):
        raise ConfigError(
            "precedence_weight is out of range",
            seen="null" if weight is None else weight,
            allowed="a finite number",
            next_step="correct the value of precedence_weight",
        )
    if not learned and weight != PRECEDENCE_WEIGHT:
        raise ConfigError(
            "this model has no precedence part to weight",
            seen=f"precedence_weight={weight}",
            allowed=f"{PRECEDENCE_WEIGHT} here; any finite number with a model trained with `precedence = true`",
            next_step="omit precedence_weight, or train the precedence part",
        )


@contextmanager
def fitting_weights(part: str, folder: str | Path) -> Iterator[None]:
    """Turn an error of the block, in which weights are read, into one that names the network and its folder.

    Raises:
        ModelError: The weights do not fit the settings.
    """
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"the weights of the {part} network in {folder} do not fit its settings",
            seen=" ".join(str(error).split())[:200],
            allowed="the folder exactly as `weft train` wrote it",
            next_step="copy or train the model again",
        ) from error
