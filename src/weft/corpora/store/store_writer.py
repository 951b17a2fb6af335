"""Writing a token store so that it can be interrupted: append, note how far, rename when whole.

Everything happens in ``<out>.partial``. The arrays are only ever appended to; ``progress.json`` says how much
of them counts. Whatever lies behind that was written by a process that died and is cut off on the next start.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from weft.corpora.store.token_store import FORMAT_VERSION, LEVELS, dtype_for, read_info
from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import CorpusError
from weft.io.file_hash import sha256_of
from weft.version import VERSION

PROGRESS = "progress.json"
TOKENIZER = "tokenizer.json"
HEADER = "store.json"
LOCK = "weft.lock"
STORE_FILES = (HEADER, TOKENIZER, "ids.bin", *(f"{level}.bin" for level in LEVELS))


@dataclass(frozen=True, slots=True)
class EncodedDocuments:
    """The encoded form of some documents, ready to append.

    Attributes:
        ids: The token ids, little-endian, in the store's dtype.
        sentences: Tokens per sentence.
        paragraphs: Sentences per paragraph.
        articles: Paragraphs per article.
        source: The number of the input they come from.
        consumed: How many lines or documents of that input they were made from.
        dropped: Paragraphs left out because of overlap.
    """

    ids: bytes
    sentences: NDArray[np.int64]
    paragraphs: NDArray[np.int64]
    articles: NDArray[np.int64]
    source: int
    consumed: int
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class WriterState:
    """How far the work has come: what is written, and which part of which input it was made from."""

    source: int = 0
    consumed: int = 0
    tokens: int = 0
    sentences: int = 0
    paragraphs: int = 0
    articles: int = 0
    dropped: int = 0

    def after(self, encoded: EncodedDocuments, tokens: int) -> WriterState:
        """The state once some documents have been appended."""
        before = self.consumed if encoded.source == self.source else 0
        return WriterState(
            source=encoded.source,
            consumed=before + encoded.consumed,
            tokens=self.tokens + tokens,
            sentences=self.sentences + len(encoded.sentences),
            paragraphs=self.paragraphs + len(encoded.paragraphs),
            articles=self.articles + len(encoded.articles),
            dropped=self.dropped + encoded.dropped,
        )


class StoreWriter:
    """An unfinished store; use it as a context manager, and only `finish` makes it a store.

    Args:
        partial: The folder to work in; `load_writer_state` tells whether it holds something to go on from.
        recipe: What the store is made of; noted so that a rerun can tell whether it is the same.
        tokenizer: The tokenizer of the ids.
        state: Where to go on from.
        checkpoint_seconds: How often progress is noted.
    """

    def __init__(
        self,
        partial: Path,
        recipe: Mapping[str, Any],
        tokenizer: Tokenizer,
        *,
        state: WriterState,
        checkpoint_seconds: float = 1.0,
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

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if not self._files:  # finished
            return
        # `state` only ever describes whole appends, so this holds in the middle of an interrupted one too.
        try:
            self.checkpoint()
        finally:
            for file in self._files.values():
                file.close()

    def append(self, encoded: EncodedDocuments) -> None:
        """Add encoded documents, and note progress if it is time."""
        self._files["ids.bin"].write(encoded.ids)
        self._append_offsets("sentences", encoded.sentences, self.state.tokens)
        self._append_offsets("paragraphs", encoded.paragraphs, self.state.sentences)
        self._append_offsets("articles", encoded.articles, self.state.paragraphs)
        self.state = self.state.after(encoded, len(encoded.ids) // self.dtype.itemsize)
        if time.monotonic() - self._noted >= self._seconds:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Bring everything to the disk, then note that it is there."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        body = {"recipe": self.recipe, "state": asdict(self.state), "lengths": self._lengths()}
        write_text_atomically(self.partial / PROGRESS, json.dumps(body))
        self._noted = time.monotonic()

    def finish(self, out: Path, *, provenance: Mapping[str, Any]) -> None:
        """Make the partial folder a store and give it its name, in one step."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        write_text_atomically(self.partial / HEADER, json.dumps(self._header(provenance), indent=1) + "\n")
        (self.partial / PROGRESS).unlink()
        _move_into_place(self.partial, out)

    def _header(self, provenance: Mapping[str, Any]) -> dict[str, Any]:
        counts = {level: getattr(self.state, level) for level in ("tokens", *LEVELS)}
        return {
            "format": FORMAT_VERSION,
            "weft": VERSION,
            "dtype": dtype_for(self.tokenizer.vocabulary_size),
            "counts": {**counts, "dropped_paragraphs": self.state.dropped},
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
    """Where an earlier run stopped, or None if there is nothing to go on from.

    Raises:
        CorpusError: The earlier run had other inputs or options.
    """
    try:
        body = json.loads((partial / PROGRESS).read_text(encoding="utf-8"))
        state, lengths = WriterState(**body["state"]), dict(body["lengths"])
        earlier = dict(body["recipe"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    changed = [name for name in recipe if earlier.get(name) != json.loads(json.dumps(recipe[name]))]
    if changed:
        raise CorpusError(
            f"{partial} was begun with other inputs or options",
            seen=f"a change in: {', '.join(changed)}",
            allowed="the same inputs and options, to go on where it stopped",
            next_step="repeat the earlier command, or begin again with --restart",
        )
    # After a power cut the noted lengths can be ahead of the disk; then only the beginning is safe.
    whole = all(_size(partial / name) >= length for name, length in lengths.items())
    return state if whole and (partial / TOKENIZER).is_file() else None


def fingerprint_of(recipe: Mapping[str, Any]) -> str:
    """One hash of everything that decides the contents of a store.

    Example:
        >>> fingerprint_of({"a": 1, "b": 2}) == fingerprint_of({"b": 2, "a": 1})
        True
    """
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()


def temporary_name(name: str) -> str:
    """What a file is called until all of it is written.

    Example:
        >>> temporary_name("store.json")
        'store.json.new'
    """
    return name + ".new"


def write_text_atomically(path: Path, text: str) -> None:
    """Write a file so that its name always holds either the old or the new contents."""
    new = path.with_name(temporary_name(path.name))
    with new.open("wb") as file:
        file.write(text.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def check_replaceable(out: Path) -> None:
    """Refuse to replace a folder that is not a store, or a store in which something else was put.

    Raises:
        CorpusError: It is.
    """
    read_info(out)
    foreign = sorted(set(os.listdir(out)).difference(STORE_FILES, {LOCK}))
    if foreign:
        raise CorpusError(
            f"{out} also holds what weft did not make, and replacing it would delete that",
            seen=", ".join(foreign)[:200],
            allowed="a store and nothing else",
            next_step="move those files away, or choose another folder",
        )


def _move_into_place(partial: Path, out: Path) -> None:
    """Rename the finished folder; an older store of that name steps aside first and goes last."""
    if out.exists():
        check_replaceable(out)
        _replace_store(partial, out)
    else:
        partial.rename(out)
    # Last, and not in the partial folder: until the rename nobody else may take that over.
    (out / LOCK).unlink(missing_ok=True)


def _replace_store(partial: Path, out: Path) -> None:
    # Aside is inside a folder that is new and ours, because any fixed name may be somebody's.
    ours = Path(tempfile.mkdtemp(prefix=f".{out.name[:40]}.old-", dir=out.parent))
    aside = ours / out.name
    out.rename(aside)
    try:
        partial.rename(out)
    except OSError:
        aside.rename(out)
        ours.rmdir()
        raise
    shutil.rmtree(ours)


def _open_at(path: Path, length: int) -> IO[bytes]:
    """Open for appending after exactly `length` bytes."""
    file = path.open("r+b" if path.exists() else "w+b")
    file.truncate(length)
    file.seek(length)
    return file


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1
