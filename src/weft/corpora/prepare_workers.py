"""The heavy half of `prepare`: parse, check and encode chunks of input, in this process or in several.

Chunk number k goes to worker k modulo n and results are taken in the same order, so the output does not
depend on how many workers there are or which is fastest. The main process only decompresses and cuts lines.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np

from weft.corpora.files import ReadOptions
from weft.corpora.jsonl import document_of, parse_records
from weft.corpora.overlap import OverlapIndex
from weft.corpora.store import dtype_for
from weft.corpora.store_writer import Packed
from weft.corpora.tokenizers import tokenizer_from_text
from weft.document import Document
from weft.errors import CorpusError, WeftError

# Chunks under way per worker: one being encoded, one waiting, one on its way back.
BACKLOG = 3


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


class WorkerStoppedError(CorpusError):
    """A worker died; the inputs are not to blame, so what is done so far is kept."""


@dataclass(frozen=True, slots=True)
class Job:
    """All a worker needs to know, small enough to be sent to each of them once."""

    tokenizer: str
    held_out: OverlapIndex
    drop_overlap: bool = False


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


class Encoder:
    """Turns chunks into packed ids, by the rules of one job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._tokenizer = tokenizer_from_text(job.tokenizer)
        self._dtype = np.dtype(dtype_for(self._tokenizer.vocabulary_size)).newbyteorder("<")

    def pack(self, chunk: Chunk) -> Packed:
        """Encode one chunk."""
        articles: list[int] = []
        paragraphs: list[tuple[str, ...]] = []
        seen = 0
        for place, document in chunk_documents(chunk):
            kept = kept_paragraphs(place, document, held_out=self._job.held_out, drop_overlap=self._job.drop_overlap)
            seen += len(document.paragraphs()) if document.sentences else 0
            paragraphs.extend(kept)
            if kept:
                articles.append(len(kept))
        return self._packed(chunk, paragraphs, articles, dropped=seen - len(paragraphs))

    def _packed(self, chunk: Chunk, paragraphs: list[tuple[str, ...]], articles: list[int], *, dropped: int) -> Packed:
        encoded = self._tokenizer.encode_batch(list(chain.from_iterable(paragraphs)))
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))  # [sentences]
        total = int(lengths.sum())
        flat = np.fromiter(chain.from_iterable(encoded), dtype=self._dtype, count=total)  # [tokens]
        return Packed(
            ids=flat.tobytes(),
            sentences=lengths,
            paragraphs=np.fromiter(map(len, paragraphs), dtype=np.int64, count=len(paragraphs)),
            articles=np.array(articles, dtype=np.int64),
            source=chunk.source,
            consumed=len(chunk),
            dropped=dropped,
        )


def pack_all(job: Job, chunks: Iterable[Chunk], *, workers: int) -> Generator[Packed, None, None]:
    """Encode chunks in order, with one process or several.

    Args:
        job: The rules.
        chunks: The input; at most a few per worker are held at a time.
        workers: How many processes; with one, the work is done here.

    Raises:
        CorpusError: A chunk cannot be read; the first one in the order of the input.
    """
    if workers > 1:
        return _pack_in_processes(job, chunks, workers)
    encoder = Encoder(job)
    return (encoder.pack(chunk) for chunk in chunks)


def _pack_in_processes(job: Job, chunks: Iterable[Chunk], workers: int) -> Generator[Packed, None, None]:
    crew = [_start_worker(job) for _ in range(workers)]
    pipes = [pipe for _, pipe in crew]
    waiting: deque[Connection] = deque()
    try:
        for number, chunk in enumerate(chunks):
            if len(waiting) >= BACKLOG * workers:
                yield _receive(waiting.popleft())
            _send(pipes[number % workers], chunk)
            waiting.append(pipes[number % workers])
        while waiting:
            yield _receive(waiting.popleft())
    finally:
        _stop(crew)


def _start_worker(job: Job) -> tuple[BaseProcess, Connection]:
    # "spawn": a forked copy of a process with threads (torch, tokenizers) can deadlock.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(job, theirs), daemon=True)
    process.start()
    theirs.close()  # so that the worker's death is seen here as the end of the pipe
    return process, ours


def _send(pipe: Connection, chunk: Chunk) -> None:
    # A worker that died is reported by `_receive`, which knows whether it left an answer first.
    with suppress(BrokenPipeError, ConnectionResetError):
        pipe.send(chunk)


def _receive(pipe: Connection) -> Packed:
    try:
        answer: Packed | WeftError = pipe.recv()
    except (EOFError, ConnectionResetError):
        raise WorkerStoppedError(
            "a worker process stopped in the middle of its work",
            seen="the end of its pipe",
            allowed="enough memory, and a script whose entry is under `if __name__ == '__main__':`",
            next_step="run it again with --workers 1; it goes on where it stopped",
        ) from None
    if isinstance(answer, WeftError):
        raise answer
    return answer


def _stop(crew: list[tuple[BaseProcess, Connection]]) -> None:
    for process, pipe in crew:
        pipe.close()
        process.terminate()  # it holds nothing but memory
    for process, _ in crew:
        process.join()
        process.close()


def work(job: Job, pipe: Connection) -> None:
    """The life of a worker process: read chunks, answer each with its packed form or the error it met.

    The end of the pipe, also when the main process is killed, is the end of the worker.
    """
    # Ctrl-C reaches the whole group; the main process decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # One process per core already: threads inside each would only fight.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    encoder = Encoder(job)
    inbox: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()
    # Reading on the side: if both ends of a pipe were writing, both would wait for ever.
    threading.Thread(target=_read_into, args=(pipe, inbox), daemon=True).start()
    while (chunk := inbox.get()) is not None:
        with suppress(BrokenPipeError, ConnectionResetError):
            pipe.send(_answer(encoder, chunk))


def _read_into(pipe: Connection, inbox: queue.SimpleQueue[Chunk | None]) -> None:
    try:
        while True:
            inbox.put(pipe.recv())
    except (EOFError, OSError):
        inbox.put(None)


def _answer(encoder: Encoder, chunk: Chunk) -> Packed | WeftError:
    try:
        return encoder.pack(chunk)
    except WeftError as error:
        return error
