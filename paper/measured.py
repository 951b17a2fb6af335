"""Numbers of the results folder by name, as the templates use them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from weft.errors import CorpusError
from weft.evaluation.metrics import Comparison
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result, compare_results
from weft.report.model_facts import ModelFacts, load_facts
from weft.report.paper_numbers import TABLES
from weft.report.table_formats import cell_text, decimal
from weft.report.tables import cell_of, load_results

SIGNIFICANT = 0.05


class PageError(Exception):
    """A template names a result that does not exist, or states something that the results contradict."""


def signed(value: float) -> str:
    """Return a difference with its sign and three decimals.

    Example:
        >>> signed(0.0134), signed(-0.5), signed(0.0)
        ('+.013', '−.500', '.000')
    """
    shown = decimal(abs(value))
    return shown if not float(shown) else f"{'−' if value < 0 else '+'}{shown}"


class Value(float):
    """A measured number that prints with three decimals.

    Example:
        >>> str(Value(0.9465)), Value(0.9465).percent
        ('.947', '95%')
    """

    def __str__(self) -> str:
        return decimal(self)

    @property
    def percent(self) -> str:
        """The number as a whole percentage."""
        return f"{float(self):.0%}"

    @property
    def points(self) -> str:
        """The number in percentage points, with one decimal."""
        return f"{100 * self:.1f}"

    @property
    def short(self) -> str:
        """The number with two decimals."""
        return f"{float(self):.2f}".removeprefix("0")

    @property
    def whole(self) -> str:
        """The number without decimals."""
        return f"{float(self):,.0f}"


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two results; it prints in bold where p is below .05, with its interval."""

    comparison: Comparison

    @property
    def value(self) -> Value:
        """The first result minus the second."""
        return Value(self.comparison.difference)

    @property
    def low(self) -> Value:
        """The lower end of the 95% interval."""
        return Value(self._bounds[0])

    @property
    def high(self) -> Value:
        """The upper end of the 95% interval."""
        return Value(self._bounds[1])

    @property
    def _bounds(self) -> tuple[float, float]:
        assert self.comparison.interval is not None  # no page compares results of one document
        return self.comparison.interval

    @property
    def significant(self) -> bool:
        """Whether p is below .05."""
        return self.comparison.p_value < SIGNIFICANT

    def __str__(self) -> str:
        shown = signed(self.value)
        return f"{f'**{shown}**' if self.significant else shown} [{signed(self.low)}, {signed(self.high)}]"


class Measured:
    """The results folder.

    Args:
        folder: Its path.
        results: The results in it, where they have been loaded before.

    Attributes:
        folder: Its path.
        results: Every result on standard data with standard settings, by task, model and variant.
        facts: Size, data and training time of the models behind them.
    """

    def __init__(self, folder: str | Path, results: Mapping[Key, Result] | None = None) -> None:
        self.folder = Path(folder)
        self.results = load_results(folder) if results is None else results
        self.facts: Sequence[ModelFacts] = load_facts(folder)
        self._differences: dict[tuple[str, str, str, str], Difference] = {}

    @cached_property
    def averaged(self) -> Mapping[Key, Result]:
        """The results, with the mean over seeds where a model was trained several times."""
        return average_seeds(self.results)

    def result(self, task: str, name: str) -> Result:
        """Return the result of a task by the name of its file, MODEL or MODEL.VARIANT.

        Raises:
            PageError: There is no such result.
        """
        model, _, variant = name.partition(".")
        found = self.averaged.get((task, model, variant))
        if found is None:
            raise PageError(f"no result {task}/{name}.json on standard data in {self.folder}")
        return found

    def value(self, task: str, name: str, metric: str = "accuracy") -> Value:
        """Return a metric of a result.

        Raises:
            PageError: The result does not have it.
        """
        found = self.result(task, name).metrics.get(metric)
        if found is None:
            raise PageError(f"result {task}/{name}.json has no value of {metric}")
        return Value(found)

    def shown(self, task: str, name: str, metric: str = "accuracy") -> str:
        """Return a metric of a result as text, or a dash if it was not measured."""
        model, _, variant = name.partition(".")
        return decimal(cell_of(self.averaged.get((task, model, variant)), metric).value)

    def interval(self, task: str, name: str, metric: str = "accuracy") -> str:
        """Return a metric with its 95% interval, as the tables print it."""
        self.value(task, name, metric)
        return cell_text(cell_of(self.result(task, name), metric))

    def bounds(self, task: str, name: str, metric: str = "accuracy") -> tuple[Value, Value]:
        """Return the two ends of the 95% interval of a metric."""
        found = self.result(task, name).interval.get(metric)
        if not found:
            raise PageError(f"result {task}/{name}.json has no interval of {metric}")
        return Value(found[0]), Value(found[1])

    def compare(self, task: str, first: str, second: str, metric: str = "accuracy") -> Difference:
        """Return the first result minus the second, by paired bootstrap over documents.

        Raises:
            PageError: One of them does not exist, or the two are not comparable.
        """
        key = (task, first, second, metric)
        if key not in self._differences:  # templates print most differences and also check them
            try:
                found = compare_results(self.result(task, first), self.result(task, second), metric)
            except CorpusError as error:
                raise PageError(f"cannot compare {first} and {second} on {task}: {error}") from error
            self._differences[key] = Difference(found)
        return self._differences[key]

    def names(self, task: str) -> list[str]:
        """Return the names of all results of a task, MODEL or MODEL.VARIANT, in order."""
        found = sorted(key for key in self.averaged if key[0] == task)
        return [f"{model}.{variant}" if variant else model for _, model, variant in found]

    def documents(self, task: str, name: str) -> str:
        """Return the number of documents that a result is measured on."""
        return f"{self.result(task, name).n_documents:,}"

    def pairs(self, task: str, name: str) -> str:
        """Return the number of pairs that a result is measured on."""
        return f"{self.result(task, name).n_pairs:,}"

    def ties(self, task: str, name: str) -> int:
        """Return the number of pairs that a result ties on."""
        return self.result(task, name).ties

    def cases(self, task: str, name: str, metric: str) -> int:
        """Return the number of cases that a metric of a result is measured on."""
        return round(sum(self.result(task, name).per_document[metric]["denominators"]))

    def right(self, task: str, name: str) -> int:
        """Return the number of documents or pairs on which a result is right."""
        return round(sum(self.result(task, name).per_document["accuracy"]["numerators"]))

    def sentences(self, task: str, name: str) -> str:
        """Return the number of sentences that the model of a result was trained on."""
        from weft.report.model_facts import facts_of

        result = self.result(task, name)
        known = facts_of(result, self.facts)
        found = result.training.get("sentences") or (known.sentences if known else None)
        if not found:
            raise PageError(f"the number of training sentences of {task}/{name}.json is not recorded")
        return f"{found:,}"

    def setting(self, task: str, name: str, key: str) -> Any:
        """Return a setting that a result records; keys of nested settings are joined by dots."""
        return _entry(self.result(task, name).settings, key, f"settings of {task}/{name}.json")

    def record(self, path: str, key: str) -> Any:
        """Return an entry of any JSON file in the results folder; a number prints with three decimals.

        Args:
            path: The file below the results folder; of a training log (`.jsonl`) the last line is read.
            key: Keys joined by dots.
        """
        file = self.folder / path
        if not file.is_file():
            raise PageError(f"no file {path} in {self.folder}")
        text = file.read_text(encoding="utf-8")
        found = _entry(json.loads(text.splitlines()[-1] if file.suffix == ".jsonl" else text), key, path)
        return Value(found) if isinstance(found, float) else found


def _entry(content: Any, key: str, place: str) -> Any:
    """Return a nested entry of a JSON document."""
    for part in key.split("."):
        try:
            content = content[int(part) if isinstance(content, list | tuple) else part]
        except (LookupError, TypeError, ValueError) as error:
            raise PageError(f"no entry {key} in {place}") from error
    return content


def paper_value(table: int, row: str, column: int = 1) -> Value:
    """Return a number of the paper's own tables.

    Example:
        >>> str(paper_value(2, "VLV-GM (MMI)"))
        '.873'

    Raises:
        PageError: The table has no such row or column.
    """
    found = [one.values for one in TABLES[table - 1].rows if one.label == row]
    if not found or not 1 <= column <= len(found[0]):
        raise PageError(f"Table {table} of the paper has no row {row!r} with a column {column}")
    return Value(found[0][column - 1])


def require(condition: object, statement: str) -> str:
    """Return nothing if a statement of a template holds.

    A template calls it beside each conclusion that depends on measured numbers. When the results change so that the
    conclusion is wrong, the pages are not built and a person has to rewrite the sentence.

    Raises:
        PageError: It does not hold.
    """
    if not condition:
        raise PageError(f"the results contradict the template: {statement}")
    return ""
