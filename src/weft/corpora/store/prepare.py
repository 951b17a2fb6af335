"""``weft prepare``: text files to a token store, in parallel, resumable and deterministic."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from weft.corpora.process_pool import OrderedMap, WorkerStoppedError, map_in_order
from weft.corpora.readers.formats import read_documents
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.store.encode_chunks import Chunk, EncodingTask, kept_paragraphs
from weft.corpora.store.input_files import InputFile, describe_input, source_chunks, standard_input_as_file
from weft.corpora.store.overlap import OverlapIndex
from weft.corpora.store.partial_folder import delete_contents, hold_partial_folder, write_marker
from weft.corpora.store.store_writer import (
    TOKENIZER,
    StoreWriter,
    WriterState,
    check_replaceable,
    fingerprint_of,
    load_writer_state,
    write_text_atomically,
)
from weft.corpora.store.token_store import FORMAT_VERSION, TokenStore, read_info
from weft.corpora.text.tokenizers import DEFAULT_SIZE, Tokenizer, load_tokenizer, train_tokenizer
from weft.errors import ConfigError, CorpusError
from weft.io.atomic_files import STORAGE_ERRORS, explain_write_errors
from weft.io.compressed_streams import STDIN
from weft.io.cpu_cores import usable_cores
from weft.progress import Progress, silent

# Enough to train 16,384 pieces in a few seconds.
SAMPLE_CHARACTERS = 32_000_000
CHUNK_CHARACTERS = 2**20
# One process decompresses about ten times as fast as one process encodes, so more processes would wait for it.
MOST_WORKERS = 8
# Starting a process takes about as long as encoding this much text.
BYTES_PER_WORKER = 2**20
AFTER_STOPPED_WORKER = "repeat the command with --workers 1; it continues where it stopped"
# Write errors; other system errors (no more processes, a closed terminal) do not concern the store.
_WRITE_ERRORS = STORAGE_ERRORS | {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass(frozen=True, slots=True)
class StorePlan:
    """Everything that determines the contents of a store."""

    sources: tuple[InputFile, ...]
    held_out: tuple[InputFile, ...]
    drop_overlap: bool
    tokenizer: Tokenizer | None
    tokenizer_kind: str
    vocabulary_size: int

    def recipe(self) -> dict[str, Any]:
        """Return the plan as JSON; equal recipes give equal stores."""
        return {
            "format": FORMAT_VERSION,
            "inputs": [source.identity() for source in self.sources],
            "held_out": [source.identity() for source in self.held_out],
            "drop_overlap": self.drop_overlap,
            "tokenizer": self._tokenizer_recipe(),
        }

    def provenance(self) -> dict[str, Any]:
        """Return the plan as it is recorded in ``store.json``."""
        return {
            "inputs": [source.provenance() for source in self.sources],
            "held_out": [source.provenance() for source in self.held_out],
            "options": [source.options.recorded() for source in self.sources],
            "drop_overlap": self.drop_overlap,
            "tokenizer_recipe": self._tokenizer_recipe(),
        }

    def _tokenizer_recipe(self) -> dict[str, Any]:
        if self.tokenizer is not None:
            return {"sha256": self.tokenizer.fingerprint}
        return {
            "kind": self.tokenizer_kind,
            "vocabulary_size": self.vocabulary_size,
            "sample_characters": SAMPLE_CHARACTERS,
        }


def prepare(
    inputs: Sequence[str | Path],
    out: str | Path,
    *,
    tokenizer: Tokenizer | str | Path | None = None,
    tokenizer_kind: str = "bpe",
    vocabulary_size: int = DEFAULT_SIZE,
    held_out: Sequence[str | Path] = (),
    drop_overlap: bool = False,
    workers: int | None = None,
    apply: OrderedMap = map_in_order,
    options: ReadOptions | None = None,
    overwrite: bool = False,
    restart: bool = False,
    chunk_characters: int = CHUNK_CHARACTERS,
    checkpoint_seconds: float = 1.0,
    progress: Progress = silent,
) -> TokenStore:
    """Write a token store of text files, and return it.

    The same inputs and options give the same bytes for any number of workers. An interrupted run leaves
    ``<out>.partial`` and continues from there when it is repeated; ``out`` appears only when the store is complete. An
    existing store of the same inputs and options is returned.

    Args:
        inputs: Files to read, in order; ``-`` is standard input.
        out: The folder to write.
        tokenizer: A tokenizer or its path. By default one is trained on the beginning of every input, 32 million
            characters in all.
        tokenizer_kind: ``bpe`` or ``words``: the kind of a trained tokenizer.
        vocabulary_size: The size of a trained tokenizer.
        held_out: Files with text that must not be in the store. A paragraph that shares two or more long sentences
            with one of their paragraphs is an error.
        drop_overlap: Omit and count such paragraphs instead.
        workers: Number of processes; by default one per core, at most 8, fewer for small inputs.
        apply: Where chunks are encoded; by default in processes of this machine.
        options: How to read the inputs.
        overwrite: Replace an existing store of other inputs or options.
        restart: Delete an interrupted run instead of continuing it.
        chunk_characters: Size of the chunks that processes encode; the store does not depend on it.
        checkpoint_seconds: Time between checkpoints.
        progress: Receives the number of articles done.

    Raises:
        CorpusError: An input cannot be read or overlaps with held-out text, or `out` contains something else.
        ModelError: The tokenizer cannot be used.
        ConfigError: An option has a wrong value.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "cats.txt").write_text("A cat sat. It slept.")
        ...     store = prepare([folder + "/cats.txt"], folder + "/cats", vocabulary_size=300)
        ...     store.tokenizer().decode(store.sentence(1))
        'It slept.'
    """
    folder = _resolve_link(Path(out))
    _check_held_out_files(held_out)
    with standard_input_as_file(inputs, folder) as spool:
        plan = StorePlan(
            sources=tuple(describe_input(str(name), options or ReadOptions(), spool) for name in inputs),
            held_out=tuple(describe_input(str(name), ReadOptions()) for name in held_out),
            drop_overlap=drop_overlap,
            tokenizer=load_tokenizer(tokenizer) if isinstance(tokenizer, str | Path) else tokenizer,
            tokenizer_kind=tokenizer_kind,
            vocabulary_size=vocabulary_size,
        )
        run = _StoreBuilder(plan, folder, workers, apply, chunk_characters, checkpoint_seconds, progress)
        run.build(overwrite=overwrite, restart=restart)
    return TokenStore(folder)


@dataclass(frozen=True, slots=True)
class _StoreBuilder:
    """One run that writes the store of a plan."""

    plan: StorePlan
    out: Path
    workers: int | None
    apply: OrderedMap
    chunk_characters: int
    checkpoint_seconds: float
    progress: Progress

    def build(self, *, overwrite: bool, restart: bool) -> None:
        """Write the store unless it exists."""
        if _is_finished(self.out, self.plan, overwrite=overwrite):
            return
        workers = _worker_count(self.workers, self.plan)  # raises before anything is written
        with explain_write_errors(self.out, only=_WRITE_ERRORS), hold_partial_folder(self.out) as partial:
            # Checked again: another process may have finished it before this one had the lock.
            if not _is_finished(self.out, self.plan, overwrite=overwrite):
                self._make(partial, workers, restart=restart)

    def _make(self, partial: Path, workers: int, *, restart: bool) -> None:
        recipe = self.plan.recipe()
        state = None if restart else load_writer_state(partial, recipe)
        if state is None:
            write_marker(partial, recipe)
        try:
            files = (read_documents(source.path, source.options) for source in self.plan.held_out)
            held_out = OverlapIndex.of(chain.from_iterable(files))
            tokenizer = self._tokenizer(partial, held_out, resumed=state is not None)
            state = state or WriterState()
            with StoreWriter(partial, recipe, tokenizer, state, self.checkpoint_seconds) as writer:
                self._fill(writer, held_out, workers)
                writer.finish(self.out, provenance=self.plan.provenance())
        except WorkerStoppedError:
            raise
        except (CorpusError, ConfigError):
            # The inputs or options must change before the next run, which then cannot continue this one.
            delete_contents(partial)
            raise

    def _tokenizer(self, partial: Path, held_out: OverlapIndex, *, resumed: bool) -> Tokenizer:
        """Return the given tokenizer, that of an interrupted run, or a new one."""
        if resumed:
            return load_tokenizer(partial / TOKENIZER)
        tokenizer = self.plan.tokenizer or train_tokenizer(
            self.plan.tokenizer_kind,
            self._sample(held_out),
            vocabulary_size=self.plan.vocabulary_size,
        )
        write_text_atomically(partial / TOKENIZER, tokenizer.to_text())
        return tokenizer

    def _sample(self, held_out: OverlapIndex) -> Iterator[str]:
        """Yield sentences from the beginning of every input, the same share of each."""
        share = SAMPLE_CHARACTERS // len(self.plan.sources)
        for source in self.plan.sources:
            left = share
            for sentence in _sentences(source, held_out, self.chunk_characters):
                left -= len(sentence)
                if left < 0:
                    break
                yield sentence

    def _fill(self, writer: StoreWriter, held_out: OverlapIndex, workers: int) -> None:
        task = EncodingTask(writer.tokenizer.to_text(), held_out, self.plan.drop_overlap)
        chunks = self._remaining_chunks(writer.state)
        encoded_chunks = self.apply(task, chunks, workers=workers, next_step=AFTER_STOPPED_WORKER)
        # Closed here and not by the garbage collector, so that Ctrl-C ends the processes.
        with closing(encoded_chunks) as results:
            for encoded in results:
                writer.append(encoded)
                self.progress("preparing", writer.state.articles)
        if not writer.state.tokens:
            raise CorpusError(
                "no text in the inputs",
                seen=", ".join(source.name for source in self.plan.sources),
                allowed="at least one sentence",
                next_step="check the files and --input",
            )

    def _remaining_chunks(self, state: WriterState) -> Iterator[Chunk]:
        """Yield the chunks of the inputs that an earlier run has not processed."""
        for number, source in enumerate(self.plan.sources):
            if number >= state.source:
                skip = state.consumed if number == state.source else 0
                yield from source_chunks(source, number, self.chunk_characters, skip=skip)


def _sentences(source: InputFile, held_out: OverlapIndex, characters: int) -> Iterator[str]:
    """Yield the sentences of an input without held-out paragraphs, on which no tokenizer may be trained."""
    for chunk in source_chunks(source, 0, characters):
        for place, document in chunk.read():
            for paragraph in kept_paragraphs(place, document, held_out=held_out, drop_overlap=True):
                yield from paragraph


def _check_held_out_files(held_out: Sequence[str | Path]) -> None:
    """Raise ConfigError for standard input: it may be the training text, and held-out text is read twice."""
    if STDIN in map(str, held_out):
        raise ConfigError(
            "held-out text cannot come from standard input",
            seen=STDIN,
            allowed="files",
            next_step="save it to a file, and give that to --held-out",
        )


def _resolve_link(out: Path) -> Path:
    """Return the folder to write; for a symbolic link, its target."""
    with explain_write_errors(out):
        return Path(os.path.realpath(out)) if out.is_symlink() else out


def _is_finished(out: Path, plan: StorePlan, *, overwrite: bool) -> bool:
    """Return whether `out` is the store of the plan; raise if it is something else."""
    if not out.exists():
        return False
    if read_info(out).fingerprint == fingerprint_of(plan.recipe()):
        return True
    if not overwrite:
        raise CorpusError(
            f"{out} already contains a store of other inputs or options",
            seen=", ".join(source.name for source in plan.sources),
            allowed="a new folder, or the inputs and options of that store",
            next_step="choose another folder, or replace the store with --overwrite",
        )
    check_replaceable(out)
    return False


def _worker_count(workers: int | None, plan: StorePlan) -> int:
    if workers is None:
        size = sum(source.size for source in plan.sources)
        return min(usable_cores(), MOST_WORKERS, 1 + size // BYTES_PER_WORKER)
    if workers < 1:
        raise ConfigError("workers out of range", seen=workers, allowed="1 or more", next_step="omit --workers")
    return workers
