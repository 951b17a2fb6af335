"""Parsers for tests: sentences that say of each word what it is, so that no pipeline is needed."""

from __future__ import annotations

from collections.abc import Sequence

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.progress import Progress, silent


class MarkedParser:
    """Reads ``word/label`` and ``word/label/TAG``; a word with no tag is a noun, and all depend on the first word."""

    name = "marked"

    def __init__(self) -> None:
        self.parsed = 0

    def parse(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[ParsedSentence]:
        self.parsed += len(sentences)
        return [marked(sentence) for sentence in sentences]


def marked(sentence: str) -> ParsedSentence:
    """The parse that a marked sentence says it has."""
    parts = [[*word.split("/"), "dep", "NN"][:3] if "/" not in word else _padded(word) for word in sentence.split()]
    words, labels, tags = (tuple(column) for column in zip(*parts, strict=True)) if parts else ((), (), ())
    return ParsedSentence(words, tags, (0,) * len(words), labels)


def _padded(word: str) -> list[str]:
    parts = word.split("/")
    return parts if len(parts) == 3 else [*parts, "NN"]
