"""The token store: a corpus as token ids in memory-mapped files.

A store is a folder of flat little-endian arrays, which any language can read::

    store.json       format, dtype, counts, fingerprints, options
    tokenizer.json   the tokenizer of the ids
    ids.bin          all token ids (uint16 if the vocabulary fits, else uint32)
    sentences.bin    int64: start of each sentence in ids, and the end
    paragraphs.bin   int64: start of each paragraph in sentences, and the end
    articles.bin     int64: start of each article in paragraphs, and the end
    surprise.bin     optional, float16: mean log-likelihood per token of each sentence under a language model

`weft.corpora.store.prepare` writes stores; this module reads them.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.errors import CorpusError

if TYPE_CHECKING:
    from weft.corpora.text.tokenizers import Tokenizer

FORMAT_VERSION = 1
DTYPES = ("uint16", "uint32")
LEVELS = ("sentences", "paragraphs", "articles")
SURPRISE = "surprise"
LARGEST_HEADER = 64 * 2**20
_CHECK_ROWS = 2**20

Ids = NDArray[np.unsignedinteger[Any]]
Offsets = NDArray[np.int64]


def dtype_for(vocabulary_size: int) -> str:
    """Return the smallest dtype that holds all ids."""
    return "uint16" if vocabulary_size <= 2**16 else "uint32"


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The contents of ``store.json``.

    Attributes:
        dtype: ``uint16`` or ``uint32``.
        counts: Numbers of ``tokens``, ``sentences``, ``paragraphs`` and ``articles``, and of ``dropped_paragraphs``,
            which were omitted because they overlap with held-out text.
        vocabulary_size: The largest possible id plus one.
        tokenizer: The SHA-256 of ``tokenizer.json``.
        fingerprint: A hash of inputs, tokenizer and options; stores with the same fingerprint are equal.
        body: All fields of ``store.json``.
    """

    dtype: str
    counts: dict[str, int]
    vocabulary_size: int
    tokenizer: str
    fingerprint: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SurpriseInfo:
    """The entry ``surprise`` of ``store.json``, about the values in ``surprise.bin``.

    Attributes:
        teacher: A hash of the language model and of how it reads texts.
        name: The name of its folder or file.
        context: Number of tokens that it reads at once.
        known: Number of sentences with a value.
        mean: Mean of the known values, in nats per token.
        deviation: Their standard deviation.
    """

    teacher: str
    name: str
    context: int
    known: int
    mean: float
    deviation: float


class TokenStore:
    """A token store, opened for reading. Opening takes milliseconds for any size.

    Args:
        folder: A folder that `prepare` wrote.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from weft.corpora.store.prepare import prepare
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "cats.txt").write_text("A cat sat. It slept.")
        ...     store = prepare([folder + "/cats.txt"], folder + "/cats", tokenizer_kind="words")
        ...     store.sentence_count
        2

    Raises:
        CorpusError: The folder is not a store, was written by a newer weft, or is damaged.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.info = read_info(self.folder)
        _check_tokenizer(self.folder, self.info)
        counts = self.info.counts
        self.ids: Ids = _map(self.folder / "ids.bin", self.info.dtype, counts["tokens"])  # [tokens]
        self.sentence_offsets = self._offsets("sentences", counts["tokens"])  # [sentences + 1]
        self.paragraph_offsets = self._offsets("paragraphs", counts["sentences"])  # [paragraphs + 1]
        self.article_offsets = self._offsets("articles", counts["paragraphs"])  # [articles + 1]
        self.surprise_info = read_surprise_info(self.folder / "store.json", self.info)
        self._surprise: NDArray[np.float16] | None = None  # [sentences]
        if self.surprise_info is not None:
            self._surprise = _map(self.folder / f"{SURPRISE}.bin", "float16", counts["sentences"])

    @property
    def sentence_count(self) -> int:
        """Number of sentences."""
        return self.info.counts["sentences"]

    @property
    def paragraph_count(self) -> int:
        """Number of paragraphs."""
        return self.info.counts["paragraphs"]

    @property
    def contents(self) -> str:
        """A hash of the tokens, and that of the language model behind the surprise values if there are any."""
        taught = self.surprise_info
        return self.info.fingerprint + (f"+{taught.teacher}" if taught is not None else "")

    def sentence(self, number: int) -> Ids:
        """Return the ids of a sentence, a view of the file."""
        if not 0 <= number < self.sentence_count:
            raise IndexError(f"sentence numbers go from 0 to {self.sentence_count - 1}, not {number}")
        return self.ids[self.sentence_offsets[number] : self.sentence_offsets[number + 1]]  # [time]

    def paragraph(self, number: int) -> range:
        """Return the numbers of the sentences of a paragraph."""
        if not 0 <= number < self.paragraph_count:
            raise IndexError(f"paragraph numbers go from 0 to {self.paragraph_count - 1}, not {number}")
        return range(int(self.paragraph_offsets[number]), int(self.paragraph_offsets[number + 1]))

    def lengths(self) -> Offsets:
        """Return the number of tokens of every sentence."""
        return np.diff(self.sentence_offsets)  # [sentences]

    def article_inputs(self) -> list[tuple[str, int]]:
        """Return the name and the number of articles of each input, in store order.

        A store of an earlier weft, which does not record the inputs of its articles, has one input without a name.
        """
        counts = self.info.body.get("articles_by_input", [])
        names = [str(one.get("name", "")) for one in self.info.body.get("inputs", [])]
        if len(counts) > len(names) or sum(counts) != self.info.counts["articles"]:
            return [("", self.info.counts["articles"])]
        return list(zip(names, counts, strict=False))

    def gather(self, numbers: ArrayLike) -> tuple[Ids, Offsets]:
        """Return the concatenated ids of many sentences, and the start of each (and the end)."""
        chosen = self._checked(numbers)
        starts = self.sentence_offsets[chosen]  # [batch]
        lengths = self.sentence_offsets[chosen + 1] - starts  # [batch]
        offsets = np.zeros(len(chosen) + 1, dtype=np.int64)  # [batch + 1]
        np.cumsum(lengths, out=offsets[1:])
        shift = np.repeat(starts - offsets[:-1], lengths)  # [tokens of the batch]
        return self.ids[np.arange(offsets[-1]) + shift], offsets

    def surprise(self, numbers: ArrayLike) -> NDArray[np.float32]:
        """Return the mean log-likelihood per token of sentences under a language model, in nats; NaN where unknown.

        All are unknown unless ``tools/teach_surprise.py`` has written the values.
        """
        chosen = self._checked(numbers)
        if self._surprise is None:
            return np.full(chosen.shape, np.nan, dtype=np.float32)
        return self._surprise[chosen].astype(np.float32)

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer of the ids."""
        from weft.corpora.text.tokenizers import load_tokenizer

        return load_tokenizer(self.folder / "tokenizer.json")

    def _checked(self, numbers: ArrayLike) -> Offsets:
        """Return sentence numbers as an array, [batch]; raise IndexError if one is out of range."""
        chosen = np.asarray(numbers, dtype=np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.sentence_count):
            raise IndexError(f"sentence numbers go from 0 to {self.sentence_count - 1}")
        return chosen

    def _offsets(self, level: str, end: int) -> Offsets:
        path = self.folder / f"{level}.bin"
        offsets: Offsets = _map(path, "int64", self.info.counts[level] + 1)
        if offsets[0] != 0 or offsets[-1] != end:
            raise _damaged(path, f"offsets from {offsets[0]} to {offsets[-1]}", f"offsets from 0 to {end}")
        # In blocks, so that checking a large store takes little memory.
        for start in range(0, len(offsets), _CHECK_ROWS):
            if (np.diff(offsets[start : start + _CHECK_ROWS + 1]) < 0).any():
                raise _damaged(path, "decreasing offsets", "offsets that never decrease")
        return offsets


def read_info(folder: str | Path) -> StoreInfo:
    """Return the contents of ``store.json``, checked.

    Raises:
        CorpusError: The file is missing, damaged or of a newer format.
    """
    path = Path(folder) / "store.json"
    body = _read_header(path)
    _check_version(path, body)
    info = StoreInfo(
        dtype=_field(path, body, "dtype", str),
        counts=_field(path, body, "counts", dict),
        vocabulary_size=_field(path, body, "vocabulary_size", int),
        tokenizer=_field(path, body, "tokenizer", str),
        fingerprint=_field(path, body, "fingerprint", str),
        body=body,
    )
    _check_values(path, info)
    return info


def read_surprise_info(path: Path, info: StoreInfo) -> SurpriseInfo | None:
    """Return the checked entry of the surprise values, or None if the store has none."""
    body = info.body.get(SURPRISE)
    if body is None:
        return None
    try:
        found = SurpriseInfo(**body)
        numbers = (float(found.mean), float(found.deviation))
        sound = all(map(math.isfinite, numbers)) and numbers[1] >= 0 and type(found.known) is int
    except (TypeError, ValueError):
        sound = False
    if not sound or type(found.teacher) is not str:
        raise _damaged(path, f"{SURPRISE} = {body!r}"[:200], "the entry that tools/teach_surprise.py wrote")
    return found


def _check_version(path: Path, body: dict[str, Any]) -> None:
    version = _field(path, body, "format", int)
    if version > FORMAT_VERSION:
        raise CorpusError(
            f"{path.parent} was written by a newer weft ({body.get('weft')})",
            seen=f"format {version}",
            allowed=f"format {FORMAT_VERSION}",
            next_step="update weft, or prepare the corpus again",
        )
    if version != FORMAT_VERSION:
        raise _damaged(path, f"format {version}", f"format {FORMAT_VERSION}")


def _check_values(path: Path, info: StoreInfo) -> None:
    if info.dtype not in DTYPES or dtype_for(info.vocabulary_size) != info.dtype:
        raise _damaged(path, f"dtype {info.dtype}", "uint16, or uint32 for a vocabulary over 65536")
    for level in ("tokens", *LEVELS):
        count = info.counts.get(level)
        if type(count) is not int or not 0 <= count < 2**62:
            raise _damaged(path, f"{count!r} {level}", "integers of at least 0")


def _check_tokenizer(folder: Path, info: StoreInfo) -> None:
    path = folder / "tokenizer.json"
    try:
        seen = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise _damaged(path, error.strerror, "the tokenizer of the store") from None
    if seen != info.tokenizer:
        raise _damaged(path, f"sha256 {seen}", f"sha256 {info.tokenizer}")


def _read_header(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_HEADER:
            raise _damaged(path, f"{path.stat().st_size:,} bytes", f"at most {LARGEST_HEADER:,} bytes")
        body = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CorpusError(
            f"{path.parent} is not a token store",
            seen=f"{path.name}: {error.strerror}",
            allowed="a folder that `weft prepare` wrote",
            next_step="check the path, or make the store with `weft prepare`",
        ) from None
    except (ValueError, RecursionError):
        raise _damaged(path, "text that is not JSON", "the JSON that `weft prepare` wrote") from None
    if not isinstance(body, dict):
        raise _damaged(path, f"a JSON {type(body).__name__}", "a JSON object")
    return body


def _field(path: Path, body: dict[str, Any], name: str, kind: type[Any]) -> Any:
    value = body.get(name)
    if type(value) is not kind:
        raise _damaged(path, f"{name} = {value!r}", f"{name} as {kind.__name__}")
    return value


def _map(path: Path, dtype: str, count: int) -> NDArray[Any]:
    """Map a file of exactly `count` little-endian numbers; an empty file gives an empty array."""
    kind = np.dtype(dtype).newbyteorder("<")
    try:
        size = path.stat().st_size
        if size != count * kind.itemsize:
            raise _damaged(path, f"{size:,} bytes", f"{count * kind.itemsize:,} bytes")
        return np.asarray(np.memmap(path, dtype=kind, mode="r")) if count else np.empty(0, dtype=kind)
    except OSError as error:
        raise _damaged(path, error.strerror, "a file of the store") from None


def _damaged(path: Path, seen: object, allowed: str) -> CorpusError:
    return CorpusError(
        f"{path} is damaged",
        seen=seen,
        allowed=allowed,
        next_step="delete the store and run `weft prepare` again",
    )
