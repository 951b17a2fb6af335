"""What there is to evaluate, how it is run by default, and which runs stand beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from weft.corpora.readers.formats import ReadOptions
from weft.errors import ConfigError, did_you_mean
from weft.evaluation.result import Result
from weft.ordering.order import Objective


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
