"""The interface of parsers that models use, and the remark on texts that are not English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.text.english_detection import looks_english
from weft.document import Document
from weft.progress import Progress, silent

NOT_ENGLISH = "it has few common English words, and the parser is for English only"


class SentenceParser(Protocol):
    """Parses sentences: `weft.corpora.syntax.parser.Parser`, or an object with the same methods."""

    @property
    def name(self) -> str:
        """Name of the pipeline."""

    def parse(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[ParsedSentence]:
        """Return the parse of each sentence, in the order given."""


@runtime_checkable
class ParsingModel(Protocol):
    """A model that parses sentences and accepts a parser from outside."""

    def with_parser(self, parser: SentenceParser) -> Self:
        """Use this parser instead of searching for one, and return the model."""


def parser_remarks(document: Document) -> tuple[str, ...]:
    """Return a remark if a document does not look English; the parser is for English only."""
    return () if looks_english(document.sentences) else (NOT_ENGLISH,)
