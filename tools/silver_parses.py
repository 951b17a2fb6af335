"""Sentences with machine-made parses, for training and measuring the embedded parser.

A line of the file is one sentence as a JSON object with ``words``, ``spaces`` (1 where a space follows), ``tags``,
``heads`` (a root has its own index) and ``deps``. The part of a sentence depends on its text alone, so that the same
sentence is never in two parts: 5% are held out, 1% select the checkpoint, the others train.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from weft.corpora.readers.jsonl import Record, read_records
from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.io.compressed_streams import Source

HELD_OUT, DEVELOPMENT, TRAINING = "held-out", "development", "training"
PARTS = (HELD_OUT, DEVELOPMENT, TRAINING)
_HELD_OUT_PERCENT, _DEVELOPMENT_PERCENT = 5, 1
_COLUMNS = ("words", "tags", "deps", "heads", "spaces")


@dataclass(frozen=True, slots=True)
class SilverSentence:
    """A sentence and its parse.

    Attributes:
        text: The sentence.
        spaces: Whether a space follows each word.
        parse: Its parse.
    """

    text: str
    spaces: tuple[bool, ...]
    parse: ParsedSentence

    @property
    def part(self) -> str:
        """Return ``held-out``, ``development`` or ``training``."""
        return part_of(self.text)


def part_of(text: str) -> str:
    """Return the part of the data that a sentence belongs to, by a BLAKE2 hash of its text.

    Example:
        >>> from collections import Counter
        >>> parts = Counter(part_of(f"Sentence {number}.") for number in range(1000))
        >>> [parts[part] for part in PARTS]
        [60, 11, 929]
    """
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()
    percent = int.from_bytes(digest, "big") % 100
    if percent < _HELD_OUT_PERCENT:
        return HELD_OUT
    return DEVELOPMENT if percent < _HELD_OUT_PERCENT + _DEVELOPMENT_PERCENT else TRAINING


def read_silver(source: Source) -> Iterator[SilverSentence]:
    r"""Yield the sentences of a file, compressed or not.

    Raises:
        CorpusError: A line is not a parsed sentence.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
        >>> _ = path.write_text('{"words": ["Dogs", "bark", "."], "spaces": [1, 0, 0], "tags": ["NNS", "VBP", "."],'
        ...     '"heads": [1, 1, 1], "deps": ["nsubj", "ROOT", "punct"]}')
        >>> next(read_silver(path)).text
        'Dogs bark.'
    """
    for record in read_records(source):
        yield _sentence(record)


def _sentence(record: Record) -> SilverSentence:
    words, tags, labels, heads, spaces = (_column(record, name) for name in _COLUMNS)
    if not words or len({len(column) for column in (words, tags, labels, heads, spaces)}) != 1:
        raise _error(record, "columns that are empty or of different lengths")
    if not all(isinstance(head, int) and 0 <= head < len(words) for head in heads):
        raise _error(record, "a head outside the sentence")
    text = "".join(word + " " * bool(space) for word, space in zip(words, spaces, strict=True)).strip()
    parse = ParsedSentence(tuple(words), tuple(tags), tuple(heads), tuple(labels))
    return SilverSentence(text, tuple(bool(space) for space in spaces), parse)


def _column(record: Record, name: str) -> list[Any]:
    values = record.fields.get(name)
    kind = int if name in {"heads", "spaces"} else str
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise _error(record, f"{name!r} is missing or not a list of {kind.__name__}")
    return values


def _error(record: Record, seen: str) -> Exception:
    return record.error(
        "not a parsed sentence",
        seen=seen,
        allowed=f"lists of equal length: {', '.join(_COLUMNS)}",
        next_step="check the file",
    )
