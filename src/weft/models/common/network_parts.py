"""What a generative model is made of, by the names in its folder; read alike with torch and without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from weft.corpora.text.tokenizers import Tokenizer, tokenizer_from_text
from weft.errors import ConfigError, ModelError
from weft.io.model_folder import Artifact, require
from weft.io.quantization import Weights, unpack
from weft.models.common.setting_checks import check_weight
from weft.scoring.calibration import REFERENCE, Reference, read_reference
from weft.training.parts import ENCODERS, PARTS, PRECEDENCE

TOKENIZER = "tokenizer.json"
PRECEDENCE_WEIGHT = 1.0  # by default


def saved_parts(artifact: Artifact, folder: str | Path = "the model folder") -> list[str]:
    """The parts a folder holds, in the order they are built: precedence stands on the others.

    Raises:
        ModelError: It does not say which, or not all that a model needs.
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
    """The weights of one part.

    Raises:
        ValueError: They were not packed so by `weft.io.quantization`.
    """
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
        output = current.get("output.weight")  # [dimensions, hidden]
        if output is None or merge.ndim != 2:
            raise ValueError(f"attention.merge.weight has the shape {merge.shape}, or there is no output.weight")
        found, state = np.split(merge, 2, axis=1)  # [hidden, hidden] each
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


def check_precedence_weight(weight: object, *, learned: bool) -> None:
    """Refuse a weight that is no number, or one of what was never learned: it would change nothing, in silence.

    Args:
        weight: What precedence is to count.
        learned: Whether the model has a network for it.

    Raises:
        ConfigError: It cannot count so.
    """
    check_weight("precedence_weight", weight)
    if not learned and weight != PRECEDENCE_WEIGHT:
        raise ConfigError(
            "this model has not learned precedence, so that nothing can be weighed",
            seen=f"precedence_weight={weight}",
            allowed=f"{PRECEDENCE_WEIGHT} here; any finite number with a model trained with `precedence = true`",
            next_step="leave precedence_weight away, or train the precedence part",
        )


@contextmanager
def fitting_weights(part: str, folder: str | Path) -> Iterator[None]:
    """Say which network of a folder it is whose weights the block declines.

    Raises:
        ModelError: It raised a ValueError.
    """
    try:
        yield
    except ValueError as error:
        raise weights_do_not_fit(part, folder, error) from error


def weights_do_not_fit(part: str, folder: str | Path, error: Exception) -> ModelError:
    """The error of a folder whose weights are those of another network than its settings say."""
    return ModelError(
        f"the weights of the {part} network in {folder} do not fit its settings",
        seen=" ".join(str(error).split())[:200],
        allowed="the folder exactly as `weft train` wrote it",
        next_step="copy or train the model again",
    )
