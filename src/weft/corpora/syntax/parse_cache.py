"""A cache of parses on disk: an SQLite file with one table.

The key of a parse is a hash of the pipeline's fingerprint and the sentence, so that pipelines may share a file.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.errors import CorpusError

_TABLE = "CREATE TABLE IF NOT EXISTS parses (key TEXT PRIMARY KEY, parse TEXT)"
_WAIT_SECONDS = 60  # for another process that writes


class ParseCache:
    """A file of parses, looked up by sentence; several processes may use it.

    Args:
        path: The file; it is created if it does not exist.
        fingerprint: The fingerprint of the pipeline.

    Raises:
        CorpusError: The file is not a cache of parses, or cannot be read or written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "parses.sqlite"
        >>> ParseCache(path, "a").add({"Bark!": ParsedSentence(("Bark", "!"), ("VB", "."), (0, 0), ("ROOT", "punct"))})
        >>> ParseCache(path, "a").find(["Bark!"])["Bark!"].tags, ParseCache(path, "another").find(["Bark!"])
        (('VB', '.'), {})
    """

    def __init__(self, path: str | Path, fingerprint: str) -> None:
        self.path, self._fingerprint = Path(path), fingerprint
        with self._opened() as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            if tables not in ([], ["parses"]):
                raise _unusable(self.path, "another kind of file")
            database.execute(_TABLE)

    def find(self, sentences: Sequence[str]) -> dict[str, ParsedSentence]:
        """Return the parses of the sentences that the file has."""
        found = {}
        with self._opened() as database:
            for sentence in sentences:
                row = database.execute("SELECT parse FROM parses WHERE key = ?", (self._key(sentence),)).fetchone()
                parse = _parse_of(row[0]) if row else None
                if parse is not None:
                    found[sentence] = parse
        return found

    def add(self, parses: Mapping[str, ParsedSentence]) -> None:
        """Write parses to the file."""
        rows = [(self._key(sentence), _text_of(parse)) for sentence, parse in parses.items()]
        with self._opened() as database:
            database.executemany("INSERT OR REPLACE INTO parses VALUES (?, ?)", rows)

    def _key(self, sentence: str) -> str:
        return hashlib.blake2b(f"{self._fingerprint}\n{sentence}".encode(), digest_size=16).hexdigest()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS)) as database, database:
                yield database
        except (OSError, sqlite3.Error) as error:
            raise _unusable(self.path, str(error)) from error


def _text_of(parse: ParsedSentence) -> str:
    return json.dumps([parse.words, parse.tags, parse.heads, parse.labels], ensure_ascii=False, separators=(",", ":"))


def _parse_of(text: object) -> ParsedSentence | None:
    """Return the parse of a row, or None if it is not valid."""
    try:
        words, tags, heads, labels = map(tuple, json.loads(str(text)))
    except (TypeError, ValueError, RecursionError):
        return None
    if not words or not len(words) == len(tags) == len(heads) == len(labels):
        return None
    if not all(isinstance(one, str) for one in (*words, *tags, *labels)):
        return None
    if not all(type(head) is int and 0 <= head < len(words) for head in heads):
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
