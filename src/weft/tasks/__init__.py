"""The experiments: one file each, documents in, one JSON result out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from weft.corpora.barzilay_lapata import read_barzilay_lapata
from weft.corpora.corruption import (
    PermutedDocument,
    fingerprint_orders,
    inner_permutations,
    permutations,
    swapped_orders,
    swaps_name,
)
from weft.corpora.files import sha256_of
from weft.corpora.locate import DATA_VARIABLE, data_root
from weft.corpora.readers import ReadOptions, detect_format, read_permuted
from weft.document import Document
from weft.errors import ConfigError, CorpusError, did_you_mean
from weft.models import DocumentScorer
from weft.ordering import Objective
from weft.progress import Progress, silent
from weft.scoring import estimator_of
from weft.tasks.discrimination import discriminate
from weft.tasks.insertion import insert_sentences
from weft.tasks.miniatures import SHIPPED, prefer, read_pairs
from weft.tasks.reconstruction import reconstruct
from weft.tasks.result import Measure, Result, summarize


@dataclass(frozen=True, slots=True)
class Task:
    """An experiment: what is done with which data.

    Attributes:
        kind: The file in this folder that does it.
        data: The standard data, below the data folder; of minimal pairs, inside the package.
        about: One line for a person.
        sha256: Of the standard data: the exact split that numbers in the tables are measured on.
        domain: The part of the original Barzilay & Lapata layout that belongs to the task.
        negatives: Of discrimination: all sentences permuted (the data may bring the permutations); the first and the
            last kept where they are; or a few sentences exchanged, which then has a measure for each number of swaps.
    """

    kind: Literal["discrimination", "reconstruction", "insertion", "minimal-pairs", "adversarial"]
    data: str
    about: str
    sha256: str
    domain: str = ""
    negatives: Literal["permutations", "inner", "swaps"] = "permutations"


WIKIPEDIA_SHA256 = "55c80366a0a0102d1e5e1a67b28309e42b0c9dc4a7fe9b7801777f379a7caae1"


TASKS: Mapping[str, Task] = {
    "accidents": Task(
        "discrimination",
        "barzilay_lapata/accidents.test.jsonl",
        "NTSB accident reports against their published permutations (Table 1)",
        "23cd70d0905ee36a7f2910ddc8d716ca77a70fbe21dda7eb4f6843be4e7a2f57",
        "ntsb",
    ),
    "earthquakes": Task(
        "discrimination",
        "barzilay_lapata/earthquakes.test.jsonl",
        "AP earthquake reports against their published permutations (Table 1)",
        "77e9c25e1c455860ad13fda6e29efb1286dfbe450e61df36bd021e6dfc52b1e1",
        "apws",
    ),
    "wikipedia-pairs": Task(
        "discrimination",
        "wikipedia/test.paragraphs.jsonl",
        "984 Wikipedia paragraphs against 20 seeded permutations each (Table 2)",
        WIKIPEDIA_SHA256,
    ),
    "wikipedia-pairs-inner": Task(
        "discrimination",
        "wikipedia/test.paragraphs.jsonl",
        "the same with the first and the last sentence left where they are",
        WIKIPEDIA_SHA256,
        negatives="inner",
    ),
    "wikipedia-swaps": Task(
        "discrimination",
        "wikipedia/test.paragraphs.jsonl",
        "984 Wikipedia paragraphs with a few sentences exchanged: neighbours, or 1, 2, 4 or 8 swaps",
        WIKIPEDIA_SHA256,
        negatives="swaps",
    ),
    "wikipedia-order": Task(
        "reconstruction",
        "wikipedia/test.paragraphs.jsonl",
        "restoring the order of 984 Wikipedia paragraphs (Table 3)",
        WIKIPEDIA_SHA256,
    ),
    "wikipedia-insertion": Task(
        "insertion",
        "wikipedia/test.paragraphs.jsonl",
        "putting each sentence of 984 Wikipedia paragraphs back in its place",
        WIKIPEDIA_SHA256,
    ),
    "adversarial": Task(
        "adversarial",
        "wikipedia/adversary.jsonl.xz",
        "continuations of 76,800 Wikipedia contexts against those of people (Table 4)",
        "e8a6e312e1d99891edf7f1372e30b542f9dd7d4fe16af84d20ada7dc406d7aeb",
    ),
    "miniatures": Task(
        "minimal-pairs",
        "miniatures.jsonl",
        "the paper's seven pairs of miniature discourses (section 4.4)",
        "796f231e0f5accb089003894a236b88c9addad1f6dad5475776c2c340dacd102",
    ),
    "probes": Task(
        "minimal-pairs",
        "probes.jsonl",
        "322 minimal pairs of our own: lexical, temporal, causal, centering, connective, pronoun",
        "48678a63597b7c415d0115ce7cc8747bccbc83dc02307a5f334ec166e17ca29f",
    ),
}


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """How a task is run.

    Attributes:
        data: A file of documents instead of the standard data.
        data_root: Where the standard data lie; else the environment variable WEFT_DATA, else ``data``.
        read: How to read the file.
        seed: Of permutations, searches and intervals.
        permutations: Negatives per document where the data bring none.
        beam: Width of the search in reconstruction.
        limit: Only the first so many documents; recorded in the result.
        objective: What reconstruction searches for; ``auto`` takes what the model has learned.
    """

    data: str | None = None
    data_root: str | None = None
    read: ReadOptions = ReadOptions()  # noqa: RUF009  frozen
    seed: int = 1
    permutations: int = 20
    beam: int = 10
    limit: int | None = None
    objective: Objective = "auto"


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


def find_task(name: str) -> Task:
    """A task by name.

    Raises:
        ConfigError: There is none of that name.

    Example:
        >>> find_task("accidents").kind
        'discrimination'
    """
    if name not in TASKS:
        raise ConfigError(
            "unknown task",
            seen=name,
            allowed=did_you_mean(name, TASKS),
            next_step="see `weft evaluate --help`",
        )
    return TASKS[name]


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
        >>> from weft.models import create_model
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
            seen="weft.tasks.evaluate",
            allowed="weft.tasks.adversarial.results.evaluate_writers, or the command line",
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


def departures(task: Task, options: EvaluateOptions) -> str:
    """What makes a run another one than the standard run, as part of its variant: its result gets a file of its own.

    Example:
        >>> departures(find_task("wikipedia-order"), EvaluateOptions(beam=3, limit=5)), departures(
        ...     find_task("wikipedia-order"), EvaluateOptions(permutations=3))
        ('limit-5-beam-3', '')
    """
    standard = EvaluateOptions()
    # Not "seed-2", which is the second of several trainings of a model.
    named = {"limit": (options.limit, standard.limit), "seeded": (options.seed, standard.seed)}
    if task.kind == "discrimination" and (options.data is not None or not task.domain):
        named["permutations"] = (options.permutations, standard.permutations)
    if task.kind == "reconstruction":
        named["beam"] = (options.beam, standard.beam)
    return joined(*(f"{name}-{chosen}" for name, (chosen, usual) in named.items() if chosen != usual))


def joined(*names: str) -> str:
    """The name of a variant, made of those of its parts that have one.

    Example:
        >>> joined("mmi", "", "limit-5")
        'mmi-limit-5'
    """
    return "-".join(name for name in names if name)


def is_standard(result: Result) -> bool:
    """Whether a result belongs beside the paper's numbers: all of the task's own data, the standard settings."""
    task = TASKS.get(result.task)
    return (
        task is not None
        and result.data_sha256 == task.sha256
        and "limit" not in result.settings
        and result.seed == EvaluateOptions().seed
        and _has_usual_settings(task, result)
    )


def _has_usual_settings(task: Task, result: Result) -> bool:
    """Of the settings that this kind of task has; in others a model may have one of that name."""
    standard = EvaluateOptions()
    if task.kind == "reconstruction":
        return bool(result.settings.get("beam", standard.beam) == standard.beam)
    if task.kind == "discrimination" and not task.domain:
        return bool(result.settings.get("permutations", standard.permutations) == standard.permutations)
    return True


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
