"""Fields of the lines of public sets, with an error that names the line if one is missing or wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from weft.corpora.readers.jsonl import Record, read_records
from weft.corpora.text.sentences import tidy_sentence
from weft.corpora.text.text_limits import readable_sentence
from weft.errors import CorpusError
from weft.evaluation.task_contract import DataFile

Item = TypeVar("Item")
NEXT_STEP = "correct the line; docs/benchmarks.md shows the form of every set"


def read_items(data: DataFile, allowed: str, item_of: Callable[[Record], Item]) -> list[Item]:
    """Return the items of a file of JSON lines, up to the limit of the run.

    Args:
        data: The file.
        allowed: The form of a line, for messages.
        item_of: Makes an item of a line.

    Raises:
        CorpusError: A line has another form, or the file has no line.
    """
    found = list(islice(_items(data, allowed, item_of), data.limit))
    if not found:
        raise CorpusError(
            f"no line in {data.path}",
            seen="an empty file",
            allowed=allowed,
            next_step="check that it is the right file",
        )
    return found


def _items(data: DataFile, allowed: str, item_of: Callable[[Record], Item]) -> Iterator[Item]:
    return (item_of(record) for record in read_records(data.path, data.read, allowed=allowed))


def id_of(record: Record, key: str = "id") -> str:
    """Return the name of a line: its id, else its file and number."""
    value = record.fields.get(key)
    return record.default_id if value is None or value == "" else str(value)


def sentences_of(
    record: Record, key: str, *, least: int = 1, fields: dict[str, object] | None = None
) -> tuple[str, ...]:
    """Return sentences, as much as models read of each; raise CorpusError if there are fewer than ``least``."""
    value = (record.fields if fields is None else fields).get(key)
    if (
        not isinstance(value, list)
        or len(value) < least
        or not all(isinstance(one, str) and one.strip() for one in value)
    ):
        raise record.error(
            f'"{key}" is not a list of sentences',
            seen="nothing" if value is None else value,
            allowed=f"a list of {least} or more sentences",
            next_step=NEXT_STEP,
        )
    return tuple(readable_sentence(tidy_sentence(one)) for one in value)


def label_of(record: Record, values: range) -> int:
    """Return the label of a line; raise CorpusError if it is not in a range."""
    value = record.fields.get("label")
    if not isinstance(value, int) or isinstance(value, bool) or value not in values:
        raise record.error(
            '"label" is not a label',
            seen="nothing" if value is None else value,
            allowed=f"{values.start} to {values.stop - 1}",
            next_step=NEXT_STEP,
        )
    return value
