"""The heavy half of `prepare`: parse, check and encode chunks of input, in this process or in several.

`weft.corpora.process_pool` runs the processes; the main one only decompresses and cuts lines.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from weft.corpora.process_pool import map_in_order
from weft.corpora.readers.jsonl import document_of, parse_records
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.store.overlap import OverlapIndex
from weft.corpora.store.store_writer import EncodedDocuments
from weft.corpora.store.token_store import dtype_for
from weft.corpora.text.tokenizers import tokenizer_from_text
from weft.document import Document
from weft.errors import CorpusError

NEXT_STEP = "run it again with --workers 1; it goes on where it stopped"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one input: raw lines of JSONL, or documents of any other format.

    Attributes:
        source: The number of the input.
        name: The input as the user named it.
        options: How it is read.
        lines: Line numbers and lines, not parsed yet.
        documents: Documents, where the format has no independent lines.
    """

    source: int
    name: str
    options: ReadOptions
    lines: tuple[tuple[int, str], ...] = ()
    documents: tuple[Document, ...] = ()

    def __len__(self) -> int:
        return len(self.lines) + len(self.documents)


@dataclass(frozen=True, slots=True)
class EncodingTask:
    """All a worker needs to know, small enough to be sent to each of them once."""

    tokenizer: str
    held_out: OverlapIndex
    drop_overlap: bool = False

    def start(self) -> Callable[[Chunk], EncodedDocuments]:
        """Make the encoder; returns what packs a chunk."""
        return ChunkEncoder(self).encode


def chunk_documents(chunk: Chunk) -> Iterator[tuple[str, Document]]:
    """The documents of a chunk, each with the place to name in a message.

    Raises:
        CorpusError: A line cannot be read as a document.
    """
    for record in parse_records(chunk.name, chunk.lines):
        yield f"{chunk.name}, line {record.number}", document_of(record, chunk.options.language)
    for document in chunk.documents:
        yield f"{chunk.name}: document {document.id}", document


def kept_paragraphs(
    place: str, document: Document, *, held_out: OverlapIndex, drop_overlap: bool
) -> list[tuple[str, ...]]:
    """The paragraphs of a document that are not also in held-out text.

    Raises:
        CorpusError: One is, and overlaps are not to be dropped.
    """
    kept: list[tuple[str, ...]] = []
    for number, paragraph in enumerate(document.paragraphs()):
        owner = held_out.match(paragraph.sentences)
        if owner is not None and not drop_overlap:
            raise CorpusError(
                f"{place}: paragraph {number} of document {document.id} is also in held-out text",
                seen=f"held-out paragraph {owner}",
                allowed="training text that shares no two long sentences with a held-out paragraph",
                next_step="leave such paragraphs out with --drop-overlap",
            )
        if owner is None and paragraph.sentences:
            kept.append(paragraph.sentences)
    return kept


class ChunkEncoder:
    """Turns chunks into encoded ids, by the rules of one task."""

    def __init__(self, task: EncodingTask) -> None:
        self._task = task
        self._tokenizer = tokenizer_from_text(task.tokenizer)
        self._dtype = np.dtype(dtype_for(self._tokenizer.vocabulary_size)).newbyteorder("<")

    def encode(self, chunk: Chunk) -> EncodedDocuments:
        """Encode one chunk."""
        articles: list[int] = []
        paragraphs: list[tuple[str, ...]] = []
        seen = 0
        for place, document in chunk_documents(chunk):
            kept = kept_paragraphs(place, document, held_out=self._task.held_out, drop_overlap=self._task.drop_overlap)
            seen += len(document.paragraphs()) if document.sentences else 0
            paragraphs.extend(kept)
            if kept:
                articles.append(len(kept))
        return self._encoded(chunk, paragraphs, articles, dropped=seen - len(paragraphs))

    def _encoded(
        self, chunk: Chunk, paragraphs: list[tuple[str, ...]], articles: list[int], *, dropped: int
    ) -> EncodedDocuments:
        encoded = self._tokenizer.encode_batch(list(chain.from_iterable(paragraphs)))
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))  # [sentences]
        total = int(lengths.sum())
        flat = np.fromiter(chain.from_iterable(encoded), dtype=self._dtype, count=total)  # [tokens]
        return EncodedDocuments(
            ids=flat.tobytes(),
            sentences=lengths,
            paragraphs=np.fromiter(map(len, paragraphs), dtype=np.int64, count=len(paragraphs)),
            articles=np.array(articles, dtype=np.int64),
            source=chunk.source,
            consumed=len(chunk),
            dropped=dropped,
        )


def encode_chunks(
    task: EncodingTask, chunks: Iterable[Chunk], *, workers: int
) -> Generator[EncodedDocuments, None, None]:
    """Encode chunks in order, with one process or several.

    Args:
        task: The rules.
        chunks: The input; at most a few per worker are held at a time.
        workers: How many processes; with one, the work is done here.

    Raises:
        CorpusError: A chunk cannot be read; the first one in the order of the input.
    """
    return map_in_order(task, chunks, workers=workers, next_step=NEXT_STEP)
