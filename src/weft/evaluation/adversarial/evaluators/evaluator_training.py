"""What the trained evaluators share: the loss of log-odds, and a training that ends with the best weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.evaluation.adversarial.evaluators.features import Floats
from weft.training.loop import LossPart, Report, Trainer


def log_odds_loss(odds: Tensor, labels: Floats) -> LossPart:
    """Return the cross-entropy of log-odds, summed over a batch, and how many have the right sign.

    Example:
        >>> import numpy as np
        >>> found = log_odds_loss(torch.tensor([2.0, 1.0]), np.array([1.0, 0.0], dtype=np.float32))
        >>> round(found.total.item(), 2), found.count, found.parts["accuracy"].item()
        (1.44, 2, 1.0)
    """
    wanted = torch.from_numpy(labels).to(odds.device)
    right = ((odds > 0) == (wanted > 0)).float().sum()
    total = functional.binary_cross_entropy_with_logits(odds, wanted, reduction="sum")
    return LossPart(total, len(labels), {"accuracy": right})


def train_to_best(
    trainer: Trainer, network: nn.Module, on_report: Callable[[Report], None] | None = None
) -> dict[str, Any]:
    """Train to the end, give the network the weights with the lowest dev loss, and return facts about the training."""
    reports = []
    for report in trainer.run():
        if on_report is not None:
            on_report(report)
        if report.kind == "validation":
            reports.append({"step": report.step, "loss": report.loss, **(report.parts or {})})
    network.load_state_dict(trainer.result())
    network.eval()
    best = min(reports, key=lambda one: one["loss"]) if reports else {}
    return {"steps": trainer.step, "seconds": trainer.seconds, "dev": best}
