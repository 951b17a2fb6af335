"""Choosing a device for a model, without importing PyTorch for a model that runs without it."""

from __future__ import annotations

import importlib
import sys
from typing import TypeVar

from weft.errors import ConfigError, check_known
from weft.protocols import MovableModel, PlacedModel

DEVICES = ("auto", "cpu", "cuda")
NEXT_STEP = 'use `device="cpu"`'
AnyModel = TypeVar("AnyModel")


def on_device(model: AnyModel, device: str) -> AnyModel:
    """Return the model after moving it to a device; ``auto`` is a GPU if the model can use one.

    Raises:
        ConfigError: The device is unknown, there is no GPU, or the model cannot use one.
    """
    check_known("device", device, DEVICES)
    if isinstance(model, PlacedModel):
        if device == "cuda" or (device == "auto" and "cuda" in model.devices()):
            model.to("cuda")
    elif isinstance(model, MovableModel):
        if device == "cuda" and not has_gpu(load=True):
            raise no_gpu()
        if device == "cuda" or (device == "auto" and has_gpu(load=False)):
            model.to("cuda")
    elif device == "cuda":
        raise ConfigError("this model runs on the CPU only", seen=device, allowed="auto, cpu", next_step=NEXT_STEP)
    return model


def no_gpu() -> ConfigError:
    """Return the error of a machine without a GPU."""
    return ConfigError("no GPU was found", seen="cuda", allowed="auto, cpu", next_step=NEXT_STEP)


def has_gpu(*, load: bool = True) -> bool:
    """Return whether PyTorch sees a GPU: False if it is not installed or, without ``load``, not imported yet."""
    try:
        torch = importlib.import_module("torch") if load else sys.modules.get("torch")
    except ImportError:
        return False
    return torch is not None and bool(torch.cuda.is_available())
