"""The experiments: one file each, documents in, one JSON result out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from weft.corpora.data_folder import DATA_VARIABLE, data_root
from weft.corpora.negatives.permute import inner_permutations, permutations
from weft.corpora.negatives.permuted_document import PermutedDocument, fingerprint_orders
from weft.corpora.negatives.swap import swapped_orders, swaps_name
from weft.corpora.readers.barzilay_lapata import read_barzilay_lapata
from weft.corpora.readers.formats import ReadOptions, detect_format, read_permuted
from weft.document import Document
from weft.errors import ConfigError, CorpusError
from weft.evaluation.discrimination import discriminate
from weft.evaluation.insertion import insert_sentences
from weft.evaluation.minimal_pairs import SHIPPED, prefer, read_pairs
from weft.evaluation.reconstruction import reconstruct
from weft.evaluation.result import Measure, Result, summarize
from weft.evaluation.tasks import TASKS, EvaluateOptions, Task, departures, find_task, is_standard, joined
from weft.io.file_hash import sha256_of
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer
from weft.scoring.pairs import estimator_of

__all__ = [
    "TASKS", "EvaluateOptions", "Subject", "Task", "data_path", "departures", "evaluate", "find_task", "is_standard",
    "joined", "sha256_of_data",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """The model under evaluation and what to call it in the result."""

    model: DocumentScorer
    name: str
    variant: str = ""
    settings: Mapping[str, Any] | None = None
    training: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class _Outcome:
    """The common part of what the kinds of task return; scores are kept for each document, but are no metrics."""

    measures: Mapping[str, Measure]
    n_pairs: int
    ties: int
    n_excluded: int
    scores: Mapping[str, Measure] = field(default_factory=dict)


def evaluate(
    task_name: str,
    subject: Subject,
    options: EvaluateOptions = EvaluateOptions(),  # noqa: B008  frozen
    *,
    command: str = "",
    progress: Progress = silent,
) -> Result:
    """Run a task on its standard data, or on any file of documents.

    Example:
        >>> import json, pathlib, tempfile
        >>> from weft.registry import create_model
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "mine.jsonl"
        >>> _ = file.write_text(json.dumps({"sentences": ["Born in 1800.", "Died in 1880."]}))
        >>> subject = Subject(create_model("year-sort"), "year-sort")
        >>> evaluate("wikipedia-pairs", subject, EvaluateOptions(data=str(file))).metrics["accuracy"]
        1.0
    """
    task = find_task(task_name)
    if task.kind == "adversarial":
        raise ConfigError(
            "an adversarial evaluation trains evaluators, and keeps what it makes in a folder",
            seen="weft.evaluation.evaluate.evaluate",
            allowed="weft.evaluation.adversarial.results.evaluate_writers, or the command line",
            next_step="weft evaluate --task adversarial",
        )
    path = data_path(task, options)
    data_sha256 = sha256_of_data(path)
    documents, outcome = _measure(task, subject.model, path, options, progress)
    metrics, intervals = summarize(outcome.measures, seed=options.seed)
    return Result(
        task=task_name,
        model=subject.name,
        variant=joined(subject.variant, departures(task, options)),
        metrics=metrics,
        interval=intervals,
        n_documents=len(documents),
        n_pairs=outcome.n_pairs,
        ties=outcome.ties,
        n_excluded=outcome.n_excluded,
        seed=options.seed,
        estimator=estimator_of(subject.model, searching=task.kind == "reconstruction"),
        data_name=task.data if options.data is None else path.name,
        data_sha256=data_sha256,
        negatives_sha256=fingerprint_orders(documents) if task.kind == "discrimination" else "",
        command=command,
        settings={**(subject.settings or {}), **_recorded(task, options, documents)},
        training=subject.training or {},
        documents=[item.document.id for item in documents],
        lengths=[len(item.document) for item in documents],
        per_document={
            name: {"numerators": measure.numerators, "denominators": measure.denominators}
            for name, measure in {**outcome.measures, **outcome.scores}.items()
        },
    )


def _recorded(task: Task, options: EvaluateOptions, documents: list[PermutedDocument]) -> dict[str, Any]:
    """The settings of the run itself that change its numbers."""
    chosen: dict[str, Any] = {"limit": options.limit} if options.limit is not None else {}
    if task.kind == "discrimination":
        chosen["permutations"] = max((len(item.orders) for item in documents), default=0)
    if task.kind == "reconstruction":
        chosen["beam"] = options.beam
        if options.objective != "auto":
            chosen["objective"] = options.objective
    return chosen


def sha256_of_data(path: Path) -> str:
    """The hash of a file, or of all files below a folder with their names."""
    if not path.is_dir():
        return sha256_of(path)
    digest = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        digest.update(f"{file.relative_to(path)}\0{sha256_of(file)}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def data_path(task: Task, options: EvaluateOptions) -> Path:
    """Where a task's data lie."""
    if options.data is not None:
        if options.data == "-":
            raise ConfigError(
                "an evaluation cannot read from a pipe: its result names the data's hash",
                seen="-",
                allowed="a file",
                next_step="save the documents to a file first",
            )
        return Path(options.data)
    if task.kind == "minimal-pairs":
        return SHIPPED / task.data
    path = data_root(options.data_root) / task.data
    if not path.is_file():
        raise CorpusError(
            "the task's standard data are not there",
            seen=str(path),
            allowed=f"a folder with {task.data}",
            next_step=f"set {DATA_VARIABLE} or --data-root to the data folder, or give --data FILE with your own texts",
        )
    return path


def _load(task: Task, path: Path, options: EvaluateOptions) -> list[PermutedDocument]:
    """Read the documents; those without published permutations get seeded ones, the same for every model."""
    read: Iterable[PermutedDocument] = islice(_read(task, path, options.read), options.limit)
    if task.kind != "discrimination":
        return [PermutedDocument(item.document, ()) for item in read]
    brought = task.negatives == "permutations"  # of other negatives the task makes its own, whatever the data bring
    return [
        item if brought and (item.orders or item.replacements) else _permuted(item.document, task, options)
        for item in read
    ]


def _read(task: Task, path: Path, options: ReadOptions) -> Iterator[PermutedDocument]:
    """The documents of a file; of the original Barzilay & Lapata layout, only the task's domain and its test part."""
    name = detect_format(path) if options.format == "auto" else options.format
    if name == "barzilay-lapata" and task.domain:
        return read_barzilay_lapata(path, options, domain=task.domain, split="test")
    return read_permuted(path, options)


def _permuted(document: Document, task: Task, options: EvaluateOptions) -> PermutedDocument:
    make = {"permutations": permutations, "inner": inner_permutations, "swaps": swapped_orders}[task.negatives]
    return PermutedDocument(document, make(document, count=options.permutations, seed=options.seed))


def _measure(
    task: Task, model: DocumentScorer, path: Path, options: EvaluateOptions, progress: Progress
) -> tuple[list[PermutedDocument], _Outcome]:
    """The documents and what the model made of them; a minimal pair goes by its better text."""
    if task.kind != "minimal-pairs":
        documents = _load(task, path, options)
        return documents, _run(task, model, documents, options, progress)
    pairs = list(islice(read_pairs(path, options.read), options.limit))
    found = prefer(model, pairs, progress=progress)
    outcome = _Outcome(found.measures, len(pairs), found.ties, 0, found.scores)
    return [PermutedDocument(pair.better, ()) for pair in pairs], outcome


def _run(
    task: Task,
    model: DocumentScorer,
    documents: list[PermutedDocument],
    options: EvaluateOptions,
    progress: Progress,
) -> _Outcome:
    if task.kind == "discrimination":
        kind = swaps_name if task.negatives == "swaps" else None
        pairs = discriminate(model, documents, kind=kind, progress=progress)
        return _Outcome(pairs.measures, pairs.n_pairs, pairs.ties, pairs.n_excluded)
    originals = [item.document for item in documents]
    if task.kind == "insertion":
        placed = insert_sentences(model, originals, progress=progress)
        return _Outcome(placed.measures, placed.n_pairs, placed.ties, placed.n_excluded)
    restored = reconstruct(
        model, originals, beam=options.beam, objective=options.objective, seed=options.seed, progress=progress
    )
    return _Outcome(restored.measures, 0, 0, restored.n_excluded)
