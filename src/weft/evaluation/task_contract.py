"""The contract between `evaluate` and a task: the arguments and the outcome of a task.

A task is one function `measure(subject, data, options, progress) -> Outcome`. It reads the documents it needs from
`data` and returns measures with one numerator and one denominator per document. `evaluate` adds everything else:
values, intervals, hashes and names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from weft.corpora.negatives.permuted_document import PermutedDocument, readable_negatives
from weft.corpora.negatives.slug_lines import drop_slug
from weft.corpora.readers.barzilay_lapata import read_barzilay_lapata
from weft.corpora.readers.formats import ReadOptions, detect_format, read_permuted
from weft.document import Document
from weft.errors import ConfigError
from weft.evaluation.result import Measure
from weft.ordering.order import Objective, Search
from weft.progress import Progress


@dataclass(frozen=True, slots=True)
class Subject:
    """A model under evaluation, with its name in results."""

    model: Any  # the model; for `adversarial` also a `Control`
    name: str  # the model's name in results
    variant: str = ""  # name of its settings; part of a result's file name
    settings: Mapping[str, Any] = field(default_factory=dict)  # settings to record
    training: Mapping[str, Any] = field(default_factory=dict)  # facts about its training to record
    given: str = ""  # the name it was loaded by; of a folder, the last part of its path
    sha256: str = ""  # hash of its folder's manifest; empty for a model without a folder


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """How a task is run. A task ignores the options that it does not have."""

    # Folder of the standard data sets; else the environment variable WEFT_DATA, else ``data``.
    data_root: str | None = None
    read: ReadOptions = ReadOptions()  # noqa: RUF009  frozen
    seed: int = 1  # seed of permutations, searches, intervals and evaluators
    permutations: int = 20  # number of negatives per document, for documents without published ones
    beam: int = 10  # beam width of `order`
    limit: int | None = None  # number of documents to use, from the first; for `adversarial`, number of test contexts
    # The objective of the search in `order`; ``auto`` also uses precedence if the model has it.
    objective: Objective = "auto"
    # Settings of the task itself, by dotted name: ``decoding.beam`` and ``evaluator.seeds`` of `adversarial`.
    settings: Mapping[str, Any] = field(default_factory=dict)
    # Folder in which `adversarial` keeps chunks, continuations and verdicts between runs.
    work: Path = Path("adversarial")
    device: str = "auto"  # device of `adversarial`: ``auto``, ``cpu`` or ``cuda``


def checked_options(options: object) -> EvaluateOptions:
    """Return the options of an evaluation, the defaults for None; raise ConfigError for anything else."""
    if options is None or isinstance(options, EvaluateOptions):
        return options or EvaluateOptions()
    raise ConfigError(
        "not options of an evaluation",
        seen=options,
        allowed="a weft.EvaluateOptions",
        next_step="pass options=weft.EvaluateOptions(permutations=5), or omit it",
    )


def data_name(data: object) -> str:
    """Return the name or path of data as text; raise ConfigError for anything else."""
    if not isinstance(data, str | Path):
        raise ConfigError(
            "the data of an evaluation are a name or a file",
            seen=type(data).__name__,
            allowed="the name of a standard set, or a path",
            next_step="write the documents to a JSONL file and pass its path",
        )
    return str(data)


@dataclass(frozen=True, slots=True)
class DataFile:
    """The data of one run: a file, and how to read it."""

    path: Path  # a file, or a folder in the original Barzilay & Lapata layout
    read: ReadOptions = ReadOptions()  # noqa: RUF009  frozen
    domain: str = ""  # the part of the Barzilay & Lapata layout to read; empty for all of it
    limit: int | None = None  # number of documents to read, from the first; None for all
    without_slug: bool = False  # whether the slug lines of news reports are removed
    search: Search = "greedy"  # the search of `order` with nothing given

    def permuted(self) -> list[PermutedDocument]:
        """Return the documents with the negatives that the file holds, as much as models read of their sentences."""
        found = map(drop_slug, self._read()) if self.without_slug else self._read()
        return list(map(readable_negatives, islice(found, self.limit)))

    def documents(self) -> list[Document]:
        """Return the documents without negatives."""
        return [item.document for item in self.permuted()]

    def _read(self) -> Iterator[PermutedDocument]:
        name = detect_format(self.path) if self.read.format == "auto" else self.read.format
        if name == "barzilay-lapata" and self.domain:
            return read_barzilay_lapata(self.path, self.read, domain=self.domain, split="test")
        return read_permuted(self.path, self.read)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task."""

    measures: Mapping[str, Measure]  # the metrics, as parts per document
    documents: Sequence[str]  # ids of the documents, in the order of the parts
    lengths: Sequence[int] = ()  # number of sentences of each document; may be empty
    n_pairs: int = 0  # number of comparisons
    ties: int = 0  # comparisons with equal scores; they count as wrong
    n_excluded: int = 0  # number of documents on which nothing could be measured
    # Values per document that are recorded but are not metrics.
    scores: Mapping[str, Measure] = field(default_factory=dict)
    negatives_sha256: str = ""  # fingerprint of the negatives; two results are comparable if it is equal
    settings: Mapping[str, Any] = field(default_factory=dict)  # settings of the run that change its numbers
    # Intervals that the task computes itself: of correlations, whose resampled values are not ratios of sums.
    intervals: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)


Measuring = Callable[[Subject, DataFile, EvaluateOptions, Progress], Outcome]


@dataclass(frozen=True, slots=True)
class Task:
    """A task: a function that measures a model on documents."""

    about: str  # one line that describes it
    measure: Measuring | str  # the function, or ``module:function``, which is imported when the task is run
    data: str  # name of the default data set
    # The fields of `EvaluateOptions` that change its numbers, besides ``seed`` and ``limit``.
    options: tuple[str, ...] = ()
    searching: bool = False  # whether models that have a separate estimate for searches use it
    # Suffix of the data set to read instead, if it exists: `adversarial` on ``wikipedia`` reads ``wikipedia-pages``.
    part: str = ""
    sections: tuple[str, ...] = ()  # prefixes of the settings that belong to the task and not to the model
    combine: str = ""  # default combination of the parts of a model: uni, bi or mmi; empty for the model's default
    controls: tuple[str, ...] = ()  # names that the task accepts in place of a model
    headline: tuple[str, ...] = ("accuracy",)  # metrics that are also measured for each genre, if the data have genres

    def run(self, subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
        """Measure a model on data."""
        measure: Measuring = resolve_name(self.measure) if isinstance(self.measure, str) else self.measure
        return measure(subject, data, options, progress)

    def split_settings(self, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings of the model and those of the task.

        Example:
            >>> task = Task("", "", "", sections=("decoding.",))
            >>> task.split_settings({"decoding.beam": 5, "samples": 2})
            ({'samples': 2}, {'decoding.beam': 5})
        """
        own = {name: value for name, value in settings.items() if name.startswith(self.sections or ("\0",))}
        return {name: value for name, value in settings.items() if name not in own}, own


@dataclass(frozen=True, slots=True)
class DataSet:
    """A standard data set."""

    about: str  # one line that describes it
    file: str  # path in the data folder; for a set inside the package, its file name there
    sha256: str  # hash of the file that published numbers are measured on
    domain: str = ""  # its part of the original Barzilay & Lapata layout; a set with a domain has published negatives
    shipped: bool = False  # whether it is inside the package
    without_slug: bool = False  # whether slug lines are removed (`weft.corpora.negatives.slug_lines`)
    search: Search = "greedy"  # the search of `order` with nothing given
