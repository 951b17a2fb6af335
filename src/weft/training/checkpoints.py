"""The files of a run: one checkpoint, which is replaced as a whole, and a log that ends at the checkpoint."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.errors import ModelError
from weft.io.atomic_files import write_atomically

CHECKPOINT = "checkpoint.safetensors"
LOG = "log.jsonl"
SETTINGS = "settings"  # in the header of a checkpoint
Snapshot = tuple[dict[str, Tensor], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that determines a run; a checkpoint of another recipe is not resumed.

    Attributes:
        sha256: Hash of all of it.
        settings: The settings by name, such as ``training.steps``, so that a message can name the one that differs.
        data: Hashes of the data and of the weights that the run starts from, by what they are.
    """

    sha256: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)

    def to_text(self) -> str:
        """Return the settings and the data as JSON, for the header of a checkpoint."""
        return json.dumps({"settings": dict(self.settings), "data": dict(self.data)})

    def differences(self, text: str) -> list[str]:
        """Return how this recipe differs from one that `to_text` wrote.

        Example:
            >>> Recipe("b", {"training.steps": 9}, {"training data": "x"}).differences(
            ...     Recipe("a", {"training.steps": 5}, {"training data": "y"}).to_text())
            ['training.steps = 9, started with 5', 'other training data']
        """
        before, now = json.loads(text), json.loads(self.to_text())
        found = [
            f"{name} = {now['settings'].get(name)!r}, started with {before['settings'].get(name)!r}"
            for name in {**before["settings"], **now["settings"]}
            if before["settings"].get(name) != now["settings"].get(name)
        ]
        data = {**before["data"], **now["data"]}
        return found + [f"other {name}" for name in data if before["data"].get(name) != now["data"].get(name)]


def save_checkpoint(folder: Path, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any], *, recipe: Recipe) -> None:
    """Write a snapshot as one file, with the numbers in its header, and rename it when it is complete."""
    from safetensors.torch import save

    header = {"numbers": json.dumps(dict(numbers)), "recipe": recipe.sha256, SETTINGS: recipe.to_text()}
    with write_atomically(folder / CHECKPOINT) as handle:
        handle.write(save(dict(tensors), metadata=header))


def load_checkpoint(folder: Path, *, recipe: Recipe) -> Snapshot | None:
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
    if header.get("recipe") != recipe.sha256:
        raise ModelError(
            f"the run in {folder} was started with other settings or data",
            seen=_what_differs(header, recipe),
            allowed="the settings and data that it was started with, to continue it",
            next_step="set them back, give another run.folder, or delete this one to start again",
        )
    return tensors, numbers


def _what_differs(header: Mapping[str, str], recipe: Recipe) -> str:
    try:
        found = recipe.differences(header[SETTINGS])
    except (KeyError, TypeError, ValueError, AttributeError):  # checkpoints of early versions have only a hash
        found = []
    return "; ".join(found) or "a checkpoint of another version of weft"


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
