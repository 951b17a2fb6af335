"""A cache of token ids, and the sentence of a window that first-order models read."""

from __future__ import annotations

from collections.abc import Sequence

from weft.corpora.text.text_limits import readable_sentence
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Window


class TokenCache:
    """A cache of token ids, because all networks read the same sentences, as contexts and as targets.

    A very long sentence has the ids of its beginning (`weft.corpora.text.text_limits`).

    Args:
        tokenizer: The tokenizer.
        limit: Number of sentences that are kept.
        tokens: Number of tokens that are kept: 5 MiB of them by default, for sentences may be long.
    """

    def __init__(self, tokenizer: Tokenizer, limit: int = 4096, tokens: int = 2**17) -> None:
        self.tokenizer, self.limit, self.tokens = tokenizer, limit, tokens
        self._cache: dict[str, list[int]] = {}

    def __call__(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return one list of ids per sentence."""
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._cache]
        encoded = self.tokenizer.encode_batch([readable_sentence(sentence) for sentence in new]) if new else []
        found = {**self._cache, **dict(zip(new, encoded, strict=True))} if new else self._cache
        if new:
            small = len(found) <= self.limit and sum(map(len, found.values())) <= self.tokens
            self._cache = found if small else {}
        return [found[sentence] for sentence in sentences]

    def counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included."""
        return [len(ids) + 1 for ids in self(sentences)]

    def to_read(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return ids as an encoder reads them: an empty sentence is read as its end token."""
        return [ids or [self.tokenizer.eos_id] for ids in self(sentences)]


def nearest(window: Window) -> str | None:
    """Return the context that a first-order model reads: the last sentence, or None.

    Example:
        >>> nearest(Window(("One.", "Two."), "Three."))
        'Two.'
    """
    return window.context[-1] if window.context else None
