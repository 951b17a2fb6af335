"""Weights and texts that a model has in common with the one it was built on: kept once, in the folder beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.io.model_folder import Artifact, Shared, Tensors, load_artifact, shared_digest
from weft.io.quantization import SCALE

WORTH_SHARING = 2**14  # bytes: small ones are not worth a line in the manifest
ROUNDING = 3e-7  # a scale that was multiplied out and found again differs in its last place


def share(artifact: Artifact, folder: str | Path, others: Sequence[str | Path]) -> Artifact:
    """An artifact less what folders beside hold, with a note of where that is.

    Args:
        artifact: What is to be saved, its weights packed.
        folder: Where.
        others: Folders that it may have weights from; those elsewhere are passed over, since only folders that stand
            side by side stay together.
    """
    found: list[Shared] = []
    tensors, texts = dict(artifact.tensors), dict(artifact.texts)
    place = Path(folder).resolve()
    for other in dict.fromkeys(Path(one).resolve() for one in others):
        if other.parent != place.parent or other == place or not other.is_dir():  # what is replaced cannot be shared
            continue
        known = load_artifact(other)
        if known.shared:  # a chain of folders would break at its weakest
            continue
        names = _in_common(tensors, known.tensors)
        same = [name for name, text in texts.items() if len(text) >= WORTH_SHARING and known.texts.get(name) == text]
        if names or same:
            found.append(Shared(other.name, names, shared_digest(known, names, same), same))
            tensors = {name: value for name, value in tensors.items() if name not in names}
            texts = {name: text for name, text in texts.items() if name not in same}
    return replace(artifact, tensors=tensors, texts=texts, shared=found)


def _in_common(tensors: Tensors, known: Tensors) -> dict[str, str]:
    """Names of tensors, and of those that are the same there."""
    by_content = {_content(value): name for name, value in known.items() if value.nbytes >= WORTH_SHARING}
    names: dict[str, str] = {}
    for name, value in tensors.items():
        there = by_content.get(_content(value)) if value.nbytes >= WORTH_SHARING else None
        if there is None or not _same_scale(name, there, tensors, known):
            continue
        names[name] = there
        if name + SCALE in tensors:
            names[name + SCALE] = there + SCALE
    return names


def _same_scale(name: str, there: str, tensors: Tensors, known: Tensors) -> bool:
    """Whether whole numbers stand for the same weights."""
    one, other = tensors.get(name + SCALE), known.get(there + SCALE)
    if one is None or other is None:
        return one is None and other is None
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=ROUNDING, atol=0))


def _content(value: npt.NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    return value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()
