"""Weights in one byte each: matrices as int8 with one scale a row, vectors as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

SCALE = ".scale"
Packed = dict[str, npt.NDArray[Any]]


def pack(weights: Mapping[str, Tensor], precision: str) -> Packed:
    """Make weights small for the disk.

    Args:
        weights: By name.
        precision: ``int8`` (matrices rounded to 1/127 of their row's peak) or ``float32``.

    Example:
        >>> packed = pack({"w": torch.tensor([[1.0, -0.5]])}, "int8")
        >>> packed["w"].tolist()
        [[127, -64]]
    """
    packed: Packed = {}
    for name, value in weights.items():
        full = value.detach().cpu().float()
        if precision == "int8" and full.ndim == 2:
            scale = (full.abs().amax(dim=1) / 127).clamp(min=1e-12)  # [rows]
            packed[name] = torch.round(full / scale[:, None]).to(torch.int8).numpy()
            packed[name + SCALE] = scale.numpy()
        else:
            packed[name] = full.numpy()
    return packed


def unpack(packed: Mapping[str, npt.NDArray[Any]]) -> dict[str, Tensor]:
    """The weights as float32."""
    weights = {}
    for name, value in packed.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in packed:
            continue
        full = torch.from_numpy(np.array(value, dtype=np.float32))
        scale = packed.get(name + SCALE)
        weights[name] = full if scale is None else full * torch.from_numpy(np.array(scale))[:, None]
    return weights
