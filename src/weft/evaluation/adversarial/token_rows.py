"""Sentences as rows of token ids, one after the other in one array: half a million of them cost no Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.text.tokenizers import Tokenizer

Whole = npt.NDArray[np.int64]
TEXTS_AT_ONCE = 65536  # tokenised in one call


@dataclass(frozen=True)
class IdRows:
    """Rows of ids.

    Attributes:
        flat: All ids.
        offsets: [rows + 1], where each row begins.

    Example:
        >>> rows = IdRows.of([[5], [6, 7]])
        >>> rows.padded(np.array([1, 0]), 0)[0].tolist()
        [[6, 7], [5, 0]]
    """

    flat: npt.NDArray[np.int32]
    offsets: Whole

    def __post_init__(self) -> None:
        for name in ("flat", "offsets"):  # many hands read the same rows: none of them may change what others read
            fixed = getattr(self, name).view()
            fixed.flags.writeable = False
            object.__setattr__(self, name, fixed)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @staticmethod
    def of(rows: Sequence[Sequence[int]]) -> IdRows:
        """Lists of ids as rows."""
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)), out=offsets[1:])
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(offsets[-1]))
        return IdRows(flat, offsets)

    @staticmethod
    def joined(parts: Sequence[IdRows]) -> IdRows:
        """Several lots of rows, one after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        return IdRows(np.concatenate([part.flat for part in parts]), np.concatenate([[0], np.cumsum(lengths)]))

    @property
    def lengths(self) -> Whole:
        """[rows]."""
        lengths: Whole = np.diff(self.offsets)
        return lengths

    def row(self, number: int) -> list[int]:
        """The ids of one row."""
        found: list[int] = self.flat[self.offsets[number] : self.offsets[number + 1]].tolist()
        return found

    def padded(self, numbers: npt.NDArray[Any], pad: int) -> tuple[Whole, Whole]:
        """Some rows as a matrix [rows, longest], and their lengths [rows]; a row without ids holds one ``pad``."""
        lengths = self.offsets[numbers + 1] - self.offsets[numbers]  # [rows]
        width = max(1, int(lengths.max())) if len(numbers) else 1
        time = np.arange(width)  # [width]
        real = time < lengths[:, None]  # [rows, width]
        places = np.where(real, self.offsets[numbers][:, None] + time, 0)
        matrix = np.where(real, self.flat[places], pad) if len(self.flat) else np.full(real.shape, pad)
        return matrix.astype(np.int64), np.maximum(lengths, 1)


def squashed(text: str) -> str:
    """A text with single spaces: what both sides of the comparison look like.

    Example:
        >>> squashed(" A  cat sat. ")
        'A cat sat.'
    """
    return " ".join(text.split())


def canonical_rows(texts: Iterable[str], tokenizer: Tokenizer, *, longest: int) -> IdRows:
    """The one way from text to what an evaluator reads, for human and machine sentences alike.

    Spaces are squashed, ids are cut at ``longest``, turned back into text and tokenised again: whatever a sentence has
    been through, its ids are those of a plain text that was tokenised once.

    Example:
        >>> from weft.corpora.text.tokenizers import BpeTokenizer
        >>> tokenizer = BpeTokenizer.train(["a cat"], vocabulary_size=259)
        >>> rows = canonical_rows(["a  cat", "a cat, a dog"], tokenizer, longest=6)
        >>> [tokenizer.decode(rows.row(number)) for number in range(2)]
        ['a cat', 'a cat']
    """
    waiting = [squashed(text) for text in texts]
    parts = [IdRows.of([])]
    for start in range(0, len(waiting), TEXTS_AT_ONCE):
        rows = tokenizer.encode_batch(waiting[start : start + TEXTS_AT_ONCE])
        long = [number for number, ids in enumerate(rows) if len(ids) > longest]
        cut = [squashed(tokenizer.decode(rows[number][:longest]).replace("\ufffd", "")) for number in long]
        for number, ids in zip(long, tokenizer.encode_batch(cut), strict=True):
            rows[number] = ids[:longest]
        parts.append(IdRows.of(rows))
    return IdRows.joined(parts)
