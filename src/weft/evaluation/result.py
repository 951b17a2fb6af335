"""The result of an evaluation, kept in two files.

``MODEL.json`` holds the metrics and what they were measured on. ``MODEL.documents.json.gz``, beside it, holds the
parts per document, from which intervals and comparisons are computed; it is read when they are first used. A result
without the second file can be shown in tables, but not compared with another.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.data_frames import Tabular
from weft.errors import CorpusError
from weft.evaluation.metrics import Comparison, bootstrap_interval, paired_bootstrap, ratio
from weft.evaluation.result_checks import check_first_file, check_second_file
from weft.io.atomic_files import write_atomically
from weft.markup.notebook import shown, table_html
from weft.version import VERSION

Key = tuple[str, str, str]  # task, model, variant
SEEDED = re.compile(r"(?:(?P<variant>.+)-)?seed-\d+")  # variants that differ only in the training seed
PER_DOCUMENT = ("documents", "lengths", "per_document")  # the fields of the second file
DOCUMENTS_SHA256 = "documents_sha256"  # in the first file: the hash of the contents of the second
UNREADABLE = (OSError, EOFError, zlib.error, ValueError, TypeError, AttributeError, RecursionError, OverflowError)


@dataclass(frozen=True)
class Measure:
    """One metric as parts per document, from which its value, its interval and comparisons are computed."""

    numerators: tuple[float, ...]  # one per document: pairs won, τ, …
    denominators: tuple[float, ...]  # one per document: pairs, or 1; 0 excludes a document (τ of one sentence)

    @staticmethod
    def of_values(values: Sequence[float | None]) -> Measure:
        """Return a measure of one value per document; None excludes a document."""
        return Measure(tuple(value or 0.0 for value in values), tuple(float(value is not None) for value in values))


@dataclass(frozen=True, repr=False)
class Result(Tabular):
    """The outcome of one model on one task; written to ``results/TASK/MODEL[.VARIANT].json``."""

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
    model_name: str = ""  # the name or the folder it was loaded by; empty in early results
    model_sha256: str = ""  # the hash of its folder's manifest; empty without a folder and in early results
    # The fields of the second file have default factories: a plain default would be a class attribute, and
    # `__getattr__` would never be called.
    documents: Sequence[str] = field(default_factory=tuple)
    lengths: Sequence[int] = field(default_factory=tuple)  # sentences of each document; empty in early results
    per_document: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Read the second file when one of its fields is first used; raise CorpusError if it is damaged."""
            if name not in PER_DOCUMENT or "_unread" not in vars(self):
                raise AttributeError(f"a Result has no attribute {name!r}")
            vars(self).update(_read_second_file(*vars(self)["_unread"]))
            return vars(self)[name]

    @property
    def file_name(self) -> str:
        """The name of its files, without their endings: ``MODEL[.VARIANT]``."""
        return f"{self.model}.{self.variant}" if self.variant else self.model

    def bounds(self, metric: str) -> tuple[float, float] | None:
        """Return the interval of a metric, or None if it has none."""
        interval = self.interval.get(metric)
        return (interval[0], interval[1]) if interval else None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, ready for JSON, without the values per document."""
        return {one.name: vars(self)[one.name] for one in fields(self) if one.name not in PER_DOCUMENT}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per metric: its value and its interval."""
        names = {"task": self.task, "model": self.model, "variant": self.variant}
        rows = []
        for metric, value in self.metrics.items():
            low, high = self.bounds(metric) or (None, None)
            measured = {"metric": metric, "value": value, "low": low, "high": high, "n_documents": self.n_documents}
            rows.append({**names, **measured})
        return rows

    def __repr__(self) -> str:
        return f"Result({self.task}: {self.file_name}, {', '.join(map(self._described, [*self.metrics][:3]))})"

    def _described(self, metric: str) -> str:
        found = self.bounds(metric)
        return f"{metric} {shown(self.metrics[metric])}" + (f" [{found[0]:.4f}, {found[1]:.4f}]" if found else "")

    def _repr_html_(self) -> str:
        """Return a table of the metrics as HTML, for a notebook."""
        return table_html(f"{self.task}: {self.file_name}", self.rows())

    def path(self, folder: str | Path) -> Path:
        """Return the path of the first file in a results folder: ``TASK/MODEL[.VARIANT].json``.

        If that file is a result on other data or of another model, the name of the new one includes its data or its
        model, so that an evaluation never replaces the result of a different one.
        """
        path = Path(folder) / self.task / f"{self.file_name}.json"
        old = _readable(path)
        if old is None or _same_evaluation(old, self):
            return path
        if old.data_sha256 != self.data_sha256:
            path = self._beside(path, Path(self.data_name).name.split(".")[0], self.data_sha256)
            old = _readable(path)
            if old is None or _same_evaluation(old, self):
                return path
        return self._beside(path, self.model_name or self.model, _fingerprint(self))

    def _beside(self, path: Path, name: str, sha256: str) -> Path:
        return path.with_name(f"{self.file_name}@{name[:64]}-{sha256[:8]}.json")

    def save(self, folder: str | Path) -> Path:
        """Write the result to a results folder, and return the path of its first file."""
        path = self.path(folder)
        self.write(path)
        return path

    def write(self, path: Path) -> None:
        """Write both files; the second one first, so that an interrupted write never leaves a wrong result."""
        content = asdict(self)
        parts = json.dumps({name: content.pop(name) for name in PER_DOCUMENT}, ensure_ascii=False).encode("utf-8")
        content[DOCUMENTS_SHA256] = hashlib.sha256(parts).hexdigest()
        with write_atomically(documents_path(path)) as handle:
            handle.write(gzip.compress(parts, mtime=0))  # the same content gives the same bytes
        lines = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in content.items())
        with write_atomically(path) as handle:
            handle.write(("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result; its second file is read when one of its fields is first used.

        One file with all fields, as early versions wrote it, is read too.

        Raises:
            CorpusError: The file is damaged.
        """
        with _explain_errors(path):
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            known = {f.name for f in fields(cls)}
            result = cls(**{key: value for key, value in content.items() if key in known})
            check_first_file(result)
            check_second_file(result.documents, result.lengths, result.per_document)
            if sha256 := content.get(DOCUMENTS_SHA256):
                for name in PER_DOCUMENT:
                    del vars(result)[name]
                vars(result)["_unread"] = Path(path), sha256
        return result

    def parts(self, metric: str) -> Measure:
        """Return the parts of a metric; raise CorpusError if there are none."""
        check_parts(self)
        if metric not in self.per_document:
            raise CorpusError(
                "no such metric in the result",
                seen=metric,
                allowed=", ".join(self.per_document),
                next_step="choose one of these",
            )
        found = self.per_document[metric]
        return Measure(tuple(found["numerators"]), tuple(found["denominators"]))


def documents_path(path: Path) -> Path:
    """Return the path of a result's second file.

    Example:
        >>> documents_path(Path("results/probes/random.json")).name
        'random.documents.json.gz'
    """
    return path.with_name(f"{path.name.removesuffix('.json')}.documents.json.gz")


def check_parts(result: Result) -> None:
    """Raise CorpusError if a result has no parts per document."""
    if result.n_documents and not result.documents:
        raise CorpusError(
            "this result has no values per document: its second file is missing",
            seen=f"{result.task}/{result.file_name}.json",
            allowed=f"{result.file_name}.documents.json.gz beside it",
            next_step="get that file too, or run the evaluation again",
        )


def _read_second_file(path: Path, sha256: str) -> dict[str, Any]:
    """Return the fields of the second file; they are empty if there is no such file."""
    second = documents_path(path)
    found: dict[str, Any] = {"documents": (), "lengths": (), "per_document": {}}
    with _explain_errors(path):
        if second.is_file():
            content = gzip.decompress(second.read_bytes())
            if hashlib.sha256(content).hexdigest() != sha256:
                raise ValueError(f"{second.name} belongs to another result")
            found |= json.loads(content)
        check_second_file(**found)
    return found


@contextmanager
def _explain_errors(path: str | Path) -> Iterator[None]:
    """Turn the errors of reading a damaged file into a CorpusError."""
    try:
        yield
    except UNREADABLE as error:
        raise CorpusError(
            f"cannot read a result from {path}",
            seen=str(error) or type(error).__name__,
            allowed="a file written by `weft evaluate`",
            next_step="run the evaluation again",
        ) from error


def _readable(path: Path) -> Result | None:
    """Return the result in a file, or None if there is none or it is damaged."""
    if not path.is_file():
        return None
    try:
        return Result.load(path)
    except CorpusError:
        return None


def _same_evaluation(old: Result, new: Result) -> bool:
    """Return whether two results of one name are of the same model with the same settings on the same data."""
    return old.data_sha256 == new.data_sha256 and old.settings == _as_json(new.settings) and _same_model(old, new)


def _same_model(old: Result, new: Result) -> bool:
    """Return whether two results are of the same weights.

    Early results have no hash of the weights. A second training with the same settings leaves the same record, so one
    of them is the same only if the numbers are the same, too.
    """
    if old.model_sha256 and new.model_sha256:
        return old.model_sha256 == new.model_sha256
    one, other = old.training, _as_json(new.training)
    if not one and not other:
        return True
    # Early records have fewer facts.
    same = bool(one) == bool(other) and all(one[name] == other[name] for name in one.keys() & other.keys())
    return same and old.metrics == _as_json(new.metrics)


def _fingerprint(result: Result) -> str:
    """Return a hash of the model, its settings and the data."""
    model = result.model_sha256 or result.training
    content = json.dumps([model, result.settings, result.data_sha256], sort_keys=True)
    return hashlib.sha256(content.encode("utf-8")).hexdigest()


def _as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping as it is read from a file: with lists in place of tuples."""
    found: dict[str, Any] = json.loads(json.dumps(value))
    return found


def summarize(measures: Mapping[str, Measure], *, seed: int) -> tuple[dict[str, float | None], dict[str, Any]]:
    """Return the values and the intervals of all measures."""
    values = {name: ratio(m.numerators, m.denominators) for name, m in measures.items()}
    intervals = {name: bootstrap_interval(m.numerators, m.denominators, seed=seed) for name, m in measures.items()}
    return values, intervals


def compare_results(first: Result, second: Result, metric: str, *, seed: int = 1) -> Comparison:
    """Compare two results of the same task on the same data and negatives by paired bootstrap.

    Raises:
        CorpusError: The two were not measured on the same documents with the same negatives.
    """
    check_comparable(first, second)
    one, other = first.parts(metric), second.parts(metric)
    if one.denominators != other.denominators:
        raise CorpusError(
            "these results cannot be compared", seen=f"{metric} counted over other pairs of the same documents",
            allowed="two models with the same pairs", next_step="choose another metric or model",
        )  # fmt: skip
    return paired_bootstrap(one.numerators, other.numerators, one.denominators, seed=seed)


def check_comparable(first: Result, second: Result) -> None:
    """Raise CorpusError if two results differ in task, documents or negatives, or one has no values per document."""
    check_parts(first)
    check_parts(second)
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
    """Return a variant's name without the training seed.

    Example:
        >>> without_seed("bi-seed-3"), without_seed("seed-1"), without_seed("bi")
        ('bi', '', 'bi')
    """
    found = SEEDED.fullmatch(variant)
    return variant if found is None else found["variant"] or ""
