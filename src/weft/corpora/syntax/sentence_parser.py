"""Parsers as models use them: their interface, a lazy one, and the remark on texts that are not English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.text.language_detection import looks_english
from weft.document import Document, TextWarning
from weft.progress import Progress, silent

NOT_ENGLISH = TextWarning("not-english", "the text does not look English, and the parser is for English only")


class SentenceParser(Protocol):
    """Parses sentences: `weft.corpora.syntax.parser.Parser`, or an object with the same methods."""

    @property
    def name(self) -> str:
        """Name of the pipeline."""

    def parse(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[ParsedSentence]:
        """Return the parse of each sentence, in the order given."""


class LazyParser:
    """A parser that is searched for when the first sentence is parsed.

    Args:
        pipeline: The argument of `weft.corpora.syntax.parser.find_parser`.
    """

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        self.found: SentenceParser | None = None

    @property
    def name(self) -> str:
        """Name of the pipeline; empty before the first sentence is parsed."""
        return self.found.name if self.found is not None else ""

    def parse(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[ParsedSentence]:
        """Return the parse of each sentence, in the order given."""
        if self.found is None:
            from weft.corpora.syntax.parser import find_parser

            self.found = find_parser(self.pipeline)
        return self.found.parse(sentences, progress=progress)


def parsed_by(parser: SentenceParser) -> dict[str, str]:
    """Return the entry of a training record that names the parser; empty if no sentence was parsed."""
    return {"parsed_by": parser.name} if parser.name else {}


@runtime_checkable
class ParsingModel(Protocol):
    """A model that parses sentences and accepts a parser from outside."""

    def with_parser(self, parser: SentenceParser) -> Self:
        """Use this parser instead of searching for one, and return the model."""


def parser_remarks(document: Document) -> tuple[str, ...]:
    """Return a remark if a document does not look English; the parser is for English only."""
    return () if looks_english(document.sentences) else (NOT_ENGLISH,)
