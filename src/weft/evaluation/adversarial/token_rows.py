"""Sentences as rows of token ids in one flat array, without a Python object for each of half a million rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.text.tokenizers import Tokenizer

Integers = npt.NDArray[np.int64]
TEXTS_AT_ONCE = 65536  # texts tokenised in one call


@dataclass(frozen=True)
class TokenRows:
    """Rows of token ids.

    Example:
        >>> rows = TokenRows.of([[5], [6, 7]])
        >>> rows.padded(np.array([1, 0]), 0)[0].tolist()
        [[6, 7], [5, 0]]
    """

    flat: npt.NDArray[np.int32]  # all ids, one row after the other
    offsets: Integers  # [rows + 1] the start of each row

    def __post_init__(self) -> None:
        for name in ("flat", "offsets"):  # shared, so they must not change
            fixed = getattr(self, name).view()
            fixed.flags.writeable = False
            object.__setattr__(self, name, fixed)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @staticmethod
    def of(rows: Sequence[Sequence[int]]) -> TokenRows:
        """Return lists of ids as rows."""
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)), out=offsets[1:])
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(offsets[-1]))
        return TokenRows(flat, offsets)

    @staticmethod
    def joined(parts: Sequence[TokenRows]) -> TokenRows:
        """Return several sets of rows, one after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        return TokenRows(np.concatenate([part.flat for part in parts]), np.concatenate([[0], np.cumsum(lengths)]))

    @property
    def lengths(self) -> Integers:
        """[rows]."""
        lengths: Integers = np.diff(self.offsets)
        return lengths

    def row(self, number: int) -> list[int]:
        """Return the ids of one row."""
        found: list[int] = self.flat[self.offsets[number] : self.offsets[number + 1]].tolist()
        return found

    def after(self, start: int) -> TokenRows:
        """Return the rows from a number on."""
        return TokenRows(self.flat[self.offsets[start] :], self.offsets[start:] - self.offsets[start])

    def padded(self, numbers: npt.NDArray[Any], pad: int) -> tuple[Integers, Integers]:
        """Return some rows as a matrix [rows, longest], and their lengths [rows]; an empty row holds one ``pad``."""
        lengths = self.offsets[numbers + 1] - self.offsets[numbers]  # [rows]
        width = max(1, int(lengths.max())) if len(numbers) else 1
        time = np.arange(width)  # [width]
        real = time < lengths[:, None]  # [rows, width]
        places = np.where(real, self.offsets[numbers][:, None] + time, 0)
        matrix = np.where(real, self.flat[places], pad) if len(self.flat) else np.full(real.shape, pad)
        return matrix.astype(np.int64), np.maximum(lengths, 1)


def single_spaced(text: str) -> str:
    """Return a text with single spaces, as both sides of the comparison have.

    Example:
        >>> single_spaced(" A  cat sat. ")
        'A cat sat.'
    """
    return " ".join(text.split())


def canonical_rows(texts: Iterable[str], tokenizer: Tokenizer, *, longest: int) -> TokenRows:
    """Return the ids that evaluators read, computed in the same way for human and machine sentences.

    Runs of spaces become one space. Ids are cut at ``longest``, decoded and tokenised again, so that the ids of every
    sentence are those of a plain text that was tokenised once.

    Example:
        >>> from weft.corpora.text.tokenizers import BpeTokenizer
        >>> tokenizer = BpeTokenizer.train(["a cat"], vocabulary_size=259)
        >>> rows = canonical_rows(["a  cat", "a cat, a dog"], tokenizer, longest=6)
        >>> [tokenizer.decode(rows.row(number)) for number in range(2)]
        ['a cat', 'a cat']
    """
    waiting = [single_spaced(text) for text in texts]
    parts = [TokenRows.of([])]
    for start in range(0, len(waiting), TEXTS_AT_ONCE):
        rows = tokenizer.encode_batch(waiting[start : start + TEXTS_AT_ONCE])
        long = [number for number, ids in enumerate(rows) if len(ids) > longest]
        cut = [single_spaced(tokenizer.decode(rows[number][:longest]).replace("\ufffd", "")) for number in long]
        for number, ids in zip(long, tokenizer.encode_batch(cut), strict=True):
            rows[number] = ids[:longest]
        parts.append(TokenRows.of(rows))
    return TokenRows.joined(parts)
