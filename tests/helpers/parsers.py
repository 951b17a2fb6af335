"""Parsers for tests that read labels and tags from the sentence itself, without a spaCy pipeline."""

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
    """Return the parse that is written in a marked sentence."""
    parts = [[*word.split("/"), "dep", "NN"][:3] if "/" not in word else _padded(word) for word in sentence.split()]
    words, labels, tags = (tuple(column) for column in zip(*parts, strict=True)) if parts else ((), (), ())
    return ParsedSentence(words, tags, (0,) * len(words), labels)


def _padded(word: str) -> list[str]:
    parts = word.split("/")
    return parts if len(parts) == 3 else [*parts, "NN"]
