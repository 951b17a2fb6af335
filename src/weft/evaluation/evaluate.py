"""`evaluate` runs one task with one model on one data set and returns the result."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict
from pathlib import Path

from weft.evaluation.result import Result, summarize
from weft.evaluation.result_checks import nothing_measured
from weft.evaluation.sets.genres import add_genres, genres_of
from weft.evaluation.task_contract import EvaluateOptions, Outcome, Subject
from weft.evaluation.tasks import Experiment, find_experiment, joined
from weft.io.file_hash import sha256_of
from weft.progress import Progress, silent
from weft.scoring.uni_bi_mmi import estimator_of


def evaluate(
    task: str,
    subject: Subject,
    data: str | None = None,
    options: EvaluateOptions = EvaluateOptions(),  # noqa: B008  frozen
    *,
    command: str = "",
    progress: Progress = silent,
) -> Result:
    """Run a task on a standard data set or on a file of documents.

    Args:
        task: Name of a task, such as ``pairs``; see `weft.evaluation.tasks`.
        subject: The model and its name; `weft.evaluation.evaluated_models.load_subjects` makes it from a model's name.
        data: Name of a standard data set, such as ``wikipedia``, or a file; None for the task's default.
        options: How the task is run.
        command: The command to record in the result.
        progress: Called as the work goes on.

    Returns:
        Metrics with intervals, and everything needed to repeat them.

    Raises:
        ConfigError: There is no such task or data set, or a setting is wrong.
        CorpusError: The data cannot be read, or no document can be measured.

    Example:
        >>> import json, pathlib, tempfile
        >>> from weft.registry import create_model
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "mine.jsonl"
        >>> _ = file.write_text(json.dumps({"sentences": ["Born in 1800.", "Died in 1880."]}))
        >>> evaluate("pairs", Subject(create_model("year-sort"), "year-sort"), str(file)).metrics["accuracy"]
        1.0
    """
    experiment = find_experiment(task, data)
    source = experiment.open(options)
    data_sha256 = _sha256_of_data(source.path)  # first, so that a missing file is reported at once
    outcome = experiment.task.run(subject, source, options, progress)
    outcome = add_genres(outcome, genres_of(source), experiment.task.headline)
    if not any(any(measure.denominators) for measure in outcome.measures.values()):
        raise nothing_measured(outcome.lengths)
    return _result(experiment, subject, outcome, options, data_sha256, command)


def _result(
    experiment: Experiment, subject: Subject, outcome: Outcome, options: EvaluateOptions, data_sha256: str, command: str
) -> Result:
    metrics, intervals = summarize(outcome.measures, seed=options.seed)
    limit = {} if options.limit is None else {"limit": options.limit}
    return Result(
        task=experiment.name,
        model=subject.name,
        variant=joined(subject.variant, experiment.departures(options)),
        metrics=metrics,
        interval={**intervals, **outcome.intervals},
        n_documents=len(outcome.documents),
        n_pairs=outcome.n_pairs,
        ties=outcome.ties,
        n_excluded=outcome.n_excluded,
        seed=options.seed,
        estimator=estimator_of(subject.model, searching=experiment.task.searching),
        data_name=experiment.data_name,
        data_sha256=data_sha256,
        negatives_sha256=outcome.negatives_sha256,
        command=command,
        settings={**subject.settings, **limit, **outcome.settings},
        training=subject.training,
        model_name=subject.given,
        model_sha256=subject.sha256,
        documents=outcome.documents,
        lengths=outcome.lengths,
        per_document={name: asdict(measure) for name, measure in {**outcome.measures, **outcome.scores}.items()},
    )


def _sha256_of_data(path: Path) -> str:
    """Return the hash of a file, or of all files below a folder with their names."""
    if not os.path.isdir(path):
        return sha256_of(path)
    digest = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        digest.update(f"{file.relative_to(path)}\0{sha256_of(file)}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
