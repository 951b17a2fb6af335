"""The contract between `evaluate` and a task: the arguments and the outcome of a task.

A task is one function `measure(subject, data, options, progress) -> Outcome`. It reads the documents it needs from
`data` and returns measures with one numerator and one denominator per document. `evaluate` adds everything else:
values, intervals, hashes and names.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.negatives.slug_lines import drop_slug
from weft.corpora.readers.barzilay_lapata import read_barzilay_lapata
from weft.corpora.readers.formats import ReadOptions, detect_format, read_permuted
from weft.document import Document
from weft.evaluation.result import Measure
from weft.ordering.order import Objective
from weft.progress import Progress


@dataclass(frozen=True, slots=True)
class Subject:
    """A model under evaluation, with its name in results.

    Attributes:
        model: The model; for `adversarial` also a `Control`.
        name: The model's name in results.
        variant: Name of its settings; part of a result's file name.
        settings: Settings to record.
        training: Facts about its training to record.
        given: The name it was loaded by; of a folder, the last part of its path.
        sha256: Hash of its folder's manifest; empty for a model without a folder.
    """

    model: Any
    name: str
    variant: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    given: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """How a task is run. A task ignores the options that it does not have.

    Attributes:
        data_root: Folder of the standard data sets; else the environment variable WEFT_DATA, else ``data``.
        read: How a data file is read.
        seed: Seed of permutations, searches, intervals and evaluators.
        permutations: Number of negatives per document, for documents without published ones.
        beam: Beam width of `order`.
        limit: Number of documents to use, from the first; for `adversarial`, number of test contexts.
        objective: The objective of the search in `order`; ``auto`` also uses precedence if the model has it.
        settings: Settings of the task itself, by dotted name: ``decoding.beam`` and ``evaluator.seeds`` of
            `adversarial`.
        work: Folder in which `adversarial` keeps chunks, continuations and verdicts between runs.
        device: Device of `adversarial`: ``auto``, ``cpu`` or ``cuda``.
    """

    data_root: str | None = None
    read: ReadOptions = ReadOptions()  # noqa: RUF009  frozen
    seed: int = 1
    permutations: int = 20
    beam: int = 10
    limit: int | None = None
    objective: Objective = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)
    work: Path = Path("adversarial")
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class DataFile:
    """The data of one run: a file, and how to read it.

    Attributes:
        path: A file, or a folder in the original Barzilay & Lapata layout.
        read: How to read it.
        domain: The part of the Barzilay & Lapata layout to read; empty for all of it.
        limit: Number of documents to read, from the first; None for all.
        without_slug: Whether the slug lines of news reports are removed.
    """

    path: Path
    read: ReadOptions = ReadOptions()  # noqa: RUF009  frozen
    domain: str = ""
    limit: int | None = None
    without_slug: bool = False

    def permuted(self) -> list[PermutedDocument]:
        """Return the documents with the negatives that the file holds."""
        found = map(drop_slug, self._read()) if self.without_slug else self._read()
        return list(islice(found, self.limit))

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
    """The outcome of a task.

    Attributes:
        measures: The metrics, as parts per document.
        documents: Ids of the documents, in the order of the parts.
        lengths: Number of sentences of each document; may be empty.
        n_pairs: Number of comparisons.
        ties: Comparisons with equal scores; they count as wrong.
        n_excluded: Number of documents on which nothing could be measured.
        scores: Values per document that are recorded but are not metrics.
        negatives_sha256: Fingerprint of the negatives; two results are comparable if it is equal.
        settings: Settings of the run that change its numbers.
    """

    measures: Mapping[str, Measure]
    documents: Sequence[str]
    lengths: Sequence[int] = ()
    n_pairs: int = 0
    ties: int = 0
    n_excluded: int = 0
    scores: Mapping[str, Measure] = field(default_factory=dict)
    negatives_sha256: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


Measuring = Callable[[Subject, DataFile, EvaluateOptions, Progress], Outcome]


@dataclass(frozen=True, slots=True)
class Task:
    """A task: a function that measures a model on documents.

    Attributes:
        about: One line that describes it.
        measure: The function, or ``module:function``, which is imported when the task is run.
        data: Name of the default data set.
        options: The fields of `EvaluateOptions` that change its numbers, besides ``seed`` and ``limit``.
        searching: Whether models that have a separate estimate for searches use it.
        part: Suffix of the data set to read instead, if it exists: `adversarial` on ``wikipedia`` reads
            ``wikipedia-pages``.
        sections: Prefixes of the settings that belong to the task and not to the model.
        combine: Default combination of the parts of a model: uni, bi or mmi; empty for the model's default.
        controls: Names that the task accepts in place of a model.
    """

    about: str
    measure: Measuring | str
    data: str
    options: tuple[str, ...] = ()
    searching: bool = False
    part: str = ""
    sections: tuple[str, ...] = ()
    combine: str = ""
    controls: tuple[str, ...] = ()

    def run(self, subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
        """Measure a model on data."""
        if not isinstance(self.measure, str):
            return self.measure(subject, data, options, progress)
        module, _, name = self.measure.partition(":")
        found: Measuring = getattr(importlib.import_module(module), name)
        return found(subject, data, options, progress)

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
