"""The tasks, the standard data sets, and the names under which results of both are kept.

A new data set is one entry in `weft.evaluation.sets.data_sets`. A new task is one file with a `measure` function and
one entry in `TASKS`.
Other installed packages add tasks through the entry point group ``weft.tasks``; a name in `TASKS` wins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.corpora.data_folder import DATA_VARIABLE, data_root
from weft.errors import ConfigError, CorpusError, closest_name, did_you_mean
from weft.evaluation.result import Result
from weft.evaluation.sets.data_sets import DATA_SETS
from weft.evaluation.task_contract import DataFile, DataSet, EvaluateOptions, Task
from weft.io.package_files import PROBES
from weft.registry import TASK_GROUP, added_names, load_added

TASKS: Mapping[str, Task] = {
    "pairs": Task(
        "distinguish documents from their permutations (Tables 1 and 2)",
        "weft.evaluation.discrimination:measure_pairs",
        "wikipedia",
        ("permutations",),
    ),
    "inner": Task(
        "the same, with the first and the last sentence kept in place",
        "weft.evaluation.discrimination:measure_inner",
        "wikipedia",
        ("permutations",),
    ),
    "swaps": Task(
        "distinguish documents from copies with a few sentences exchanged: neighbours, or 1, 2, 4 or 8 swaps",
        "weft.evaluation.discrimination:measure_swaps",
        "wikipedia",
        ("permutations",),
    ),
    "order": Task(
        "restore the order of shuffled sentences (Table 3)",
        "weft.evaluation.reconstruction:measure_order",
        "wikipedia",
        ("beam",),
        searching=True,
        headline=("free_tau", "tau"),
    ),
    "insertion": Task(
        "put each sentence back in its place",
        "weft.evaluation.insertion:measure_insertion",
        "wikipedia",
    ),
    "intruder": Task(
        "find the sentence that does not belong: from another text, or from elsewhere in the same text",
        "weft.evaluation.sets.intruder:measure_intruders",
        "wikipedia",
        headline=("stranger", "elsewhere"),
    ),
    "endings": Task(
        "choose the right one of two endings of a story",
        "weft.evaluation.sets.endings:measure_endings",
        "storycloze-2018",
    ),
    "sp": Task(
        "find the position of a sentence among four others (DiscoEval)",
        "weft.evaluation.sets.discoeval:measure_positions",
        "discoeval-sp-wiki",
    ),
    "bso": Task(
        "find the order of two neighbouring sentences (DiscoEval)",
        "weft.evaluation.sets.discoeval:measure_two_orders",
        "discoeval-bso-wiki",
    ),
    "dc": Task(
        "distinguish texts from texts with a strange sentence (DiscoEval)",
        "weft.evaluation.sets.discoeval:measure_coherent_texts",
        "discoeval-dc-wiki",
    ),
    "ratings": Task(
        "agree with people's ratings of coherence, of whole texts and of sentences",
        "weft.evaluation.sets.ratings:measure_ratings",
        "cohesentia",
    ),
    "miniatures": Task(
        "the paper's seven pairs of miniature discourses (section 4.4)",
        "weft.evaluation.minimal_pairs:measure_minimal_pairs",
        "miniatures",
    ),
    "probes": Task(
        "322 minimal pairs: lexical, temporal, causal, centering, connective, pronoun",
        "weft.evaluation.minimal_pairs:measure_minimal_pairs",
        "probes",
    ),
    "adversarial": Task(
        "distinguish continuations written by a model from those written by people (Table 4)",
        "weft.evaluation.adversarial.measure:measure_adversarial",
        "wikipedia",
        searching=True,
        part="pages",
        sections=("decoding.", "evaluator."),
        combine="mmi",
        controls=("control-human", "control-random-sentence", "control-wrong-order", "control-repeat-last"),
    ),
}

# Names of experiments that are not DATA-TASK: older ones, from before tasks and data were separate, and public sets,
# which have one task each. The folders of their results have these names.
ALIASES: Mapping[str, tuple[str, str]] = {
    "accidents": ("pairs", "accidents"),
    "earthquakes": ("pairs", "earthquakes"),
    "wikipedia-pairs": ("pairs", "wikipedia"),
    "wikipedia-pairs-inner": ("inner", "wikipedia"),
    "wikipedia-swaps": ("swaps", "wikipedia"),
    "wikipedia-order": ("order", "wikipedia"),
    "wikipedia-insertion": ("insertion", "wikipedia"),
    "adversarial": ("adversarial", "wikipedia-pages"),
    "miniatures": ("miniatures", "miniatures"),
    "probes": ("probes", "probes"),
    "cohesentia": ("ratings", "cohesentia"),
    **{name: ("endings", name) for name in DATA_SETS if name.startswith("storycloze-")},
    **{name: (name.split("-")[1], name) for name in DATA_SETS if name.startswith("discoeval-")},
}
_RESULT_NAMES = {pair: name for name, pair in ALIASES.items()}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A task on data."""

    name: str  # the folder of its results, and their field ``task``
    task: Task
    data: DataSet | None  # the standard data set; with a file, the set that the file stands in for, if there is one
    file: str = ""  # the user's file; empty for the standard data

    @property
    def data_name(self) -> str:
        """The name of the data in a result."""
        return Path(self.file).name if self.file or self.data is None else self.data.file

    def open(self, options: EvaluateOptions) -> DataFile:
        """Return the data file; raise CorpusError if the standard data are not in the data folder."""
        domain = self.data.domain if self.data else ""
        shortened = bool(self.data and self.data.without_slug)
        search = self.data.search if self.data else "greedy"
        return DataFile(self._path(options), options.read, domain, options.limit, shortened, search)

    def _path(self, options: EvaluateOptions) -> Path:
        if self.file or self.data is None:
            return Path(self.file)
        if self.data.shipped:
            return PROBES / self.data.file
        path = data_root(options.data_root) / self.data.file
        if not path.is_file():
            raise CorpusError(
                "the standard data were not found",
                seen=str(path),
                allowed=f"a folder with {self.data.file}",
                next_step=f"set {DATA_VARIABLE} or --data-root to the data folder, or give --data FILE",
            )
        return path

    def departures(self, options: EvaluateOptions) -> str:
        """Return how a run differs from the standard run, as part of its variant's name.

        Example:
            >>> find_experiment("order").departures(EvaluateOptions(beam=3, limit=5, permutations=3))
            'limit-5-beam-3'
        """
        # "seeded", because "seed-2" names the second of several trainings of a model.
        names = {"limit": "limit", "seeded": "seed", **{name: name for name in self.numbers}}
        standard = EvaluateOptions()
        chosen = {name: (getattr(options, field), getattr(standard, field)) for name, field in names.items()}
        return joined(*(f"{name}-{value}" for name, (value, usual) in chosen.items() if value != usual))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The options that change its numbers; not ``permutations`` if the data have published ones."""
        published = not self.file and self.data is not None and self.data.domain
        return tuple(name for name in self.task.options if not (published and name == "permutations"))


def find_task(name: str) -> Task:
    """Return a task by its name, or by the name of an experiment.

    Example:
        >>> find_task("wikipedia-pairs").data
        'wikipedia'
    """
    return find_experiment(name).task


def find_experiment(task: str, data: str | None = None) -> Experiment:
    """Return a task on a standard data set or on a file.

    Args:
        task: A name in `TASKS`, or that of an experiment: `ALIASES`, and DATA-TASK for every other pair.
        data: A name in `DATA_SETS`, or a file; None for the default. An experiment on a file has the name of its task.

    Raises:
        ConfigError: There is no such task or data set, or the data would be read from a pipe.

    Example:
        >>> find_experiment("pairs", "wikipedia").name, find_experiment("inner", "accidents").name
        ('wikipedia-pairs', 'accidents-inner')
    """
    if not isinstance(task, str):
        raise _unknown_task(task)
    kind, standard = _split(task)
    chosen = _task(kind)
    if data is None:
        return _standard(kind, standard or chosen.data)
    if data in DATA_SETS and not os.path.isfile(data):
        return _standard(kind, data)
    if data == "-":
        raise ConfigError(
            "an evaluation cannot read from a pipe: its result records the hash of the data",
            seen="-",
            allowed=f"a file, or one of {', '.join(DATA_SETS)}",
            next_step="save the documents to a file first",
        )
    _check_file(data)
    return Experiment(kind, chosen, DATA_SETS[standard] if standard else None, data)


def _standard(kind: str, data: str) -> Experiment:
    task = _task(kind)
    part = f"{data}-{task.part}"
    chosen = part if task.part and part in DATA_SETS else data
    return Experiment(_RESULT_NAMES.get((kind, chosen), f"{chosen}-{kind}"), task, DATA_SETS[chosen])


def task_names() -> list[str]:
    """Return the names of all tasks: those of this package first, then those that other packages add."""
    return list(_all_tasks())


def _all_tasks() -> Iterator[str]:
    """Yield the names of all tasks; entry points, which are slow to read, only after those of this package."""
    yield from TASKS
    yield from (name for name in added_names(TASK_GROUP) if name not in TASKS)


def _task(name: str) -> Task:
    """Return the task of a known name; raise ConfigError if the package that adds it is broken."""
    if name in TASKS:
        return TASKS[name]
    added = load_added(TASK_GROUP, name)
    if not isinstance(added, Task):
        raise ConfigError(
            f"the entry point {name} in {TASK_GROUP} is not a task",
            seen=repr(added),
            allowed="a weft.evaluation.task_contract.Task",
            next_step="see CONTRIBUTING.md, or uninstall the package that adds it",
        )
    return added


def _split(name: str) -> tuple[str, str]:
    """Return the task and the data set of a name; no data set for the plain name of a task."""
    if name in ALIASES and name not in TASKS:
        return ALIASES[name]
    for task in _all_tasks():
        if name == task:
            return name, ""
        if name.endswith(f"-{task}") and name.removesuffix(f"-{task}") in DATA_SETS:
            return task, name.removesuffix(f"-{task}")
    raise _unknown_task(name)


def _unknown_task(name: object) -> ConfigError:
    close, tasks = closest_name(str(name), {*task_names(), *ALIASES}), ", ".join(task_names())
    return ConfigError(
        "unknown task",
        seen=name,
        allowed=f"did you mean {close}? ({tasks})" if close else tasks,
        next_step="see `weft evaluate --help`",
    )


def _check_file(data: str) -> None:
    if not os.path.exists(data) and "." not in data and "/" not in data:
        raise ConfigError(
            "unknown data set",
            seen=data,
            allowed=f"a file, or {did_you_mean(data, DATA_SETS)}",
            next_step="check the name, or give the path of a file",
        )


def joined(*names: str) -> str:
    """Return the names that are not empty, joined with hyphens.

    Example:
        >>> joined("mmi", "", "limit-5")
        'mmi-limit-5'
    """
    return "-".join(name for name in names if name)


def is_result_folder(name: str) -> bool:
    """Return whether a folder of this name holds results of `evaluate`."""
    try:
        _split(name)
    except ConfigError:
        return False
    return True


def is_standard(result: Result) -> bool:
    """Return whether a result is comparable with the paper's numbers: all of the standard data, standard options."""
    if not is_result_folder(result.task):
        return False
    experiment = find_experiment(result.task)
    standard = EvaluateOptions()
    usual = {name: getattr(standard, name) for name in experiment.numbers}
    return (
        experiment.name == result.task
        and experiment.data is not None
        and result.data_sha256 == experiment.data.sha256
        and "limit" not in result.settings
        and result.seed == standard.seed
        and all(result.settings.get(name, value) == value for name, value in usual.items())
    )
