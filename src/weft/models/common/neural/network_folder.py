"""The model folder of a neural model: the weights of its networks, their tokenizer and its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from weft.corpora.text.tokenizers import Tokenizer
from weft.io.model_folder import Artifact, save_artifact
from weft.io.quantization import Packed, Weights, pack, unpack
from weft.io.shared_weights import share
from weft.models.common.network_parts import TOKENIZER, fitting_weights, saved_weights
from weft.scoring.break_calibration import BREAK_CALIBRATION, BreakCalibration
from weft.scoring.percentiles import REFERENCE, Reference

Networks = Mapping[str, torch.nn.Module]


def save_networks(
    name: str,
    settings: Mapping[str, Any],
    networks: Networks,
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    companions: Mapping[str, Artifact],
    reference: Reference | None,
    training: Mapping[str, Any] | None,
    beside: Sequence[str | Path],
    break_calibration: BreakCalibration | None = None,
) -> None:
    """Write a model folder; weights that a folder of ``beside``, in the same place, holds are not written again."""
    precision = settings["precision"]
    tensors: Packed = {}
    for part, network in networks.items():
        packed = pack(network.state_dict(), precision)
        tensors |= {f"{part}/{key}": value for key, value in packed.items()}
    tensors |= {f"{other}/{key}": value for other, one in companions.items() for key, value in one.tensors.items()}
    config = {**settings, "parts": list(networks), **{other: dict(one.config) for other, one in companions.items()}}
    texts = {TOKENIZER: tokenizer.to_text()}
    texts |= {key: text for one in companions.values() for key, text in one.texts.items()}
    if reference is not None:
        texts[REFERENCE] = reference.to_text()
    if break_calibration is not None:
        texts[BREAK_CALIBRATION] = break_calibration.to_text()
    save_artifact(share(Artifact(name, config, tensors, texts, training or {}), folder, beside), folder)


def load_networks(
    parts: Sequence[str], build: Callable[[str], torch.nn.Module], artifact: Artifact, folder: str | Path
) -> dict[str, torch.nn.Module]:
    """Return the networks of a model folder; ``build`` returns a network of the right shape for a part.

    Raises:
        ModelError: Weights do not fit the settings.
    """
    networks = {}
    for part in parts:
        with torch.device("meta"):  # no memory and no random numbers for weights that are replaced
            networks[part] = build(part)
        with fitting_weights(part, folder):
            networks[part].load_state_dict(as_tensors(saved_weights(artifact, part)), assign=True)
    return networks


def round_as_saved(networks: Networks, precision: str) -> None:
    """Round the weights of networks as saving does, so that saving does not change scores."""
    for network in networks.values():
        network.load_state_dict(as_tensors(unpack(pack(network.state_dict(), precision))))


def as_tensors(weights: Weights) -> dict[str, torch.Tensor]:
    """Return arrays as tensors, without a copy."""
    return {name: torch.from_numpy(value) for name, value in weights.items()}
