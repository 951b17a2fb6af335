"""Training batches as tensors on a device."""

from __future__ import annotations

from typing import Any

import torch

from weft.corpora.store.pair_batches import PairBatch
from weft.models.common.neural.encoder_decoder import Tokens


def to_device(values: Any, device: torch.device) -> torch.Tensor:
    """Return an array as a tensor on a device."""
    tensor = torch.from_numpy(values)
    # Pinned memory lets the copy overlap with the previous step.
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def pairs_to_device(batch: PairBatch, device: torch.device) -> tuple[Tokens, Tokens, torch.Tensor]:
    """Return the sources, the targets and the positions of real predictions on a device."""
    source = Tokens(to_device(batch.source, device), to_device(batch.source_lengths, device))
    target = Tokens(to_device(batch.target, device), to_device(batch.target_lengths, device))
    return source, target, to_device(batch.places(), device)


def others_to_device(batch: PairBatch, device: torch.device) -> Tokens:
    """Return the sentences that are contrasted with the sources, on a device."""
    return Tokens(to_device(batch.other, device), to_device(batch.other_lengths, device))


def zero_loss(network: torch.nn.Module) -> torch.Tensor:
    """Return a loss of zero with zero gradients, for a process whose share of a batch is empty."""
    return torch.stack([p.sum() for p in network.parameters() if p.requires_grad]).sum() * 0.0
