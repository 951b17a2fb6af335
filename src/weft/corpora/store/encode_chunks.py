"""Encoding of chunks of text in `prepare`, in this process or in several.

The main process decompresses and cuts lines; the processes of `weft.corpora.process_pool` parse, check and encode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from weft.corpora.readers.jsonl import document_of, parse_records
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.store.overlap import OverlapIndex
from weft.corpora.store.store_writer import EncodedDocuments
from weft.corpora.store.token_store import dtype_for
from weft.corpora.text.tokenizers import Tokenizer, tokenizer_from_text
from weft.document import Document
from weft.errors import CorpusError

Paragraph = tuple[str, ...]  # its sentences


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of one input: lines of JSONL, or documents of another format."""

    source: int  # the number of the input
    name: str  # as the user gave it
    options: ReadOptions
    lines: tuple[tuple[int, str], ...] = ()  # line numbers and unparsed lines
    documents: tuple[Document, ...] = ()

    def __len__(self) -> int:
        return len(self.lines) + len(self.documents)

    def read(self) -> Iterator[tuple[str, Document]]:
        """Yield the documents, each with its place for messages."""
        for record in parse_records(self.name, self.lines):
            yield record.place, document_of(record, self.options)
        for document in self.documents:
            yield f"{self.name}: document {document.id}", document


@dataclass(frozen=True, slots=True)
class EncodingTask:
    """What a worker process needs to encode chunks; it is sent to each process once."""

    tokenizer: str  # the contents of its file
    held_out: OverlapIndex
    drop_overlap: bool  # whether overlapping paragraphs are omitted instead of an error

    def start(self) -> Callable[[Chunk], EncodedDocuments]:
        """Return the function that encodes a chunk."""
        tokenizer = tokenizer_from_text(self.tokenizer)
        return lambda chunk: self._encode(chunk, tokenizer)

    def _encode(self, chunk: Chunk, tokenizer: Tokenizer) -> EncodedDocuments:
        articles: list[int] = []
        paragraphs: list[Paragraph] = []
        seen = 0
        for place, document in chunk.read():
            kept = kept_paragraphs(place, document, held_out=self.held_out, drop_overlap=self.drop_overlap)
            seen += len(document.paragraphs()) if document.sentences else 0
            paragraphs.extend(kept)
            if kept:
                articles.append(len(kept))
        encoded = tokenizer.encode_batch(list(chain.from_iterable(paragraphs)))
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))  # [sentences]
        dtype = np.dtype(dtype_for(tokenizer.vocabulary_size)).newbyteorder("<")
        flat = np.fromiter(chain.from_iterable(encoded), dtype=dtype, count=int(lengths.sum()))  # [tokens]
        return EncodedDocuments(
            ids=flat.tobytes(),
            sentences=lengths,
            paragraphs=np.fromiter(map(len, paragraphs), dtype=np.int64, count=len(paragraphs)),
            articles=np.array(articles, dtype=np.int64),
            source=chunk.source,
            consumed=len(chunk),
            dropped=seen - len(paragraphs),
        )


def kept_paragraphs(place: str, document: Document, *, held_out: OverlapIndex, drop_overlap: bool) -> list[Paragraph]:
    """Return the paragraphs of a document that do not overlap with held-out text."""
    kept: list[Paragraph] = []
    for number, paragraph in enumerate(document.paragraphs()):
        owner = held_out.match(paragraph.sentences)
        if owner is not None and not drop_overlap:
            raise CorpusError(
                f"{place}: paragraph {number} of document {document.id} is also in held-out text",
                seen=f"held-out paragraph {owner}",
                allowed="training text that shares no two long sentences with a held-out paragraph",
                next_step="omit such paragraphs with --drop-overlap",
            )
        if owner is None and paragraph.sentences:
            kept.append(paragraph.sentences)
    return kept
