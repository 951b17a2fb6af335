"""Word pieces: the tokenizer of BERT-like encoders, read from their ``tokenizer.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from weft.corpora.text.tokenizer_files import load_backend, not_a_tokenizer, parse_json, without_surrogates
from weft.corpora.text.tokenizers import Tokenizer

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
UNUSED_STEPS = ("truncation", "padding", "post_processor")  # weft cuts, pads and frames sentences itself


class WordPieceTokenizer(Tokenizer):
    """Word pieces of a BERT-like encoder; an unknown character makes its word ``[UNK]``.

    Reference: Schuster and Nakajima 2012; Devlin et al. 2019. The start and the end of a sentence are ``[CLS]`` and
    ``[SEP]``; their names in a text are encoded as plain characters.

    Args:
        text: The contents of a ``tokenizer.json`` with a WordPiece model.
        source: The name of the file in messages.
        body: The same contents as an object, if they have been parsed already.

    Raises:
        ModelError: The text is not a WordPiece tokenizer with the special tokens of BERT.

    Example:
        >>> pieces = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "cat": 4, "##s": 5}
        >>> model = {"type": "WordPiece", "vocab": pieces, "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
        >>> model |= {"max_input_chars_per_word": 100}
        >>> body = {"model": model, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}}
        >>> WordPieceTokenizer(json.dumps(body)).encode_batch(["Cats dogs"])
        [[4, 5, 1]]
    """

    name = "wordpiece"

    def __init__(self, text: str, *, source: str = "tokenizer.json", body: dict[str, Any] | None = None) -> None:
        body = body if body is not None else parse_json(text, source)
        vocabulary = checked_vocabulary(body, source)
        self.pad_id, self.bos_id, self.eos_id, self.unk_id = (vocabulary[name] for name in SPECIAL)
        self._text = json.dumps({**body, **dict.fromkeys(UNUSED_STEPS)}, ensure_ascii=False)
        self._backend = load_backend(self._text, source)
        self._backend.encode_special_tokens = True
        self.vocabulary_size: int = self._backend.get_vocab_size()

    def encode_batch(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the ids of each sentence, without special tokens."""
        clean = [without_surrogates(sentence) for sentence in sentences]
        return [encoding.ids for encoding in self._backend.encode_batch_fast(clean, add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return readable text; special tokens are omitted."""
        text: str = self._backend.decode([int(i) for i in ids], skip_special_tokens=True)
        return text

    def to_text(self) -> str:
        """Return the contents of the saved file, which the `tokenizers` library can load."""
        return self._text


def is_word_pieces(body: dict[str, Any]) -> bool:
    """Return whether a tokenizer file has a WordPiece model."""
    model = body.get("model")
    return isinstance(model, dict) and model.get("type") == "WordPiece"


def checked_vocabulary(body: dict[str, Any], source: str) -> dict[str, int]:
    """Return the ids of all pieces.

    Raises:
        ModelError: The file has no WordPiece model, a special token is missing, or ids have gaps or repeats.
    """
    vocabulary = body["model"].get("vocab") if is_word_pieces(body) else None
    if not isinstance(vocabulary, dict) or any(name not in vocabulary for name in SPECIAL):
        raise not_a_tokenizer(source, f"no WordPiece model with {', '.join(SPECIAL)}")
    if set(vocabulary.values()) != set(range(len(vocabulary))):
        raise not_a_tokenizer(source, "ids with gaps or repeats")
    return vocabulary
