"""Quantisation: matrices as int8 with one scale per row, or as float16; vectors stay float32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor  # the model in the package scores without torch

SCALE = ".scale"
Packed = dict[str, npt.NDArray[Any]]
Weights = dict[str, npt.NDArray[np.float32]]


def pack(weights: Mapping[str, Tensor], precision: str) -> Packed:
    """Return weights as arrays to store.

    Args:
        weights: Tensors by name.
        precision: ``int8`` (each row of a matrix is rounded to 1/127 of its largest value), ``float16`` (matrices) or
            ``float32``.

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
            packed[name], packed[name + SCALE] = packed_rows(full)
        elif precision == "float16" and full.ndim == 2:
            packed[name] = full.astype(np.float16)
        else:
            packed[name] = full
    return packed


def packed_rows(full: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return a matrix as int8, and the scale of each row.

    Example:
        >>> packed_rows(np.array([[1.0, -0.5]], dtype=np.float32))[0].tolist()
        [[127, -64]]
    """
    scale = np.maximum(np.abs(full).max(axis=1) / np.float32(127), np.float32(1e-12))  # [rows]
    return np.rint(full / scale[:, None]).astype(np.int8), scale


def unpack(packed: Mapping[str, npt.NDArray[Any]]) -> Weights:
    """Return the weights as float32.

    Raises:
        ValueError: An integer matrix has no scale, or a scale has a wrong shape or type.

    Example:
        >>> unpack({"w": np.array([[127, -64]], dtype=np.int8), "w.scale": np.array([0.5])})["w"].tolist()
        [[63.5, -32.0]]
    """
    weights: Weights = {}
    for name, value in packed.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in packed:
            continue
        weights[name] = _unpacked(name, value, packed.get(name + SCALE))
    return weights


def _unpacked(name: str, value: npt.NDArray[Any], scale: npt.NDArray[Any] | None) -> npt.NDArray[np.float32]:
    # A matrix without its scale would be read as huge weights, and numpy would broadcast a scale of the wrong shape.
    if scale is None:
        if value.dtype.kind != "f":
            raise ValueError(f"{name} is of {value.dtype} and has no scale")
        return np.array(value, dtype=np.float32)
    if value.dtype != np.int8 or value.ndim != 2:
        raise ValueError(f"{name} has a scale, but is of {value.dtype} with the shape {value.shape}")
    if scale.dtype.kind != "f" or scale.shape != value.shape[:1]:
        raise ValueError(f"{name} has the shape {value.shape}, and its scale {scale.shape} of {scale.dtype}")
    full = np.array(value, dtype=np.float32)
    np.multiply(full, scale[:, None], out=full, casting="same_kind")
    return full
