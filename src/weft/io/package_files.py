"""Paths of the files inside the package: pretrained weights and minimal pairs."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
PRETRAINED = _PACKAGE / "pretrained"
PRETRAINED_MODELS = PRETRAINED / "models"  # folders of models that a name finds
PROBES = _PACKAGE / "probes"
