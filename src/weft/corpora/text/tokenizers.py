"""Tokenizers: byte-level BPE or words.

A tokenizer is one JSON file. Special tokens have the lowest ids and are never part of a sentence's ids; the caller adds
a start or an end. The fingerprint is the SHA-256 of the saved file, so that ``sha256sum tokenizer.json`` shows which
tokenizer a store or a model was made with.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from weft.corpora.text.detokenize import join_words
from weft.corpora.text.tokenizer_files import (
    BOS,
    EOS,
    PAD,
    UNK,
    check_bpe,
    load_backend,
    parse_json,
    piece_bytes,
    read_text,
    without_surrogates,
    word_counts,
)
from weft.corpora.text.words import words
from weft.errors import ConfigError, check_known
from weft.io.atomic_files import write_atomically

DEFAULT_SIZE = 16_384
LARGEST_SIZE = 1_000_000
SMALLEST_BPE = 259  # three special tokens and 256 bytes
WORDS_FORMAT = "weft-words"
KINDS = ("bpe", "words")


class Tokenizer(ABC):
    """The base of all kinds of tokenizer.

    Attributes:
        name: ``bpe``, ``words`` or ``wordpiece``.
        vocabulary_size: Number of ids, special tokens included.
        pad_id: The id of padding.
        bos_id: The id of the start of a sentence.
        eos_id: The id of the end of a sentence.
        unk_id: The id of unknown words; None if every text can be encoded.
    """

    name: str
    vocabulary_size: int
    pad_id, bos_id, eos_id = 0, 1, 2
    unk_id: int | None = None

    @abstractmethod
    def encode_batch(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without special tokens."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; special tokens are omitted."""

    @abstractmethod
    def to_text(self) -> str:
        """Return the contents of the saved file."""

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the saved file."""
        return hashlib.sha256(self.to_text().encode("utf-8")).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as one JSON file, without newline translation; it is replaced when it is complete."""
        with write_atomically(Path(path)) as handle:
            handle.write(self.to_text().encode("utf-8"))


class BpeTokenizer(Tokenizer):
    """Byte-level byte-pair encoding: every text can be encoded, and decoding gives it back unchanged.

    A space is added before the first word, so that a word has the same ids at the start of a sentence as inside it;
    `decode` removes it. The name of a special token in a text is encoded as plain characters.

    Args:
        text: The contents of a ``tokenizer.json`` that `BpeTokenizer` wrote.
        source: The name of the file in messages.
        body: The same contents as an object, if they have been parsed already.

    Example:
        >>> tokenizer = BpeTokenizer.train(["A cat sat.", "A cat slept."], vocabulary_size=270)
        >>> tokenizer.decode(tokenizer.encode_batch(["A cat sat."])[0])
        'A cat sat.'
    """

    name = "bpe"

    def __init__(self, text: str, *, source: str = "tokenizer.json", body: dict[str, Any] | None = None) -> None:
        check_bpe(body if body is not None else parse_json(text, source), source)
        self._text = text
        self._backend = load_backend(text, source)
        # Otherwise "</s>" in a text would become the id of the end of a sentence.
        self._backend.encode_special_tokens = True
        self.vocabulary_size: int = self._backend.get_vocab_size()

    @classmethod
    def train(cls, sentences: Iterable[str], *, vocabulary_size: int = DEFAULT_SIZE) -> BpeTokenizer:
        """Train a tokenizer; the same sentences give the same file.

        Raises:
            ConfigError: The size is below 259 or above a million.
        """
        from tokenizers import Tokenizer as Backend
        from tokenizers import decoders, models, pre_tokenizers, trainers

        _check_size(vocabulary_size, SMALLEST_BPE)
        backend = Backend(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary_size,
            show_progress=False,
            special_tokens=[PAD, BOS, EOS],
            # Sorted, because the library returns the 256 byte letters in the order of a hash table.
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        )
        backend.train_from_iterator(map(without_surrogates, sentences), trainer)
        return cls(backend.to_str())

    def encode_batch(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without special tokens."""
        batch = list(sentences)
        try:
            encodings = self._backend.encode_batch_fast(batch, add_special_tokens=False)
        except TypeError:  # a lone surrogate, which JSON can contain and UTF-8 cannot
            clean = [without_surrogates(sentence) for sentence in batch]
            encodings = self._backend.encode_batch_fast(clean, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; special tokens are omitted."""
        text: str = self._backend.decode([int(i) for i in ids], skip_special_tokens=True)
        return text.removeprefix(" ")

    def pieces(self) -> list[bytes]:
        """Return the bytes of every id, which `decode` concatenates; special tokens have none.

        Example:
            >>> BpeTokenizer.train(["a cat"], vocabulary_size=259).pieces()[2:5]
            [b'', b'!', b'"']
        """
        names = [self._backend.id_to_token(number) or "" for number in range(self.vocabulary_size)]
        found = piece_bytes(names)
        for number in (self.pad_id, self.bos_id, self.eos_id):
            found[number] = b""
        return found

    def to_text(self) -> str:
        """Return the contents of the saved file, which the `tokenizers` library can load."""
        return self._text


class WordTokenizer(Tokenizer):
    """Lower-cased words and punctuation, with ``<unk>`` for rare words.

    Args:
        counts: Every word with its count, most frequent first; ids have this order, after the special tokens.

    Example:
        >>> tokenizer = WordTokenizer.train(["A cat sat.", "A cat slept."], min_count=2)
        >>> tokenizer.decode(tokenizer.encode_batch(["A cat barked."])[0])
        'a cat <unk>.'
    """

    name = "words"
    unk_id = 3

    def __init__(self, counts: Sequence[tuple[str, int]]) -> None:
        self._counts = tuple(counts)
        self._words = (PAD, BOS, EOS, UNK, *(word for word, _ in self._counts))
        # Words are \w+ or one character, so no text contains a special token.
        self._ids = {word: i for i, word in enumerate(self._words)}
        self.vocabulary_size = len(self._words)

    @classmethod
    def train(
        cls, sentences: Iterable[str], *, vocabulary_size: int = DEFAULT_SIZE, min_count: int = 2
    ) -> WordTokenizer:
        """Train a tokenizer with the most frequent words; words with equal counts are in alphabetical order.

        Raises:
            ConfigError: The size is below 5 or above a million.
        """
        _check_size(vocabulary_size, 5)
        counter: Counter[str] = Counter()
        for sentence in sentences:
            counter.update(words(without_surrogates(sentence)))
        ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
        frequent = ((word, count) for word, count in ranked if count >= min_count)
        return cls(list(islice(frequent, vocabulary_size - 4)))

    def encode_batch(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without special tokens."""
        find = self._ids.get
        return [[find(word, 3) for word in words(sentence)] for sentence in sentences]

    def decode(self, ids: Sequence[int]) -> str:
        """Return readable text; special tokens except ``<unk>`` are omitted."""
        return join_words([self._words[int(i)] for i in ids if 3 <= int(i) < self.vocabulary_size])

    def to_text(self) -> str:
        """Return the contents of the saved file: the words and their counts."""
        pieces, counts = [word for word, _ in self._counts], [count for _, count in self._counts]
        body = {"format": WORDS_FORMAT, "version": 1, "words": pieces, "counts": counts}
        return json.dumps(body, ensure_ascii=False)


def train_tokenizer(kind: str, sentences: Iterable[str], *, vocabulary_size: int = DEFAULT_SIZE) -> Tokenizer:
    """Return a trained tokenizer of a kind, ``bpe`` or ``words``.

    Raises:
        ConfigError: The kind is unknown.
    """
    check_known("kind of tokenizer", kind, KINDS)
    trained: type[BpeTokenizer | WordTokenizer] = BpeTokenizer if kind == "bpe" else WordTokenizer
    return trained.train(sentences, vocabulary_size=vocabulary_size)


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Return a saved tokenizer of any kind.

    Raises:
        ModelError: The file is missing, or is not a tokenizer of weft.
    """
    return tokenizer_from_text(read_text(Path(path)), source=str(path))


def tokenizer_from_text(text: str, *, source: str = "tokenizer.json") -> Tokenizer:
    """Return the tokenizer with the given file contents; `source` is the name of the file in messages.

    Raises:
        ModelError: The text is not a tokenizer of weft.
    """
    body = parse_json(text, source)
    if body.get("format") == WORDS_FORMAT:
        return WordTokenizer(word_counts(body, source))
    from weft.corpora.text.word_pieces import WordPieceTokenizer, is_word_pieces  # it imports this module

    kind = WordPieceTokenizer if is_word_pieces(body) else BpeTokenizer
    return kind(text, source=source, body=body)


def _check_size(size: int, smallest: int) -> None:
    if not smallest <= size <= LARGEST_SIZE:
        raise ConfigError(
            "vocabulary size out of range",
            seen=size,
            allowed=f"{smallest} to {LARGEST_SIZE}",
            next_step=f"use {DEFAULT_SIZE}",
        )
