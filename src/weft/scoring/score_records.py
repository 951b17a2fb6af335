"""Scores as plain data, with the other columns of the rows that the texts came from."""

from __future__ import annotations

import json
import math
from collections.abc import Container
from typing import Any

from weft.document import Document, Score


def score_record(document: Document, score: Score, *, text: bool = False) -> dict[str, Any]:
    """Return a score as one record of `weft score --format jsonl`.

    Args:
        document: The text that was scored.
        score: Its score.
        text: Whether the record includes the sentences.

    Example:
        >>> record = score_record(Document("d", ("Rain.",), columns={"author": "Ann"}), Score(None), text=True)
        >>> record["value"], record["text"], record["author"]
        (None, ['Rain.'], 'Ann')
    """
    record = score.to_dict() | ({"text": list(document.sentences)} if text else {})
    return {**record, **passed_columns(document, record)}


def passed_columns(document: Document, taken: Container[str]) -> dict[str, Any]:
    """Return the other columns of a document as plain data; a name that the output itself has gets a prefix.

    Example:
        >>> passed_columns(Document("d", ("Rain.",), columns={"author": "Ann", "value": 3}), {"id", "value"})
        {'author': 'Ann', 'input_value': 3}
    """
    columns = document.columns.items()
    return {f"input_{name}" if name in taken else str(name): _plain(value) for name, value in columns}


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: itself, None for NaN, or its text for a date and the like."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=str))
    except (ValueError, RecursionError):
        return "(cannot be written as JSON)"
