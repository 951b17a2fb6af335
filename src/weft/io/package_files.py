"""Paths of the files inside the package: pretrained weights and minimal pairs."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
PRETRAINED = _PACKAGE / "pretrained"
PROBES = _PACKAGE / "probes"
