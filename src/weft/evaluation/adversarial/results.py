"""The task `adversarial`: its settings, and its outcome in the form that all tasks have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from weft.errors import ConfigError, check_known
from weft.evaluation.adversarial.chunks import Protocol
from weft.evaluation.adversarial.experiment import AdversarialOptions, contests
from weft.evaluation.subjects import Control
from weft.evaluation.task import DataFile, EvaluateOptions, Outcome, Subject
from weft.progress import Progress
from weft.scoring.pairs import checked_combine


def measure_adversarial(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Let a model, or a control, continue contexts, and train evaluators to tell its text from that of people."""
    chosen = adversarial_options(options)
    if isinstance(subject.model, Control):
        found = contests(data.path, None, subject.model.name, (), chosen, progress=progress)[""]
    else:
        way = checked_combine(str(subject.settings.get("combine", "mmi")))
        found = contests(data.path, subject.model, subject.name, (way,), chosen, progress=progress)[way]
    return Outcome(
        found.measures,
        list(found.pages),
        n_pairs=found.contexts,
        negatives_sha256=str(found.settings["chunks"]),
        settings=found.settings,
    )


def adversarial_options(options: EvaluateOptions) -> AdversarialOptions:
    """Return the options of an adversarial evaluation.

    Raises:
        ConfigError: A setting is unknown, or has the wrong type or value.

    Example:
        >>> adversarial_options(EvaluateOptions(settings={"decoding.beam": 5})).decoding.beam
        5
    """
    chosen = AdversarialOptions(options.work, options.limit, seed=options.seed, device=options.device)
    _check_length(options.settings)
    for name in options.settings:
        check_known("setting", name, [*_known(chosen.decoding, "decoding."), *_known(chosen.evaluator, "evaluator.")])
    decoding = _changed(chosen.decoding, options.settings, "decoding.")
    return replace(chosen, decoding=decoding, evaluator=_changed(chosen.evaluator, options.settings, "evaluator."))


def _check_length(settings: Mapping[str, Any]) -> None:
    longest = Protocol().longest + 1  # the end of a sentence is a token too
    asked = settings.get("decoding.max_tokens", longest)
    if isinstance(asked, int) and asked > longest:
        raise ConfigError(
            "evaluators do not read sentences that long",
            seen=f"decoding.max_tokens={asked}",
            allowed=f"up to {longest}",
            next_step="omit it",
        )


def _known(old: Any, section: str) -> dict[str, type]:
    return {f"{section}{one.name}": type(getattr(old, one.name)) for one in fields(old)}


def _changed(old: Any, settings: Mapping[str, Any], section: str) -> Any:
    """Return the settings of one section with some replaced."""
    known = _known(old, section)
    changes = {name: value for name, value in settings.items() if name.startswith(section)}
    for name, value in changes.items():
        fits = type(value) is known[name] or (known[name] is float and type(value) is int)
        if not fits:
            raise ConfigError(
                f"{name} has the wrong type", seen=value, allowed=known[name].__name__, next_step="change --set"
            )
    return replace(old, **{name.removeprefix(section): value for name, value in changes.items()})
