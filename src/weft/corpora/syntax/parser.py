"""Dependency parsing of sentences; every distinct sentence is parsed once.

Reference: Honnibal & Johnson 2015 (the transition system), as implemented in spaCy; docs/parse.md describes weft's own
pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

from weft.corpora.syntax.parse_cache import ParseCache
from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.spacy_pipelines import load_pipeline
from weft.progress import Progress, silent

__all__ = ["Annotator", "ParsedSentence", "Parser", "find_parser"]

# A longer text is parsed in pieces, which limits memory and the length of words in the tokenizer.
LONGEST_PIECE = 2000  # characters, about 400 words
REMEMBERED_WORDS = 1_000_000  # about 100 MB
SENTENCES_AT_ONCE = 1024
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SENTENCE_END = re.compile(r"[.!?;][\"'”’)\]]* ")


class Annotator(Protocol):
    """A spaCy pipeline (`weft.corpora.syntax.spacy_pipelines.Pipeline`), or an object with the same methods."""

    @property
    def name(self) -> str:
        """Name of the pipeline."""

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines its parses."""

    def annotate(self, texts: Sequence[str]) -> Iterable[ParsedSentence]:
        """Yield the parses of texts, each as one sentence."""


class Parser:
    """A parser of sentences that keeps recent parses in memory.

    A sentence is never split. White space and control characters become single spaces, and lone surrogates U+FFFD. A
    text of more than 2,000 characters is parsed in pieces, cut after the end of a sentence, else between words, else
    inside a word; each piece has a root of its own.

    Args:
        annotator: The pipeline.
        cache: A file that stores parses between runs; pipelines may share it.
        remembered_words: Number of words of recent sentences whose parses are kept in memory.

    Attributes:
        name: The name of the pipeline.
        fingerprint: A hash of everything that determines the parses.

    Example:
        >>> class Flat:
        ...     name, fingerprint = "flat", "0"
        ...     def annotate(self, texts):
        ...         for words in map(str.split, texts):
        ...             n = len(words)
        ...             yield ParsedSentence(tuple(words), ("NN",) * n, (0,) * n, ("ROOT",) + ("dep",) * (n - 1))
        >>> [parse.words for parse in Parser(Flat()).parse(["It rained.", ""])]
        [('It', 'rained.'), ()]
    """

    def __init__(
        self, annotator: Annotator, *, cache: str | Path | None = None, remembered_words: int = REMEMBERED_WORDS
    ) -> None:
        self.name = annotator.name
        self.fingerprint = annotator.fingerprint
        self._annotator = annotator
        self._lock = Lock()  # a pipeline's vocabulary cannot be used from two threads at once
        self._memory: dict[str, ParsedSentence] = {}
        self._words, self._remembered_words = 0, remembered_words
        self._cache = ParseCache(cache, annotator.fingerprint) if cache is not None else None

    def parse(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[ParsedSentence]:
        """Return the parse of each sentence, in the order given."""
        texts = [clean_sentence(sentence) for sentence in sentences]
        with self._lock:
            known = self._find(list(dict.fromkeys(texts)), progress)
            self._remember(known)
        return [known[text] for text in texts]

    def _remember(self, parses: dict[str, ParsedSentence]) -> None:
        """Keep parses in memory, the most recent last, and forget the oldest ones above the limit."""
        for text, parse in parses.items():
            self._words += len(parse) - len(self._memory.pop(text, ()))
            self._memory[text] = parse
        while self._words > self._remembered_words:
            self._words -= len(self._memory.pop(next(iter(self._memory))))

    def _find(self, texts: Sequence[str], progress: Progress) -> dict[str, ParsedSentence]:
        """Return the parses of distinct texts, from memory, the cache or the pipeline."""
        known = {text: self._memory[text] for text in texts if text in self._memory}
        if "" in texts:
            known[""] = ParsedSentence((), (), (), ())
        if self._cache is not None:
            known |= self._cache.find([text for text in texts if text not in known])
        fresh = [text for text in texts if text not in known]
        for start in range(0, len(fresh), SENTENCES_AT_ONCE):
            some = fresh[start : start + SENTENCES_AT_ONCE]
            found = dict(zip(some, self._annotate(some), strict=True))
            if self._cache is not None:
                self._cache.add(found)
            known |= found
            progress("parse", start + len(some), len(fresh))
        return known

    def _annotate(self, texts: Sequence[str]) -> Iterator[ParsedSentence]:
        """Yield the parses of texts, parsed in pieces."""
        pieces = [cut_text(text) for text in texts]
        parses = iter(self._annotator.annotate([piece for parts in pieces for piece in parts]))
        for parts in pieces:
            yield join_parses([next(parses) for _ in parts])


def find_parser(name: str = "", *, cache: str | Path | None = None) -> Parser:
    """Return a parser with a named pipeline, else an installed ``en_core_web_sm``, else weft's own.

    Args:
        name: An installed spaCy pipeline, a folder with one, or ``weft-parser`` for the one inside weft.
        cache: A file that stores parses between runs.

    Raises:
        ConfigError: spaCy is not installed, or the name is not that of an English pipeline with a tagger and a parser.
        ModelError: weft's own pipeline is damaged or does not fit the installed spaCy version.
        CorpusError: The cache is another kind of file, or cannot be read or written.

    Example:
        >>> (parse,) = find_parser("weft-parser").parse(["The dog chased the cat."])
        >>> list(zip(parse.words, parse.labels, parse.heads))[1:5]
        [('dog', 'nsubj', 2), ('chased', 'ROOT', 2), ('the', 'det', 4), ('cat', 'dobj', 2)]
    """
    return Parser(load_pipeline(name), cache=cache)


def clean_sentence(sentence: str) -> str:
    r"""Return a sentence without control characters, lone surrogates and repeated white space.

    Example:
        >>> clean_sentence("It\x00 was\n\n late.\ud83d ")
        'It was late.�'
    """
    return " ".join(_SURROGATE.sub("\ufffd", _CONTROL.sub(" ", sentence)).split())


def cut_text(text: str, longest: int = LONGEST_PIECE) -> list[str]:
    """Return a long text in pieces.

    It is cut after a sentence end in the second half of a piece, else at a space, else anywhere.

    Example:
        >>> cut_text("He came. He saw. He won.", 12)
        ['He came.', 'He saw.', 'He won.']
        >>> cut_text("aaaaaaa", 3)
        ['aaa', 'aaa', 'a']
    """
    pieces, start = [], 0
    while len(text) - start > longest:
        window = text[start : start + longest + 1]
        ends = [match.end() for match in _SENTENCE_END.finditer(window) if match.end() > longest // 2]
        end = ends[-1] if ends else window.rfind(" ") + 1 or longest
        pieces.append(text[start : start + end].strip())
        start += end
    return [*pieces, text[start:].strip()]


def join_parses(parses: Sequence[ParsedSentence]) -> ParsedSentence:
    """Return one parse of several pieces, with one root per piece."""
    if len(parses) == 1:
        return parses[0]
    heads: list[int] = []
    for parse in parses:
        before = len(heads)
        heads += [before + head for head in parse.heads]
    return ParsedSentence(
        words=tuple(word for parse in parses for word in parse.words),
        tags=tuple(tag for parse in parses for tag in parse.tags),
        heads=tuple(heads),
        labels=tuple(label for parse in parses for label in parse.labels),
    )
