"""What an evaluation leaves behind: one JSON file that says everything needed to trust or repeat it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from weft.errors import CorpusError, is_number
from weft.evaluation.metrics import Comparison, bootstrap_interval, paired_bootstrap, ratio
from weft.io.atomic_files import write_atomically
from weft.version import VERSION

Key = tuple[str, str, str]  # task, model, variant
SEEDED = re.compile(r"(?:(?P<variant>.+)-)?seed-\d+")  # variants that differ in the training seed alone


@dataclass(frozen=True)
class Measure:
    """One metric as per-document parts, from which the value, its interval and comparisons all follow.

    Attributes:
        numerators: One a document: pairs won, τ, …
        denominators: One a document: pairs, or 1; 0 leaves a document out (τ of one sentence).
    """

    numerators: tuple[float, ...]
    denominators: tuple[float, ...]


@dataclass(frozen=True)
class Result:
    """The outcome of one model on one task; written to ``results/<task>/<model>[.<variant>].json``."""

    task: str
    model: str
    variant: str
    metrics: Mapping[str, float | None]
    interval: Mapping[str, Sequence[float] | None]
    n_documents: int
    n_pairs: int
    ties: int
    n_excluded: int
    seed: int
    estimator: str
    data_name: str
    data_sha256: str
    negatives_sha256: str
    command: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    weft_version: str = VERSION
    documents: Sequence[str] = ()
    lengths: Sequence[int] = ()  # sentences of each document; results from before there was this field have none
    per_document: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)

    def path(self, folder: str | Path) -> Path:
        """Where the result belongs below a results folder: ``task/model[.variant].json``.

        A result on other data than the one that is already there stands beside it, under the data's name: a quick
        look at a corpus of one's own never replaces a published number.
        """
        name = f"{self.model}.{self.variant}" if self.variant else self.model
        path = Path(folder) / self.task / f"{name}.json"
        if _other_data(path, self):
            return path.with_name(f"{name}@{Path(self.data_name).name.split('.')[0]}-{self.data_sha256[:8]}.json")
        return path

    def save(self, folder: str | Path) -> Path:
        """Write the result, atomically, and say where."""
        path = self.path(folder)
        with write_atomically(path) as handle:
            handle.write((_pretty(asdict(self)) + "\n").encode("utf-8"))
        return path

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result file.

        Raises:
            CorpusError: It is not one.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            known = {f.name for f in fields(cls)}
            result = cls(**{key: value for key, value in content.items() if key in known})
            result._check()
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise CorpusError(
                f"cannot read a result from {path}: {error}",
                allowed="a file written by `weft evaluate`",
                next_step="run the evaluation again",
            ) from error
        return result

    def _check(self) -> None:
        """Refuse a file whose fields are not what the tables rely on."""
        mappings = (self.metrics, self.interval, self.settings, self.training, self.per_document)
        texts = (self.task, self.model, self.variant, self.estimator, self.data_name, self.data_sha256, self.command)
        numbers = (self.n_documents, self.n_pairs, self.ties, self.n_excluded, self.seed)
        if not all(isinstance(value, dict) for value in mappings):
            raise TypeError("a field that should be an object is not")
        if not all(isinstance(value, str) for value in texts) or not all(type(value) is int for value in numbers):
            raise TypeError("a field that should be a text or a whole number is not")
        if not all(value is None or isinstance(value, int | float) for value in self.metrics.values()):
            raise TypeError("a metric that is not a number")
        if not all(value is None or _is_interval(value) for value in self.interval.values()):
            raise TypeError("an interval that is not a pair of numbers")
        if not all(isinstance(name, str) for name in self.documents):
            raise TypeError("a document without a name")
        if not isinstance(self.training.get("sentences", 0), int | None):
            raise TypeError("training sentences that are not a number")
        if not all(type(length) is int and length >= 0 for length in self.lengths):
            raise TypeError("a length that is not a number of sentences")
        if self.lengths and len(self.lengths) != len(self.documents):
            raise TypeError("not as many lengths as documents")
        if not all(_are_parts(parts, len(self.documents)) for parts in self.per_document.values()):
            raise TypeError("parts of a metric that are not two numbers a document")


def _is_interval(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value))


def _are_parts(parts: object, documents: int) -> bool:
    """Whether these are numerators and denominators, one of each a document."""
    if not isinstance(parts, dict) or not {"numerators", "denominators"} <= parts.keys():
        return False
    columns = (parts["numerators"], parts["denominators"])
    return all(
        isinstance(column, list) and len(column) == documents and all(map(is_number, column)) for column in columns
    )


def _other_data(path: Path, result: Result) -> bool:
    """Whether a readable result on other data is already there."""
    if not path.is_file():
        return False
    try:
        return Result.load(path).data_sha256 != result.data_sha256
    except CorpusError:
        return False


def _pretty(content: Mapping[str, Any]) -> str:
    """Indented JSON in which a list of numbers or names stays on one line, so that a diff stays readable."""
    lines = []
    for key, value in content.items():
        if key == "per_document":
            inner = ",\n".join(
                f"    {json.dumps(name)}: {json.dumps(parts, ensure_ascii=False)}" for name, parts in value.items()
            )
            lines.append(f'  "per_document": {{\n{inner}\n  }}')
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}"


def summarize(measures: Mapping[str, Measure], *, seed: int) -> tuple[dict[str, float | None], dict[str, Any]]:
    """Values and intervals of all measures."""
    values = {name: ratio(m.numerators, m.denominators) for name, m in measures.items()}
    intervals = {name: bootstrap_interval(m.numerators, m.denominators, seed=seed) for name, m in measures.items()}
    return values, intervals


def compare_results(first: Result, second: Result, metric: str, *, seed: int = 1) -> Comparison:
    """Paired bootstrap between two results of the same task on the same data and negatives.

    Raises:
        CorpusError: The two were not measured on the same documents with the same negatives.
    """
    check_comparable(first, second)
    if metric not in first.per_document or metric not in second.per_document:
        raise CorpusError(
            "no such metric in both results",
            seen=metric,
            allowed=", ".join(sorted(set(first.per_document) & set(second.per_document))),
            next_step="choose one of these",
        )
    if not same_pairs(first, second, metric):
        raise CorpusError(
            "these results cannot be compared", seen=f"{metric} counted over other pairs of the same documents",
            allowed="two models that met the same pairs", next_step="choose another metric or model",
        )  # fmt: skip
    one, other = first.per_document[metric], second.per_document[metric]
    return paired_bootstrap(one["numerators"], other["numerators"], one["denominators"], seed=seed)


def same_pairs(first: Result, second: Result, metric: str) -> bool:
    """Whether two results counted a metric over the same pairs of every document."""
    one, other = (list(result.per_document[metric]["denominators"]) for result in (first, second))
    return one == other


def check_comparable(first: Result, second: Result) -> None:
    """Refuse two results that were not measured on the same task, documents and negatives.

    Raises:
        CorpusError: They were not.
    """
    same = ("task", "data_sha256", "negatives_sha256")
    differing = [name for name in same if getattr(first, name) != getattr(second, name)]
    if differing or list(first.documents) != list(second.documents):
        raise CorpusError(
            "these results cannot be compared",
            seen=f"different {', '.join(differing) or 'documents'}",
            allowed="two models on the same task, data and negatives",
            next_step="evaluate both with the same --data and --seed",
        )


def without_seed(variant: str) -> str:
    """The variant that a training with one of several seeds belongs to.

    Example:
        >>> without_seed("bi-seed-3"), without_seed("seed-1"), without_seed("bi")
        ('bi', '', 'bi')
    """
    found = SEEDED.fullmatch(variant)
    return variant if found is None else found["variant"] or ""
