"""What a worker does with a block: read it, score it, write its shard and its receipt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any

from weft.corpora.readers.read_options import ReadOptions
from weft.document import Document, Score
from weft.errors import WeftError
from weft.loaded_model import Model, load
from weft.scale.block_rows import BadRow, BlockReader
from weft.scale.input_blocks import Block, InputShard
from weft.scale.output_folder import OutputFolder, Record, bad_rows_name, receipt_name, shard_name, write_json
from weft.scoring.genre_choice import check_genre
from weft.scoring.own_shuffles import with_own_shuffles
from weft.scoring.score_records import score_record
from weft.text_inputs import length_batches

WINDOW = 512  # rows that a worker holds in memory, and among which texts of similar lengths are found


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """The model, and what is written about each text."""

    model: str
    combine: str | None = None
    device: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)
    genre: str | None = None
    own_shuffles: bool = False
    text: bool = False  # whether records include the sentences

    def load(self) -> Model:
        """Return the model; raise an error if it does not exist or does not know the genre."""
        model = load(self.model, combine=self.combine, device=self.device, settings=self.settings)
        check_genre(self.genre, model.inner, model.name)
        return model


@dataclass(frozen=True, slots=True)
class BlockScoring:
    """Scores blocks; a task for worker processes, whose items are the numbers of the blocks."""

    shards: tuple[InputShard, ...]
    blocks: tuple[Block, ...]
    reading: ReadOptions
    scoring: ScoringOptions
    out: OutputFolder

    def start(self) -> Callable[[int], Record]:
        """Load the model once, and return the function that scores a block and returns its receipt."""
        model, reader = self.scoring.load(), BlockReader(self.reading)
        return lambda number: self._score(number, model, reader)

    def _score(self, number: int, model: Model, reader: BlockReader) -> Record:
        block = self.blocks[number]
        shard = self.shards[block.shard]
        with ExitStack() as opened:
            files = _BlockFiles(self.out, number, opened, text=self.scoring.text)
            rows = reader.rows(shard, block)
            while window := list(islice(rows, WINDOW)):
                files.write(window, score_rows(window, model, self.scoring))
        receipt = {
            "block": number, "name": shard_name(number), "input": block.shard, "first_row": block.first,
            "last_row": block.last, **files.counts(),
        }  # fmt: skip
        write_json(self.out, receipt_name(number), receipt)
        return receipt


def score_rows(
    rows: list[Document | BadRow], model: Model, options: ScoringOptions
) -> Iterator[tuple[int, Score | BadRow]]:
    """Yield the score of every document of a window, with its place; a document that has none becomes a bad row."""
    places = [place for place, row in enumerate(rows) if isinstance(row, Document)]
    documents = [row for row in rows if isinstance(row, Document)]
    genre = check_genre(options.genre, model.inner, model.name)
    for batch in length_batches(documents):
        scores = score_together([documents[at] for at in batch], model, genre, own_shuffles=options.own_shuffles)
        for at, score in zip(batch, scores, strict=True):
            yield places[at], score


def score_together(documents: list[Document], model: Model, genre: str, *, own_shuffles: bool) -> list[Score | BadRow]:
    """Score documents in one call; if that raises a `WeftError`, one by one, so that the others get their scores."""
    try:
        scores = model.score_batch(documents, [genre] * len(documents))
        return [*(with_own_shuffles(model.inner, scores) if own_shuffles else scores)]
    except WeftError as error:
        if len(documents) == 1:
            return [BadRow(0, str(error))]
        one_by_one = (score_together([one], model, genre, own_shuffles=own_shuffles) for one in documents)
        return [score for scores in one_by_one for score in scores]


class _BlockFiles:
    """The shard of a block, and its side file, which exists only if there are bad rows."""

    def __init__(self, out: OutputFolder, number: int, opened: ExitStack, *, text: bool) -> None:
        self.out, self.number, self.opened, self.text = out, number, opened, text
        self.shard = _CountedFile(opened.enter_context(out.writing(shard_name(number))))
        self.bad: _CountedFile | None = None
        self.without_score = 0

    def write(self, rows: list[Document | BadRow], scores: Iterator[tuple[int, Score | BadRow]]) -> None:
        """Write a window, in the order of its rows."""
        found = dict(scores)
        for place, row in enumerate(rows):
            result = found.get(place, row)
            if isinstance(row, BadRow):
                self._write_bad({"row": row.row, "reason": row.reason})
            elif isinstance(result, BadRow):
                self._write_bad({"id": row.id, "reason": result.reason})
            elif isinstance(result, Score):
                self.without_score += result.value is None
                self.shard.write_record(score_record(row, result, text=self.text))

    def _write_bad(self, record: Record) -> None:
        if self.bad is None:
            self.bad = _CountedFile(self.opened.enter_context(self.out.writing(bad_rows_name(self.number))))
        self.bad.write_record(record)

    def counts(self) -> Record:
        """Return counts and hashes of what was written."""
        found: Record = {
            "documents": self.shard.records,
            "without_score": self.without_score,
            "bad_rows": self.bad.records if self.bad is not None else 0,
            "bytes": self.shard.size,
            "sha256": self.shard.digest.hexdigest(),
        }
        if self.bad is not None:
            found |= {
                "bad_rows_name": bad_rows_name(self.number), "bad_rows_bytes": self.bad.size,
                "bad_rows_sha256": self.bad.digest.hexdigest(),
            }  # fmt: skip
        return found


class _CountedFile:
    """Writes records as JSON lines, and counts and hashes them."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.records, self.size, self.digest = file, 0, 0, hashlib.sha256()

    def write_record(self, record: Mapping[str, Any]) -> None:
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
        self.file.write(line)
        self.digest.update(line)
        self.records, self.size = self.records + 1, self.size + len(line)
