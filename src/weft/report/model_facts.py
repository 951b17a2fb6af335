"""What is known of the models behind the results: size, data, time; written down once, beside the results.

`weft table --models zoo` reads model folders and training logs into ``results/models.json``; tables and plots are then
made from the results folder alone.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from weft.errors import CorpusError, is_number
from weft.evaluation.result import Result
from weft.io.atomic_files import write_atomically
from weft.io.model_folder import MANIFEST, SUFFIX
from weft.io.package_files import PRETRAINED
from weft.io.quantization import SCALE

RECORD = "models.json"
LOGS = "training"
EMBEDDED = PRETRAINED
BUILT_IN = ("weft-small",)  # of the folders inside the package, those that are models by themselves


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A trained model.

    Attributes:
        name: Of its folder.
        model: Its name in the results.
        parameters: Numbers in its weights; those it shares with another folder are counted.
        size: Bytes of all its files, shared ones included.
        sentences: It was trained on, where its record says so.
        data: The files it was trained on.
        limit: Only the first so many documents of them; 0 for all.
        fingerprint: Of these data.
        command: That trained it.
        minutes: Its training took, all parts one after the other; none where no log is kept.
        minutes_before: The same for the models it starts from.
    """

    name: str
    model: str
    parameters: int
    size: int
    sentences: int | None
    data: Sequence[str]
    limit: int
    fingerprint: str
    command: str
    minutes: float | None
    minutes_before: float | None


def read_facts(folder: str | Path, logs: str | Path, *, model: str = "") -> ModelFacts:
    """The facts of a model folder; weights are not loaded.

    Args:
        folder: The model.
        logs: The folder of training logs, ``NAME/PART.jsonl``.
        model: The name in the results, where it is not the one in the folder.

    Raises:
        CorpusError: It is not a readable model folder.
    """
    place = Path(folder)
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        shapes = {name: _shapes(place / name) for name in manifest["files"] if name.endswith(SUFFIX)}
        shared = [(_all_shapes(place.parent / one["folder"]), one["tensors"]) for one in manifest.get("shared", ())]
        held = [one for tensors in shapes.values() for one in tensors.items()]
        held += [(there, shapes[there]) for shapes, names in shared for there in names.values()]
        size = sum((place / name).stat().st_size for name in manifest["files"])
        training: Mapping[str, Any] = manifest["training"]
        before = _started_from(training)
        return ModelFacts(
            name=place.name,
            model=model or str(manifest["model"]),
            parameters=sum(count for name, (count, _) in held if not name.endswith(SCALE)),
            size=size + sum(shapes[there][1] for shapes, names in shared for there in names.values()),
            sentences=training.get("sentences"),
            data=_data_names(training.get("data") or {}),
            limit=int(training.get("limit", 0)),
            fingerprint=str(training.get("data_fingerprint", "")),
            command=str(training.get("command", "")),
            minutes=_minutes(Path(logs), [place.name]),
            minutes_before=_minutes(Path(logs), before) if before else None,
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error) as error:
        raise CorpusError(
            f"cannot read the facts of the model in {folder}",
            seen=str(error)[:200],
            allowed=f"a folder with {MANIFEST}, as `weft train` writes it",
            next_step="train the model again, or name another folder with --models",
        ) from error


def _shapes(path: Path) -> dict[str, tuple[int, int]]:
    """Numbers and bytes of every tensor, from the head of a safetensors file."""
    with path.open("rb") as handle:
        (length,) = struct.unpack("<Q", handle.read(8))
        if length > path.stat().st_size:
            raise ValueError(f"{path.name} is not a safetensors file")
        head = json.loads(handle.read(length))
    found = {}
    for name, one in head.items():
        if name != "__metadata__":
            count = 1
            for side in one["shape"]:
                count *= side
            start, end = one["data_offsets"]
            found[name] = (count, end - start)
    return found


def _all_shapes(folder: Path) -> dict[str, tuple[int, int]]:
    """The tensors of a folder, named as in an artifact: ``part/name``; of the weights file, by their name alone."""
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        prefix = "" if path.stem == "weights" else f"{path.stem}/"
        found |= {prefix + name: shape for name, shape in _shapes(path).items()}
    return found


def _data_names(data: Any) -> list[str]:
    """Of ``{path: hash}``, as baselines record them, or ``[{name, …}]``, as stores do."""
    names = data if isinstance(data, Mapping) else [one["name"] for one in data]
    return sorted(Path(name).name for name in names)


def _started_from(training: Mapping[str, Any]) -> list[str]:
    """The names of the runs that a model goes back to, nearest first."""
    names: list[str] = []
    while start := training.get("start"):
        parts = [part for part in Path(start["folder"]).parts if part != "model"]
        names.append(parts[-1])
        training = start["training"]
    return names


def _minutes(logs: Path, names: Iterable[str]) -> float | None:
    """What the logs of runs add up to, or nothing if one of them is not there."""
    total = 0.0
    for name in names:
        parts = sorted((logs / name).glob("*.jsonl"))
        if not parts:
            return None
        total += sum(json.loads(path.read_text("utf-8").splitlines()[-1])["seconds"] for path in parts)
    return round(total / 60, 1)


def record_facts(zoo: str | Path, results: str | Path) -> Path:
    """Write down the facts of all models in a folder, and of those inside the package.

    Raises:
        CorpusError: There is no model in the folder.
    """
    folders = [path.parent for path in sorted(Path(zoo).glob(f"*/{MANIFEST}"))]
    if not folders:
        raise CorpusError(
            "no model folder in it",
            seen=str(zoo),
            allowed="a folder of model folders, such as zoo",
            next_step="check the path",
        )
    logs = Path(results) / LOGS
    found = [read_facts(EMBEDDED / name, logs, model=name) for name in BUILT_IN]
    found += [read_facts(folder, logs) for folder in folders]
    path = Path(results) / RECORD
    lines = ",\n".join("  " + json.dumps(asdict(facts), ensure_ascii=False) for facts in found)
    with write_atomically(path) as handle:
        handle.write(f"[\n{lines}\n]\n".encode())
    return path


def load_facts(results: str | Path) -> list[ModelFacts]:
    """The facts that were written down; none where nothing was.

    Raises:
        CorpusError: The file is damaged.
    """
    path = Path(results) / RECORD
    if not path.is_file():
        return []
    known = {field.name for field in fields(ModelFacts)}
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        found = [ModelFacts(**{key: value for key, value in one.items() if key in known}) for one in records]
        for facts in found:
            _check(facts)
        return found
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CorpusError(
            f"cannot read {path}: {error}",
            allowed="a file written by `weft table --models`",
            next_step="run `weft table --models zoo` again",
        ) from error


def _check(facts: ModelFacts) -> None:
    """Refuse a record whose fields are not what the pages rely on."""
    numbers = (facts.parameters, facts.size, facts.limit)
    optional = (facts.sentences, facts.minutes, facts.minutes_before)
    texts = (facts.name, facts.model, facts.fingerprint, facts.command, *facts.data)
    if not all(map(is_number, numbers)) or not all(value is None or is_number(value) for value in optional):
        raise TypeError(f"a number of {facts.name} is none")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"a name of {facts.name} is none")


def facts_of(result: Result, known: Sequence[ModelFacts]) -> ModelFacts | None:
    """The model behind a result: the same command, else another training of it on the same data."""
    fingerprint, command = result.training.get("data_fingerprint", ""), result.training.get("command", "")
    of_model = [facts for facts in known if facts.model == result.model]
    if result.model in BUILT_IN:
        return of_model[0] if of_model else None
    same = [facts for facts in of_model if fingerprint and facts.fingerprint == fingerprint]
    return next((facts for facts in same if facts.command == command), same[0] if same else None)
