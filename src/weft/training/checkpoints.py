"""The files of a run: one checkpoint, which is replaced as a whole, and a log that ends at the checkpoint."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.errors import ModelError
from weft.io.atomic_files import write_atomically

CHECKPOINT = "checkpoint.safetensors"
LOG = "log.jsonl"
Snapshot = tuple[dict[str, Tensor], dict[str, Any]]


def save_checkpoint(folder: Path, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any], *, recipe: str) -> None:
    """Write a snapshot as one file, with the numbers in its header, and rename it when it is complete."""
    from safetensors.torch import save

    header = {"numbers": json.dumps(dict(numbers)), "recipe": recipe}
    with write_atomically(folder / CHECKPOINT) as handle:
        handle.write(save(dict(tensors), metadata=header))


def load_checkpoint(folder: Path, *, recipe: str) -> Snapshot | None:
    """Return the last snapshot of a run, or None.

    Raises:
        ModelError: The run was started with other settings or data, or the file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as opened:
            header = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118  not a dictionary
        numbers = json.loads(header["numbers"])
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise ModelError(
            f"the checkpoint {path} is damaged",
            seen=str(error),
            allowed="a file written by `weft train`",
            next_step="delete it to start the run again",
        ) from error
    if header.get("recipe") != recipe:
        raise ModelError(
            f"the run in {folder} was started with other settings or data",
            seen=header.get("recipe"),
            allowed=recipe,
            next_step="use the same settings, another run folder, or delete this one",
        )
    return tensors, numbers


class RunLog:
    """The file ``log.jsonl``, with one line per report; a resumed run drops the lines after its checkpoint."""

    def __init__(self, folder: Path, step: int) -> None:
        self.path = folder / LOG
        lines = self.path.read_text("utf-8", errors="replace").splitlines() if self.path.is_file() else []
        kept = [line for line in lines if _step_of(line) <= step]
        with write_atomically(self.path) as handle:
            handle.write("".join(line + "\n" for line in kept).encode())

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record."""
        with self.path.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(dict(record)) + "\n")


def _step_of(line: str) -> float:
    """Return the step of a line of the log; infinity for an incomplete line, which a killed run may have left."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return math.inf
