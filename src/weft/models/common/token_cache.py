"""Sentences tokenised once, and which sentence of a window is read: what all predictors of text share."""

from __future__ import annotations

from collections.abc import Sequence

from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Window


class TokenCache:
    """The token ids of the last sentences: one sentence is a context, a target, and counted, for every network.

    Args:
        tokenizer: Makes them.
        limit: How many sentences are remembered.
    """

    def __init__(self, tokenizer: Tokenizer, limit: int = 4096) -> None:
        self.tokenizer, self.limit = tokenizer, limit
        self._known: dict[str, list[int]] = {}

    def __call__(self, sentences: Sequence[str]) -> list[list[int]]:
        """One list of ids a sentence."""
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._known]
        found = {**self._known, **dict(zip(new, self.tokenizer.encode_batch(new), strict=True))} if new else self._known
        self._known = found if len(found) <= self.limit else {}
        return [found[sentence] for sentence in sentences]

    def to_read(self, sentences: Sequence[str]) -> list[list[int]]:
        """Ids as an encoder reads them: an empty sentence is the end of one that has nothing before it."""
        return [ids or [self.tokenizer.eos_id] for ids in self(sentences)]


def nearest(window: Window) -> str | None:
    """The context a first-order model reads: the last sentence, or None where there is none.

    Example:
        >>> nearest(Window(("One.", "Two."), "Three."))
        'Two.'
    """
    return window.context[-1] if window.context else None
