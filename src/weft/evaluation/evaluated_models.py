"""The subjects of an evaluation: models by name, and controls."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, check_known
from weft.evaluation.task_contract import Subject
from weft.evaluation.tasks import find_task, joined
from weft.generation.writing_models import combined_model
from weft.hub import find_model, load_model
from weft.io.file_hash import sha256_of
from weft.io.model_folder import MANIFEST, read_manifest
from weft.protocols import CoherenceModel, CombinableModel
from weft.registry import result_name

CONTROL = "control-"


@dataclass(frozen=True, slots=True)
class Control:
    """Human sentences in place of a model's continuations: `human`, `random-sentence`, `wrong-order`, `repeat-last`."""

    name: str


def load_subjects(
    task: str, name: str, settings: Mapping[str, Any], *, variant: str = "", combine: Sequence[str] = ()
) -> list[Subject]:
    """Load a model once, and return one subject for each combination of its parts.

    Args:
        task: The task it is loaded for.
        name: A model's name or folder, or one of the task's controls.
        settings: Settings of the model and of the task (``decoding.beam``).
        variant: A name for these settings; by default, it is made from them.
        combine: Combinations: uni, bi, mmi; by default that of the task, else that of the model.

    Raises:
        ConfigError: There is no such model, setting or combination.
    """
    chosen, known = find_task(task), variant or variant_of(settings)
    _check_variant(known)
    if chosen.controls and name.startswith(CONTROL):
        return [_control(name, known, chosen.controls, settings, combine)]
    own = chosen.split_settings(settings)[0]
    subject = loaded_subject(load_model(name, own), name, own, known)
    return [combined_subject(task, subject, one) for one in combine or ("",)]


def combined_subject(task: str, subject: Subject, combine: str = "") -> Subject:
    """Return a subject that combines its parts as chosen, else as the task does by default, else as the model does.

    Raises:
        ConfigError: The model has no parts to combine, or the task needs a model that writes.
    """
    usual = find_task(task).combine
    if usual and not isinstance(subject.model, CombinableModel):
        raise ConfigError(
            f"{subject.name} cannot write",
            seen=f"{task} with {subject.name}",
            allowed="a generative model, such as weft-small",
            next_step="choose another --model",
        )
    return with_combination(subject, combine or usual) if combine or usual else subject


def loaded_subject(model: CoherenceModel, name: str, settings: Mapping[str, Any], variant: str = "") -> Subject:
    """Return the subject of a loaded model, under the name of its class, or its own if it has one (`NAMED_MODELS`).

    Args:
        model: The model.
        name: The name or folder that it was loaded from.
        settings: The settings that it was loaded with.
        variant: A name for these settings; by default, it is made from them.
    """
    found = find_model(name)
    manifest = read_manifest(found.folder) if found.folder else {}
    return Subject(
        model,
        result_name(name, found.model),
        variant or variant_of(settings),
        {**manifest.get("config", {}), **settings},
        manifest.get("training", {}),
        given=Path(name).absolute().name,
        sha256=sha256_of(found.folder / MANIFEST) if found.folder else "",
    )


def _control(
    name: str, variant: str, known: Sequence[str], settings: Mapping[str, Any], combine: Sequence[str]
) -> Subject:
    """Return the subject of a control; raise ConfigError for options of models, which it does not have."""
    check_known("control", name, known)
    unused = [f"--set {key}=…" for key in settings if not key.startswith("evaluator.")]
    unused += [f"--combine {one}" for one in combine]
    if unused:
        raise ConfigError(
            f"{name} is made of human sentences and has no such option",
            seen=", ".join(unused),
            allowed="--set evaluator.…",
            next_step="omit it",
        )
    return Subject(Control(name.removeprefix(CONTROL)), name, variant)


def with_combination(subject: Subject, combine: str) -> Subject:
    """Return a subject whose model combines its parts as uni, bi or mmi.

    Raises:
        ConfigError: The model has no parts to combine.
    """
    settings = {**subject.settings, "combine": combine}
    model = combined_model(subject.model, combine, subject.name)
    return replace(subject, model=model, variant=joined(combine, subject.variant), settings=settings)


def variant_of(settings: Mapping[str, Any]) -> str:
    """Return a name that is unique for the settings; a long name ends in a hash.

    Example:
        >>> variant_of({"samples": 2, "beam": 5}), len(variant_of({"trees": "x" * 200}))
        ('beam=5-samples=2', 73)
    """
    name = "-".join(f"{key}={value}" for key, value in sorted(settings.items())).replace("/", "_")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return name if len(name) <= 100 else f"{name[:64]}-{digest[:8]}"


def _check_variant(variant: str) -> None:
    if len(variant) > 100 or any(character in variant for character in "/\\\0") or variant.startswith("."):
        raise ConfigError(
            "the variant cannot be used in a file name",
            seen=variant,
            allowed="up to 100 characters without slashes, not starting with a dot",
            next_step="give another --variant",
        )
