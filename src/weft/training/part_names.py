"""Names of the networks of generative models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.corpora.store.pair_batches import Direction

PARTS: tuple[Direction, ...] = ("forward", "backward", "prior")
ENCODERS = ("forward", "backward")  # the parts whose encoders the precedence part builds on
PRECEDENCE = "precedence"
