"""Shared weights: weights and texts that a model shares with the one it was built on are stored once."""

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

WORTH_SHARING = 2**14  # bytes; smaller tensors and texts are stored in both folders
ROUNDING = 3e-7  # a scale computed again from the weights differs in its last digit


def share(artifact: Artifact, folder: str | Path, others: Sequence[str | Path]) -> Artifact:
    """Return an artifact without the weights and texts that other folders beside it hold, with references to them."""
    found: list[Shared] = []
    tensors, texts = dict(artifact.tensors), dict(artifact.texts)
    place = Path(folder).resolve()
    for other in dict.fromkeys(Path(one).resolve() for one in others):
        if other.parent != place.parent or other == place or not other.is_dir():  # the folder itself will be replaced
            continue
        known = load_artifact(other)
        if known.shared:  # no chains of references
            continue
        names = _in_common(tensors, known.tensors)
        same = [name for name, text in texts.items() if len(text) >= WORTH_SHARING and known.texts.get(name) == text]
        if names or same:
            found.append(Shared(other.name, names, shared_digest(known, names, same), same))
            tensors = {name: value for name, value in tensors.items() if name not in names}
            texts = {name: text for name, text in texts.items() if name not in same}
    return replace(artifact, tensors=tensors, texts=texts, shared=found)


def _in_common(tensors: Tensors, known: Tensors) -> dict[str, str]:
    """Return the names of equal tensors: here, and in the other folder."""
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
    """Return whether two integer matrices have the same scales, so that they represent the same weights."""
    one, other = tensors.get(name + SCALE), known.get(there + SCALE)
    if one is None or other is None:
        return one is None and other is None
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=ROUNDING, atol=0))


def _content(value: npt.NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    return value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()
