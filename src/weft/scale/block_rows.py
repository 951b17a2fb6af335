"""The documents of a block, and the rows of it that cannot be read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from weft.corpora.readers.found_files import FoundFile, renamed
from weft.corpora.readers.jsonl import document_of, parse_records
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.readers.tables import read_row_groups, row_group_sizes
from weft.corpora.readers.text_document import kept
from weft.document import Document
from weft.errors import CorpusError
from weft.io.compressed_streams import open_bytes
from weft.scale.input_blocks import Block, InputShard, changed_input

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is not scored."""

    row: int  # its number in its shard, from 1; of JSONL, the line
    reason: str


class BlockReader:
    """Reads blocks of shards.

    A compressed file can only be read from its beginning. A reader keeps the file of its last block open, and goes on
    from there: a worker that gets blocks in their order reads every file once.

    Args:
        options: How to read the rows.
    """

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self._opened = ExitStack()
        self._source, self._next = "", 1  # the open file, and the number of its next line
        self._stream: io.BufferedReader | None = None

    def rows(self, shard: InputShard, block: Block) -> Iterator[Document | BadRow]:
        """Yield every row of a block, in order; blank lines are omitted.

        Raises:
            CorpusError: The file cannot be read, or has other rows than when it was counted.
        """
        options = replace(self.options, format=shard.format)
        if shard.format == "parquet":
            if tuple(row_group_sizes(shard.source, options)) != shard.row_groups:
                raise changed_input(shard.source)
            documents = read_row_groups(shard.source, options, block.groups, first=block.first)
            yield from self._named(documents, shard)
            return
        for number, line in self._lines(shard.source, block):
            yield from self._row(shard, number, line, options)

    def close(self) -> None:
        """Close the file of the last block."""
        self._opened.close()
        self._source, self._stream = "", None

    def _row(
        self, shard: InputShard, number: int, line: bytes | None, options: ReadOptions
    ) -> Iterator[Document | BadRow]:
        if line is None:
            yield BadRow(number, f"the line is longer than {options.max_line_bytes} bytes")
            return
        try:
            text = line.decode(options.encoding)
            for record in parse_records(shard.source, [(number, text)]):
                yield from self._named(kept(document_of(record, options), options), shard)
        except UnicodeError as error:
            yield BadRow(number, f"the line is not valid {options.encoding}: {error}"[:200])
        except CorpusError as error:
            if options.empty == "refuse":
                raise
            yield BadRow(number, _reason(error, f"{shard.source}, line {number}: "))

    def _named(self, documents: Iterator[Document], shard: InputShard) -> Iterator[Document]:
        return renamed(documents, FoundFile(Path(shard.source), shard.name))

    def _lines(self, source: str, block: Block) -> Iterator[tuple[int, bytes | None]]:
        """Yield the lines of a block without their ends; None for a line that is too long."""
        if self._source != source or self._stream is None or self._next > block.first:
            self.close()
            self._source, self._next = source, 1
            self._stream = self._opened.enter_context(open_bytes(source))
        limit = self.options.max_line_bytes
        while self._next <= block.last:
            if not self._stream.peek(1):  # the end, although the block has more lines
                raise changed_input(source)
            line = _line(self._stream, limit)
            self._next += 1
            if self._next == 2 and line is not None:
                line = line.removeprefix(BYTE_ORDER_MARK)
            if self._next > block.first:
                yield self._next - 1, line


def _line(stream: io.BufferedReader, limit: int) -> bytes | None:
    line = stream.readline(limit + 2)
    whole = line.removesuffix(b"\n").removesuffix(b"\r")
    if len(whole) <= limit:
        return whole
    while line and not line.endswith(b"\n"):
        line = stream.readline(limit)
    return None


def _reason(error: CorpusError, place: str) -> str:
    seen = f" (saw {error.seen})" if error.seen is not None else ""
    return f"{error.what.removeprefix(place)}{seen}"[:300]
