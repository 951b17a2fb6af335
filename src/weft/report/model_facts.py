"""Size, training data and training time of the models behind the results.

`weft table --models zoo` records them in ``results/models.json``: tables and plots need the results folder only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from weft.errors import CorpusError, is_number
from weft.evaluation.result import Result
from weft.io.atomic_files import write_atomically
from weft.io.model_folder import MANIFEST, load_artifact, read_manifest
from weft.io.package_files import PRETRAINED_MODELS
from weft.io.quantization import SCALE
from weft.registry import NAMED_MODELS, result_name

RECORD = "models.json"
LOGS = "training"
BUILT_IN = "weft-reader"  # the folder inside the package that is a model


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a trained model."""

    name: str  # name of its folder
    model: str  # its name in the results
    parameters: int  # number of parameters, including those that another folder holds
    size: int  # bytes of all its files, including shared weights
    sentences: int | None  # number of training sentences, if recorded
    data: Sequence[str]  # names of the training files
    limit: int  # number of documents that were used of them; 0 for all
    fingerprint: str  # fingerprint of the training data
    command: str  # command that trained it
    minutes: float | None  # training time, summed over parts; None without a log
    minutes_before: float | None  # training time of the models it starts from


def read_facts(folder: str | Path, logs: str | Path) -> ModelFacts:
    """Return the facts about a model folder.

    Args:
        folder: The model folder.
        logs: The folder of training logs, ``NAME/PART.jsonl``.

    Raises:
        ModelError: The folder is damaged.
        CorpusError: Its record of the training, or a log, cannot be read.
    """
    place, artifact = Path(folder), load_artifact(folder)
    training, tensors = artifact.training, artifact.tensors
    shared = [tensors[name] for one in artifact.shared for name in one.tensors]
    size = sum((place / name).stat().st_size for name in read_manifest(place)["files"])
    try:
        before = _started_from(training)
        return ModelFacts(
            name=place.name,
            model=result_name(place, artifact.model),
            parameters=sum(tensor.size for name, tensor in tensors.items() if not name.endswith(SCALE))
            or int(training.get("export", {}).get("parameters", 0)),  # of an exported model, as its folder records it
            size=size + sum(tensor.nbytes for tensor in shared),
            sentences=training.get("sentences"),
            data=_data_names(training.get("data") or {}),
            limit=int(training.get("limit", 0)),
            fingerprint=str(training.get("data_fingerprint", "")),
            command=str(training.get("command", "")),
            minutes=_minutes(Path(logs), [place.name]),
            minutes_before=_minutes(Path(logs), before) if before else None,
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CorpusError(
            f"cannot read how the model in {folder} was trained",
            seen=str(error)[:200],
            allowed=f"a folder with {MANIFEST}, as `weft train` writes it, and its logs",
            next_step="train the model again, or give another folder with --models",
        ) from error


def _data_names(data: Any) -> list[str]:
    """Return file names from ``{path: hash}`` (baselines) or ``[{name, …}]`` (token stores)."""
    names = data if isinstance(data, Mapping) else [one["name"] for one in data]
    return sorted(Path(name).name for name in names)


def _started_from(training: Mapping[str, Any]) -> list[str]:
    """Return the names of the runs that a model was started from, nearest first."""
    names: list[str] = []
    while start := training.get("start"):
        parts = [part for part in Path(start["folder"]).parts if part != "model"]
        names.append(parts[-1])
        training = start["training"]
    return names


def _minutes(logs: Path, names: Iterable[str]) -> float | None:
    """Return the summed time of runs from their logs, or None if a log is missing."""
    total = 0.0
    for name in names:
        parts = sorted((logs / name).glob("*.jsonl"))
        if not parts:
            return None
        total += sum(json.loads(path.read_text("utf-8").splitlines()[-1])["seconds"] for path in parts)
    return round(total / 60, 1)


def record_facts(zoo: str | Path, results: str | Path) -> Path:
    """Record the facts about all models in a folder and inside the package; return the path of the record.

    Facts of models that are no longer in the folder stay in the record if another command trained them: their results
    stay too.

    Raises:
        CorpusError: The folder has no model.
    """
    folders = [path.parent for path in sorted(Path(zoo).glob(f"*/{MANIFEST}"))]
    if not folders:
        raise CorpusError(
            "no model folder in the folder",
            seen=str(zoo),
            allowed="a folder of model folders, such as zoo",
            next_step="check the path",
        )
    logs = Path(results) / LOGS
    found = [read_facts(folder, logs) for folder in (PRETRAINED_MODELS / BUILT_IN, *folders)]
    commands = {(facts.model, facts.command) for facts in found}
    found += [facts for facts in load_facts(results) if (facts.model, facts.command) not in commands]
    path = Path(results) / RECORD
    lines = ",\n".join("  " + json.dumps(asdict(facts), ensure_ascii=False) for facts in found)
    with write_atomically(path) as handle:
        handle.write(f"[\n{lines}\n]\n".encode())
    return path


def load_facts(results: str | Path) -> list[ModelFacts]:
    """Return the recorded facts; an empty list if there is no record.

    Raises:
        CorpusError: The record cannot be read.
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
            f"cannot read {path}",
            seen=str(error),
            allowed="a file written by `weft table --models`",
            next_step="run `weft table --models zoo` again",
        ) from error


def _check(facts: ModelFacts) -> None:
    """Raise TypeError if a field of a record has the wrong type."""
    numbers = (facts.parameters, facts.size, facts.limit)
    optional = (facts.sentences, facts.minutes, facts.minutes_before)
    texts = (facts.name, facts.model, facts.fingerprint, facts.command, *facts.data)
    if not all(map(is_number, numbers)) or not all(value is None or is_number(value) for value in optional):
        raise TypeError(f"a field of {facts.name} is not a number")
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"a field of {facts.name} is not a string")


def facts_of(result: Result, known: Sequence[ModelFacts]) -> ModelFacts | None:
    """Return the facts about the model of a result: trained by the same command, else on the same data."""
    fingerprint, command = result.training.get("data_fingerprint", ""), result.training.get("command", "")
    of_model = [facts for facts in known if facts.model == result.model]
    if result.model in NAMED_MODELS:
        return of_model[0] if of_model else None
    same = [facts for facts in of_model if fingerprint and facts.fingerprint == fingerprint]
    return next((facts for facts in same if facts.command == command), same[0] if same else None)
