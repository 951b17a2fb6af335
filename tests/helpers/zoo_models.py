"""Trained models of the repository that the package does not include."""

from __future__ import annotations

from pathlib import Path

ZOO = Path(__file__).parents[2] / "zoo"
WEFT_SMALL = ZOO / "weft-small"  # a small generative model, which writes, combines its parts and has percentiles
