"""Weights in one byte each: matrices as int8 with one scale a row, vectors as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor  # scoring with the embedded model does without torch

SCALE = ".scale"
Packed = dict[str, npt.NDArray[Any]]
Weights = dict[str, npt.NDArray[np.float32]]


def pack(weights: Mapping[str, Tensor], precision: str) -> Packed:
    """Make weights small for the disk.

    Args:
        weights: By name.
        precision: ``int8`` (matrices rounded to 1/127 of their row's peak) or ``float32``.

    Example:
        >>> import torch
        >>> packed = pack({"w": torch.tensor([[1.0, -0.5]])}, "int8")
        >>> packed["w"].tolist()
        [[127, -64]]
    """
    packed: Packed = {}
    for name, value in weights.items():
        full = value.detach().cpu().float().numpy()
        if precision == "int8" and full.ndim == 2:
            scale = np.maximum(np.abs(full).max(axis=1) / np.float32(127), np.float32(1e-12))  # [rows]
            packed[name] = np.rint(full / scale[:, None]).astype(np.int8)
            packed[name + SCALE] = scale
        else:
            packed[name] = full
    return packed


def unpack(packed: Mapping[str, npt.NDArray[Any]]) -> Weights:
    """The weights as float32.

    Example:
        >>> unpack({"w": np.array([[127, -64]], dtype=np.int8), "w.scale": np.array([0.5])})["w"].tolist()
        [[63.5, -32.0]]
    """
    weights: Weights = {}
    for name, value in packed.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in packed:
            continue
        scale = packed.get(name + SCALE)
        full = np.array(value, dtype=np.float32)
        weights[name] = full if scale is None else np.multiply(full, scale[:, None], out=full, casting="same_kind")
    return weights
