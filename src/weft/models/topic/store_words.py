"""Counts of the words of a token store's sentences, computed without decoding each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import BpeTokenizer
from weft.models.common.bag_of_words import Bags, Vocabulary, make_bags

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[Any]
KEY_BITS = 62
CACHE_LIMIT = 2**19  # cached stretches, about 100 MB; the cache is emptied when it is full
BETWEEN = frozenset(number for number in range(128) if not (chr(number).isalnum() or chr(number) == "_"))
SIGMA = "Σ".encode()  # the only letter whose lower case depends on its neighbours, even across punctuation


class StoreWords:
    """Counts the known words of sentences from their token ids.

    Args:
        store: The token store.
        vocabulary: The known words.
    """

    def __init__(self, store: TokenStore, vocabulary: Vocabulary) -> None:
        self.store, self.vocabulary, self.tokenizer = store, vocabulary, store.tokenizer()
        self._stretches = Stretches(self.tokenizer, vocabulary) if isinstance(self.tokenizer, BpeTokenizer) else None

    def bags(self, first: int, last: int) -> Bags:
        """Return the word counts of the sentences from ``first`` to before ``last``, as one document."""
        if self._stretches is None:  # a tokenizer of words joins text by rules over several words
            texts = [self.tokenizer.decode(self.store.sentence(number).tolist()) for number in range(first, last)]
            return self.vocabulary.bags([texts])
        offsets = np.asarray(self.store.sentence_offsets[first : last + 1])  # [sentences + 1]
        ids = np.asarray(self.store.ids[offsets[0] : offsets[-1]])  # [tokens]
        numbers, ends = self._stretches.numbers(ids, offsets - offsets[0])
        return make_bags(numbers, ends, np.array([0, last - first]), len(self.vocabulary.words))


class WordNumbers(NamedTuple):
    """Numbers of the words of several stretches, as one flat sequence, and the number of words of each stretch."""

    flat: Whole  # [words]
    counts: Whole  # [stretches]


class Stretches:
    """Maps the ids of a text to the numbers of its words, by stretches of whole words.

    A text can be cut at any ASCII space or punctuation, because no word and no UTF-8 character crosses it. Most
    stretches are then one piece, whose words are computed in advance. Stretches of several pieces repeat, and each is
    decoded once.

    Args:
        tokenizer: The tokenizer of the ids.
        vocabulary: The known words.
    """

    def __init__(self, tokenizer: BpeTokenizer, vocabulary: Vocabulary) -> None:
        pieces = tokenizer.pieces()
        self.vocabulary = vocabulary
        self._spelled = [b"", *pieces]  # by id plus one, so that 0 is no piece
        self._spaced = np.array([piece[:1] == b" " for piece in pieces])  # [pieces]
        self._opens = np.array([piece[:1] != b"" and piece[0] in BETWEEN for piece in pieces])
        self._closes = np.array([piece[:1] != b"" and piece[-1] in BETWEEN for piece in pieces])
        self._sigma = np.array([SIGMA in piece or piece.endswith(SIGMA[:1]) for piece in pieces])
        self._single = self._gathered([self._words(piece) for piece in pieces])
        self._bits = len(pieces).bit_length()  # of an id plus one
        self._cache: dict[int | bytes, tuple[int, ...]] = {}

    def numbers(self, ids: Ids, offsets: Whole) -> tuple[Whole, Whole]:
        """Return the words of sentences.

        Args:
            ids: Token ids of all sentences: [tokens].
            offsets: First token of each sentence: [sentences + 1].

        Returns:
            Numbers of words, [words], and the offsets of sentences among them, [sentences + 1].
        """
        firsts = np.flatnonzero(self._cuts(ids, offsets))  # [stretches]
        lengths = np.diff(firsts, append=len(ids))
        which = ids[firsts].astype(np.int64)  # [stretches], number of its only piece, or of a stretch of several pieces
        several = np.flatnonzero(lengths > 1)
        more, which[several] = self._of_several(ids, firsts[several], lengths[several])
        which[several] += len(self._single.counts)
        flat, counts = (np.concatenate(pair) for pair in zip(self._single, more, strict=True))
        each = counts[which]  # [stretches], number of words
        before = np.concatenate([[0], np.cumsum(each)])  # [stretches + 1]
        starts = (np.cumsum(counts) - counts)[which]  # [stretches], position of its words in `flat`
        places = np.arange(before[-1]) + np.repeat(starts - before[:-1], each)  # [words]
        return flat[places], before[np.searchsorted(firsts, offsets)]

    def _cuts(self, ids: Ids, offsets: Whole) -> Flags:
        """Return whether a stretch begins at each token: [tokens]."""
        cuts = self._opens[ids]
        cuts[1:] |= self._closes[ids[:-1]]
        sigmas = np.flatnonzero(self._sigma[ids])
        for sentence in np.unique(np.searchsorted(offsets, sigmas, side="right") - 1):
            # Lower-casing a sigma depends on letters beyond a full stop or an apostrophe, but not beyond a space.
            rows = slice(offsets[sentence], offsets[sentence + 1])
            cuts[rows] = self._spaced[ids[rows]]
        cuts[offsets[:-1][offsets[:-1] < len(ids)]] = True
        return cuts

    def _of_several(self, ids: Ids, firsts: Whole, lengths: Whole) -> tuple[WordNumbers, Whole]:
        """Return the words of distinct stretches of several pieces, and the number of each stretch among them."""
        if len(self._cache) > CACHE_LIMIT:
            self._cache = {}
        most = KEY_BITS // self._bits  # number of pieces that fit one key
        shifts = np.arange(most) * self._bits
        keys = np.zeros(len(firsts), dtype=np.int64)  # [stretches]
        for place, shift in enumerate(shifts):
            reaching = np.flatnonzero((lengths > place) & (lengths <= most))
            keys[reaching] |= (ids[firsts[reaching] + place].astype(np.int64) + 1) << shift
        distinct, which = np.unique(keys, return_inverse=True)
        names: list[int | bytes] = distinct.tolist()
        rows = (distinct[:, None] >> shifts) & ((1 << self._bits) - 1)  # [distinct, most], ids plus one
        new = [number for number, name in enumerate(names) if name not in self._cache]
        self._learn([names[number] for number in new], rows[new].tolist())
        longer: dict[bytes, int] = {}  # longer stretches, by their bytes
        for place in np.flatnonzero(lengths > most).tolist():
            name = ids[firsts[place] : firsts[place] + lengths[place]].tobytes()
            which[place] = len(names) + longer.setdefault(name, len(longer))
        unknown = [name for name in longer if name not in self._cache]
        self._learn(unknown, [(np.frombuffer(name, ids.dtype).astype(np.int64) + 1).tolist() for name in unknown])
        return self._gathered([self._cache[name] for name in (*names, *longer)]), which

    def _learn(self, names: Sequence[int | bytes], rows: Sequence[Sequence[int]]) -> None:
        """Decode stretches, rows of ids plus one, and cache their words."""
        for name, row in zip(names, rows, strict=True):
            self._cache[name] = self._words(b"".join([self._spelled[number] for number in row]))

    def _words(self, spelled: bytes) -> tuple[int, ...]:
        return tuple(self.vocabulary.numbers(spelled.decode("utf-8", "replace")))

    def _gathered(self, words: Sequence[tuple[int, ...]]) -> WordNumbers:
        counts = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        return WordNumbers(np.fromiter(chain.from_iterable(words), dtype=np.int64, count=int(counts.sum())), counts)
