"""Protocols of networks in training: what some networks need from the training loop, or offer it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import nn


@runtime_checkable
class PacedNetwork(Protocol):
    """A network whose loss changes during training, for example because a weight rises."""

    share: float  # finished share of the training, 0 to 1; the training loop sets it before every step


@runtime_checkable
class CompilableNetwork(Protocol):
    """A network with parts of equal structure, which PyTorch's compiler makes faster on a GPU."""

    def repeated_modules(self) -> list[nn.Module]:
        """Return these parts."""


@runtime_checkable
class WrappingNetwork(Protocol):
    """A network around an encoder-decoder, whose weights it can start from."""

    inner_prefix: str  # of the names of the encoder-decoder's weights
