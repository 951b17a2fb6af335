"""Checks of results: the types in their two files, and that something was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from weft.errors import CorpusError, is_number

if TYPE_CHECKING:
    from weft.evaluation.result import Result


def nothing_measured(lengths: Sequence[int]) -> CorpusError:
    """Return the error for data without a document that can be measured, given the lengths of its documents."""
    longest = max(lengths, default=0)
    return CorpusError(
        "no document was long enough to be measured",
        seen=f"{longest} {'sentence' if longest == 1 else 'sentences'} in the longest",
        allowed="texts of two different sentences or more; of three for the task order, of four for inner",
        next_step="give longer texts with --data",
    )


def check_first_file(result: Result) -> None:
    """Raise TypeError if a field of the first file has another type than tables expect."""
    mappings = (result.metrics, result.interval, result.settings, result.training)
    texts = (
        result.task, result.model, result.variant, result.estimator, result.data_name, result.data_sha256,
        result.command, result.model_name, result.model_sha256,
    )  # fmt: skip
    numbers = (result.n_documents, result.n_pairs, result.ties, result.n_excluded, result.seed)
    values, sentences = result.metrics.values(), result.training.get("sentences")
    _require(all(isinstance(value, dict) for value in mappings), "a field that should be an object is not")
    _require(all(isinstance(value, str) for value in texts), "a field that should be text is not")
    _require(all(type(value) is int for value in numbers), "a field that should be a whole number is not")
    _require(all(value is None or isinstance(value, int | float) for value in values), "a metric is not a number")
    _require(all(map(_is_interval, result.interval.values())), "an interval is not a pair of numbers")
    _require(isinstance(sentences, int | None), "the number of training sentences is not a number")


def check_second_file(documents: Sequence[object], lengths: Sequence[object], per_document: Any) -> None:
    """Raise TypeError if a field of the second file has another type than comparisons expect."""
    size, parts = len(documents), per_document.values()
    _require(all(isinstance(name, str) for name in documents), "a document has no name")
    _require(all(type(one) is int and one >= 0 for one in lengths), "a length is not a number of sentences")
    _require(len(lengths) in {0, size}, "lengths and documents differ in number")
    _require(all(_are_parts(one, size) for one in parts), "the parts of a metric are not two numbers per document")


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise TypeError(problem)


def _is_interval(value: object) -> bool:
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(is_number, value)))


def _are_parts(parts: object, documents: int) -> bool:
    """Return whether these are numerators and denominators, one of each per document."""
    if not isinstance(parts, dict) or not {"numerators", "denominators"} <= parts.keys():
        return False
    columns = (parts["numerators"], parts["denominators"])
    return all(isinstance(column, list) and len(column) == documents and _all_numbers(column) for column in columns)


def _all_numbers(column: list[object]) -> bool:
    """Return whether a list holds nothing but finite numbers; `sum` is many times faster than a check of each."""
    return set(map(type, column)) <= {int, float} and math.isfinite(sum(map(abs, column)))  # type: ignore[arg-type]
