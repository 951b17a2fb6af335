"""A cache of parses on disk: JSON lines, to which parses are appended.

The first line is a header. Every other line is one parse with a key, a hash of the pipeline's fingerprint and the
sentence, so that pipelines may share a file. Incomplete or invalid lines are ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.errors import CorpusError
from weft.io.atomic_files import explain_write_errors

HEADER = '{"weft": "parses", "format": 1}\n'
_KEY = re.compile(rb'\{"key":"([0-9a-f]{32})"')
_COLUMNS = ("words", "tags", "heads", "labels")


class ParseCache:
    """A file of parses, looked up by sentence.

    Only the position of each line is kept in memory. Parses that another process adds later are not seen; a sentence
    that both processes parse is stored twice, which is harmless.

    Args:
        path: The file; it is created when the first parse is added.
        fingerprint: The fingerprint of the pipeline.

    Raises:
        CorpusError: The file is not a cache of parses, or cannot be read.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "parses.jsonl"
        >>> ParseCache(path, "a").add({"Bark!": ParsedSentence(("Bark", "!"), ("VB", "."), (0, 0), ("ROOT", "punct"))})
        >>> ParseCache(path, "a").get("Bark!").tags, ParseCache(path, "another").get("Bark!")
        (('VB', '.'), None)
    """

    def __init__(self, path: str | Path, fingerprint: str) -> None:
        self.path = Path(path)
        self._fingerprint = fingerprint
        try:
            self._places = dict(self._index()) if self.path.exists() else {}
        except OSError as error:
            raise _unusable(self.path, error.strerror or str(error)) from error

    def get(self, sentence: str) -> ParsedSentence | None:
        """Return the parse of a sentence, or None."""
        place = self._places.get(key := self._key(sentence))
        if place is None:
            return None
        try:
            with self.path.open("rb") as handle:
                handle.seek(place)
                fields = _fields(handle.readline())
        except OSError as error:
            raise _unusable(self.path, error.strerror or str(error)) from error
        # If two processes append at the same time, another line can be at the recorded position.
        return _parse_of(fields) if fields.get("key") == key else None

    def add(self, parses: Mapping[str, ParsedSentence]) -> None:
        """Append parses to the file."""
        lines = [self._line(sentence, parse) for sentence, parse in parses.items()]
        with explain_write_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            head = self._head()
            with self.path.open("ab") as handle:
                start = handle.tell() + len(head)
                handle.write(head + "".join(lines).encode())
        for sentence, line in zip(parses, lines, strict=True):
            self._places[self._key(sentence)] = start
            start += len(line.encode())

    def _head(self) -> bytes:
        """Return what to write before new lines: the header of a new file, or the end of an incomplete line."""
        if not self.path.exists() or not self.path.stat().st_size:
            return HEADER.encode()
        with self.path.open("rb") as handle:
            handle.seek(-1, os.SEEK_END)
            return b"" if handle.read() == b"\n" else b"\n"

    def _key(self, sentence: str) -> str:
        text = f"{self._fingerprint}\n{sentence}".encode()
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    def _line(self, sentence: str, parse: ParsedSentence) -> str:
        fields = {"key": self._key(sentence), **{name: getattr(parse, name) for name in _COLUMNS}}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"

    def _index(self) -> Iterator[tuple[str, int]]:
        """Yield the key and the position of every line that has a key; parses are read when they are needed."""
        with self.path.open("rb") as handle:
            first = handle.readline(len(HEADER) + 1)
            if first and first != HEADER.encode():
                raise _unusable(self.path, "another kind of file")
            place = len(first)
            for line in handle:
                if match := _KEY.match(line):
                    yield match[1].decode(), place
                place += len(line)


def _fields(line: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _parse_of(fields: Mapping[str, Any]) -> ParsedSentence | None:
    """Return the parse of a line, or None if it is not valid."""
    columns = [fields.get(name) for name in _COLUMNS]
    words, tags, heads, labels = (tuple(column) if isinstance(column, list) else () for column in columns)
    size = len(words)
    if not size or {len(tags), len(heads), len(labels)} != {size}:
        return None
    if not all(isinstance(text, str) for text in (*words, *tags, *labels)):
        return None
    if not all(type(head) is int and 0 <= head < size for head in heads):
        return None
    words, tags, labels = (tuple(map(sys.intern, column)) for column in (words, tags, labels))
    return ParsedSentence(words, tags, heads, labels)


def _unusable(path: Path, seen: str) -> CorpusError:
    return CorpusError(
        f"{path} cannot be used as a cache of parses",
        seen=seen,
        allowed="a new file, or a cache of parses that weft wrote",
        next_step="give another file, or delete this one if it is not needed",
    )
