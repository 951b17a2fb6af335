"""The result of a model on a task: from a result file, from the results folder, or from an evaluation."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from weft.errors import ConfigError
from weft.evaluation.evaluate import evaluate
from weft.evaluation.evaluated_models import load_subjects
from weft.evaluation.result import Result
from weft.evaluation.task_contract import EvaluateOptions
from weft.evaluation.tasks import find_experiment
from weft.io.devices import on_device
from weft.models.common.thread_pool import few_threads
from weft.progress import Progress, silent
from weft.protocols import CombinableModel
from weft.scoring.uni_bi_mmi import COMBINATIONS


def is_result_file(name: str) -> bool:
    """Return whether a name is that of a result file: a JSON object with a task, a model and metrics."""
    if not name.endswith(".json") or not os.path.isfile(name):
        return False
    try:
        content = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and {"task", "model", "metrics"} <= content.keys()


def model_and_combination(name: str) -> tuple[str, str]:
    """Return a model and the combination after its name, if there is one.

    Example:
        >>> model_and_combination("seq2seq.mmi"), model_and_combination("random")
        (('seq2seq', 'mmi'), ('random', ''))
    """
    stem, _, combination = name.rpartition(".")
    return (stem, combination) if combination in COMBINATIONS and not os.path.exists(name) else (name, "")


def find_result(
    name: str,
    task: str,
    data: str | None,
    results: Path,
    options: EvaluateOptions,
    *,
    command: str = "",
    progress: Progress = silent,
) -> Result:
    """Return the result of a model; a model without a result in the results folder is evaluated.

    Args:
        name: A result file, or a model's name or folder, such as ``seq2seq`` or ``seq2seq.mmi``.
        task: Name of the task; empty if only result files are compared.
        data: Name of a standard set or a file of documents; None for the task's standard data.
        results: The results folder; a new result is not written.
        options: All other options of an evaluation.
        command: The command to record in a new result.
        progress: Receives the progress of an evaluation.

    Raises:
        ConfigError: There is no such task or model, or no task is given for a model.
    """
    if is_result_file(name):
        return Result.load(name)
    if not task:
        raise ConfigError(
            "a result file can be compared with a model only on a task",
            seen=name,
            allowed="two result files, or a task and two models",
            next_step="give --task",
        )
    experiment = find_experiment(task, data)
    path = results / experiment.name / f"{name}.json"
    if not (experiment.file or options.limit) and "/" not in name and os.path.isfile(path):
        return Result.load(path)
    stem, combination = model_and_combination(name)
    (subject,) = load_subjects(task, stem, {}, combine=[combination] if combination else [])
    variant = combination or (subject.model.combine if isinstance(subject.model, CombinableModel) else "")
    progress(f"evaluating {name} on {task}", 0)
    on_device(subject.model, options.device)
    with few_threads():
        found = evaluate(task, subject, data, options, command=command, progress=progress)
    return replace(found, variant=variant)
