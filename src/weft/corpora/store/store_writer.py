"""A writer of token stores that can be interrupted and resumed.

It works in the folder ``<out>.partial`` and only appends to the arrays. ``progress.json`` records their valid lengths;
bytes after these lengths were written by a process that died, and are removed when the run resumes. A complete store
is renamed to ``<out>``.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from weft.corpora.store.token_store import FORMAT_VERSION, LEVELS, SURPRISE, dtype_for, read_info
from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import CorpusError
from weft.io.atomic_files import replace_folder
from weft.io.file_hash import sha256_of
from weft.version import VERSION

PROGRESS = "progress.json"
TOKENIZER = "tokenizer.json"
HEADER = "store.json"
STORE_FILES = (HEADER, TOKENIZER, "ids.bin", *(f"{level}.bin" for level in LEVELS), f"{SURPRISE}.bin")


@dataclass(frozen=True, slots=True)
class EncodedDocuments:
    """Some documents as token ids."""

    ids: bytes  # little-endian, in the store's dtype
    sentences: NDArray[np.int64]  # tokens of each
    paragraphs: NDArray[np.int64]  # sentences of each
    articles: NDArray[np.int64]  # paragraphs of each
    source: int  # the number of the input
    consumed: int  # lines or documents of that input
    dropped: int  # paragraphs omitted because of overlap


@dataclass(frozen=True, slots=True)
class WriterState:
    """Progress: how much is written, and how much of which input it was made from."""

    source: int = 0
    consumed: int = 0
    tokens: int = 0
    sentences: int = 0
    paragraphs: int = 0
    articles: int = 0
    dropped: int = 0
    by_input: tuple[int, ...] = ()  # articles of each input so far

    def after(self, encoded: EncodedDocuments, tokens: int) -> WriterState:
        """Return the state after some documents are appended."""
        before = self.consumed if encoded.source == self.source else 0
        return WriterState(
            source=encoded.source,
            consumed=before + encoded.consumed,
            tokens=self.tokens + tokens,
            sentences=self.sentences + len(encoded.sentences),
            paragraphs=self.paragraphs + len(encoded.paragraphs),
            articles=self.articles + len(encoded.articles),
            dropped=self.dropped + encoded.dropped,
            by_input=self._articles_by_input(encoded),
        )

    def _articles_by_input(self, encoded: EncodedDocuments) -> tuple[int, ...]:
        counts = [*self.by_input, *[0] * (encoded.source + 1 - len(self.by_input))]
        counts[encoded.source] += len(encoded.articles)
        return tuple(counts)


class StoreWriter:
    """A context manager that writes a store; `finish` completes it.

    Args:
        partial: The folder to work in.
        recipe: What the store is made of; recorded, so that a resumed run can be checked.
        tokenizer: The tokenizer of the ids.
        state: The state to continue from; see `load_writer_state`.
        checkpoint_seconds: Time between checkpoints.
    """

    def __init__(
        self,
        partial: Path,
        recipe: Mapping[str, Any],
        tokenizer: Tokenizer,
        state: WriterState,
        checkpoint_seconds: float,
    ) -> None:
        self.partial, self.recipe, self.tokenizer, self.state = partial, recipe, tokenizer, state
        self.dtype = np.dtype(dtype_for(tokenizer.vocabulary_size)).newbyteorder("<")
        self._seconds = checkpoint_seconds
        self._noted = time.monotonic()
        self._files: dict[str, IO[bytes]] = {}

    def __enter__(self) -> StoreWriter:
        for name, length in self._lengths().items():
            self._files[name] = _open_at(self.partial / name, length)
        if self.state == WriterState():
            for level in LEVELS:
                self._files[f"{level}.bin"].seek(0)
                self._files[f"{level}.bin"].write(np.zeros(1, dtype="<i8").tobytes())
        self.checkpoint()
        return self

    def __exit__(self, *error: object) -> None:
        if not self._files:  # finished
            return
        # `state` describes complete appends only, so this is correct in the middle of an interrupted append too.
        try:
            self.checkpoint()
        finally:
            for file in self._files.values():
                file.close()

    def append(self, encoded: EncodedDocuments) -> None:
        """Append documents, and write a checkpoint if it is time."""
        self._files["ids.bin"].write(encoded.ids)
        self._append_offsets("sentences", encoded.sentences, self.state.tokens)
        self._append_offsets("paragraphs", encoded.paragraphs, self.state.sentences)
        self._append_offsets("articles", encoded.articles, self.state.paragraphs)
        self.state = self.state.after(encoded, len(encoded.ids) // self.dtype.itemsize)
        if time.monotonic() - self._noted >= self._seconds:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Flush all files to the disk, then record their lengths."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        body = {"recipe": self.recipe, "state": asdict(self.state), "lengths": self._lengths()}
        write_text_atomically(self.partial / PROGRESS, json.dumps(body))
        self._noted = time.monotonic()

    def finish(self, out: Path, *, provenance: Mapping[str, Any]) -> None:
        """Complete the store and rename its folder to ``out``."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        write_text_atomically(self.partial / HEADER, json.dumps(self._header(provenance), indent=1) + "\n")
        (self.partial / PROGRESS).unlink()
        if out.exists():
            check_replaceable(out)
        replace_folder(self.partial, out)

    def _header(self, provenance: Mapping[str, Any]) -> dict[str, Any]:
        counts = {level: getattr(self.state, level) for level in ("tokens", *LEVELS)}
        return {
            "format": FORMAT_VERSION,
            "weft": VERSION,
            "dtype": dtype_for(self.tokenizer.vocabulary_size),
            "counts": {**counts, "dropped_paragraphs": self.state.dropped},
            "articles_by_input": list(self.state.by_input),
            "vocabulary_size": self.tokenizer.vocabulary_size,
            "tokenizer": self.tokenizer.fingerprint,
            "fingerprint": fingerprint_of(self.recipe),
            "files": {name: sha256_of(self.partial / name) for name in self._lengths()},
            **provenance,
        }

    def _lengths(self) -> dict[str, int]:
        lengths = {"ids.bin": self.state.tokens * self.dtype.itemsize}
        return lengths | {f"{level}.bin": 8 * (1 + getattr(self.state, level)) for level in LEVELS}

    def _append_offsets(self, level: str, lengths: NDArray[np.int64], start: int) -> None:
        ends = np.cumsum(lengths, dtype=np.int64) + start  # [rows]
        self._files[f"{level}.bin"].write(ends.astype("<i8").tobytes())


def load_writer_state(partial: Path, recipe: Mapping[str, Any]) -> WriterState | None:
    """Return the state of an interrupted run, or None if there is nothing to continue from.

    Raises:
        CorpusError: The interrupted run had other inputs or options.
    """
    try:
        body = json.loads((partial / PROGRESS).read_text(encoding="utf-8"))
        state, lengths = WriterState(**body["state"]), dict(body["lengths"])
        state = replace(state, by_input=tuple(state.by_input))
        earlier = dict(body["recipe"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    changed = [name for name in recipe if earlier.get(name) != json.loads(json.dumps(recipe[name]))]
    if changed:
        raise CorpusError(
            f"{partial} was started with other inputs or options",
            seen=f"a change in: {', '.join(changed)}",
            allowed="the same inputs and options, to continue",
            next_step="repeat the earlier command, or start again with --restart",
        )
    # After a power failure files can be shorter than recorded; then the run starts again.
    whole = all(_size(partial / name) >= length for name, length in lengths.items())
    return state if whole and (partial / TOKENIZER).is_file() else None


def fingerprint_of(recipe: Mapping[str, Any]) -> str:
    """Return a hash of everything that determines the contents of a store."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()


def write_text_atomically(path: Path, text: str) -> None:
    """Write a file atomically, with a fixed temporary name, which `partial_folder` recognises as its own."""
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        file.write(text.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def check_replaceable(out: Path) -> None:
    """Raise CorpusError if a folder is not a store, or contains files that weft did not write."""
    read_info(out)
    foreign = sorted(set(os.listdir(out)).difference(STORE_FILES))
    if foreign:
        raise CorpusError(
            f"{out} contains files that weft did not make, which replacing it would delete",
            seen=", ".join(foreign)[:200],
            allowed="a store and nothing else",
            next_step="move those files away, or choose another folder",
        )


def _open_at(path: Path, length: int) -> IO[bytes]:
    """Open a file for appending after exactly `length` bytes."""
    file = path.open("r+b" if path.exists() else "w+b")
    file.truncate(length)
    file.seek(length)
    return file


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1
