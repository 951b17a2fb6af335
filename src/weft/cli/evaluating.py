"""What `weft evaluate` and `weft compare` evaluate, and how results are shown."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from weft.cli.output import csv_table, message, progress_bar, shown, write_json, write_lines
from weft.errors import ConfigError
from weft.hub import load_model
from weft.registry import MODELS
from weft.report.terminal import counted

if TYPE_CHECKING:
    from weft.evaluation.evaluate import Subject
    from weft.evaluation.result import Result
    from weft.evaluation.tasks import EvaluateOptions


def subject_of(name: str, settings: Mapping[str, Any], variant: str) -> Subject:
    """A model to evaluate, under the name its result will carry: a folder's is that of the model inside."""
    from weft.evaluation.evaluate import Subject

    chosen = variant or _variant_of(settings)
    if len(chosen) > 100 or any(character in chosen for character in "/\\\0") or chosen.startswith("."):
        raise ConfigError(
            "a variant is part of a file name",
            seen=chosen,
            allowed="up to 100 characters without slashes, the first of them no dot",
            next_step="give another --variant",
        )
    model = load_model(name, settings)
    if hasattr(model, "to"):
        model.to(best_device())
    if name in MODELS:
        return Subject(model, name, chosen, settings)
    from weft.io.model_folder import load_artifact

    artifact = load_artifact(name)
    return Subject(model, artifact.model, chosen, {**artifact.config, **settings}, artifact.training)


def _variant_of(settings: Mapping[str, Any]) -> str:
    """A name for settings that were given none, so that two never share a result file; a long one ends in a hash.

    Example:
        >>> _variant_of({"samples": 2, "beam": 5}), len(_variant_of({"trees": "x" * 200}))
        ('beam=5-samples=2', 73)
    """
    name = "-".join(f"{key}={value}" for key, value in sorted(settings.items())).replace("/", "_")
    return name if len(name) <= 100 else f"{name[:64]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def subjects_of(name: str, settings: Mapping[str, Any], variant: str, combine: Sequence[str]) -> list[Subject]:
    """The same model once, or once for each way of combining its parts."""
    subject = subject_of(name, settings, variant)
    return ways_of(subject, combine) if combine else [subject]


def ways_of(subject: Subject, combine: Sequence[str]) -> list[Subject]:
    """A model once for each way of combining its parts."""
    combined = getattr(subject.model, "combined", None)
    if combined is None:
        raise ConfigError(
            f"{subject.name} has no parts to combine",
            seen=", ".join(combine),
            allowed="no --combine with this model",
            next_step="leave --combine away",
        )
    from weft.evaluation.tasks import joined

    settings = dict(subject.settings or {})
    named = subject.variant  # settings given by --set are part of it, so that no other result is written over
    return [
        replace(subject, model=combined(way), variant=joined(way, named), settings={**settings, "combine": way})
        for way in combine
    ]


def write_results(
    tasks: Sequence[str], subjects: Sequence[Subject], options: EvaluateOptions, out: Path, *, command: str, form: str
) -> None:
    """Run every task on every subject; each result is saved and shown before the next begins."""
    from weft.evaluation.evaluate import evaluate

    for task in tasks:
        for subject in subjects:
            with progress_bar() as progress:
                result = evaluate(task, subject, options, command=command, progress=progress)
            message(f"wrote {result.save(out)}")
            write_result(result, form=form)


def write_adversarial(
    name: str,
    settings: Mapping[str, Any],
    named: tuple[str, Sequence[str]],
    options: EvaluateOptions,
    places: tuple[Path, Path],
    command: str,
    *,
    form: str,
) -> None:
    """Run an adversarial evaluation of a model in some ways of reranking, or of a control.

    Args:
        name: The model, or ``control-…``.
        settings: Of the model, and with ``decoding.`` and ``evaluator.`` of the task.
        named: A name for the settings, and the ways of reranking.
        options: Of the evaluation.
        places: The results folder, and where what was written and judged is kept.
        command: For the record.
        form: Of the output.
    """
    from weft.evaluation.adversarial.results import CONTROL, adversarial_options, evaluate_control, evaluate_writers
    from weft.evaluation.tasks import departures, find_task, joined
    from weft.generation.bulk import bulk_writer

    variant, combine = named
    chosen, own = adversarial_options(options, settings, places[1])
    label = joined(variant or _variant_of(settings), departures(find_task("adversarial"), options))
    with progress_bar() as progress:
        if name.startswith(CONTROL):
            _refuse_for_control(name, settings, combine)
            found = iter([evaluate_control(name, label, options, chosen, command=command, progress=progress)])
        else:
            subject = subject_of(name, own, label)
            bulk_writer(subject.model, name)  # can it write at all?
            subjects = ways_of(subject, combine or ["mmi"])
            found = evaluate_writers(subjects, options, chosen, command=command, progress=progress)
        results = list(found)
    for result in results:
        message(f"wrote {result.save(places[0])}")
        write_result(result, form=form)


def _refuse_for_control(name: str, settings: Mapping[str, Any], combine: Sequence[str]) -> None:
    """A control writes nothing: settings of models and of decoding would be a mistake, or pass for one that worked."""
    idle = [f"--set {key}=…" for key in settings if not key.startswith("evaluator.")]
    idle += [f"--combine {way}" for way in combine]
    if idle:
        raise ConfigError(
            f"{name} is made of human sentences, and takes no such option",
            seen=", ".join(idle),
            allowed="--set evaluator.…",
            next_step="leave it away",
        )


def write_result(result: Result, *, form: str) -> None:
    """A result's metrics with their intervals."""
    if form == "json":
        summary = asdict(result)
        del summary["per_document"], summary["documents"]
        write_json(summary)
        return
    rows = [(name, value, *(result.interval.get(name) or (None, None))) for name, value in result.metrics.items()]
    if form == "csv":
        table = csv_table(form, ["task", "model", "variant", "metric", "value", "low", "high"])
        table.writerows([result.task, result.model, result.variant, *row] for row in rows)
        return
    pairs = f", {result.n_pairs} pairs, {result.ties} ties" if result.n_pairs else ""
    write_lines(
        [
            Text(f"{result.task}  {result.model}  {result.variant}".rstrip(), "bold"),
            Text(f"{counted(result.n_documents, 'document')}{pairs}, {result.n_excluded} excluded, seed {result.seed}"),
            *(_measure_line(*row) for row in rows),
        ]
    )


def _measure_line(name: str, value: float | None, low: float | None, high: float | None) -> Text:
    interval = "" if low is None else f"   95% {shown(low)} to {shown(high)}"
    return Text(f"  {name:<24}{shown(value):>8}{interval}")


def best_device() -> str:
    """A GPU where there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
