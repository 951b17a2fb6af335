"""Which entities a sentence mentions, and in which grammatical role: what a row of an entity grid holds.

Reference: R. Barzilay and M. Lapata, "Modeling local coherence: an entity-based approach", Computational Linguistics 34
(2008). The rules below are those that agree best with the authors' own grids (docs/entities.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from weft.corpora.parsed import ParsedSentence
from weft.document import Document
from weft.errors import ConfigError
from weft.models.baselines.settings import check_choice, check_text
from weft.progress import Progress, silent

ABSENT, OTHER, OBJECT, SUBJECT = 0, 1, 2, 3  # a higher role wins where a sentence mentions an entity twice
ROLE_NAMES = "-XOS"
NOUNS = ("all", "heads")

Mentions = dict[str, int]

_NOUN_TAGS = frozenset(("NN", "NNS", "NNP", "NNPS"))
_TAGS = _NOUN_TAGS | {"PRP"}  # Barzilay and Lapata's grids have rows for IT and HE
_PLURAL_TAGS = frozenset(("NNS", "NNPS"))
_ROLES = {
    "nsubj": SUBJECT,
    "nsubjpass": SUBJECT,
    "csubj": SUBJECT,
    "dobj": OBJECT,
    "dative": OBJECT,
    "iobj": OBJECT,
    "attr": OBJECT,  # "This is preliminary information": their grid has INFORMATION as O
}
_INSIDE = frozenset(("compound", "nn", "nmod"))  # a noun inside a noun phrase has the role of the phrase
_SHARED = _INSIDE | {"conj"}  # … and so has the second of two that are joined by "and"
_ROLES |= dict.fromkeys(_SHARED, ABSENT)  # not known from the label alone


class SentenceParser(Protocol):
    """What parses: `weft.corpora.parsing.Parser`, or another thing that does the same."""

    @property
    def name(self) -> str:
        """What it is called."""

    def parse(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[ParsedSentence]:
        """The parse of each sentence, in the order given."""


def find_mentions(parse: ParsedSentence, *, syntax: bool = True, nouns: str = "all", plurals: bool = False) -> Mentions:
    """The entities of a sentence and their roles: two mentions are one entity if their words are the same.

    Args:
        parse: The sentence.
        syntax: Tell subjects, objects and others apart; without it every mention is an ``OTHER``.
        nouns: ``all``, or only the ``heads`` of noun phrases.
        plurals: An extension: a plural and its singular are one entity.

    Example:
        >>> labels = ("nsubj", "ROOT", "dobj")
        >>> find_mentions(ParsedSentence(("Dogs", "chase", "cats"), ("NNS", "VBP", "NNS"), (1, 1, 1), labels))
        {'dogs': 3, 'cats': 2}
    """
    found: Mentions = {}
    place = -1
    for word, tag, label in zip(parse.words, parse.tags, parse.labels, strict=True):
        place += 1
        if tag not in _TAGS or (nouns == "heads" and label in _INSIDE):
            continue
        entity = word.lower()
        if not (entity.isalpha() or any(map(str.isalnum, entity))):
            continue
        if plurals and tag in _PLURAL_TAGS:
            entity = singular(entity)
        role = (_ROLES.get(label, OTHER) or _role(parse, place)) if syntax else OTHER
        if role > found.get(entity, ABSENT):
            found[entity] = role
    return found


def singular(plural: str) -> str:
    """The singular of a regular plural.

    Example:
        >>> [singular(word) for word in ("quakes", "injuries", "crashes", "men")]
        ['quake', 'injury', 'crash', 'men']
    """
    if plural.endswith("ies") and len(plural) > 4:
        return plural[:-3] + "y"
    if plural.endswith(("ches", "shes", "sses", "xes")):
        return plural[:-2]
    return plural[:-1] if plural.endswith("s") and len(plural) > 3 and not plural.endswith("ss") else plural


def _role(parse: ParsedSentence, place: int) -> int:
    """The role of the noun phrase that a word belongs to."""
    for _ in parse.heads:  # no more steps than words: a damaged parse may have a circle
        if parse.labels[place] not in _SHARED:
            break
        place = parse.heads[place]
    return _ROLES.get(parse.labels[place], OTHER) or OTHER


@dataclass(frozen=True, slots=True)
class MentionSettings:
    """What every model that looks for entities can be told.

    Attributes:
        parser: A spaCy pipeline by name; see `weft.corpora.parsing.find_parser`.
        syntax: Tell subjects, objects and others apart.
        nouns: ``all``, or only the ``heads`` of noun phrases.
        plurals: An extension: a plural and its singular are one entity.
    """

    parser: str = ""
    syntax: bool = True
    nouns: str = "all"
    plurals: bool = False

    def check(self, model: str) -> None:
        """Refuse settings that make no sense.

        Raises:
            ConfigError: One does not.
        """
        check_text(model, "parser", self.parser)
        check_choice(model, "nouns", self.nouns, NOUNS)
        check_switch(model, "syntax", self.syntax)
        check_switch(model, "plurals", self.plurals)


class MentionFinder:
    """Parses sentences and finds their mentions.

    Args:
        settings: How.

    Attributes:
        loaded: The parser; found when a sentence is to be parsed, unless it is given before.
    """

    def __init__(self, settings: MentionSettings) -> None:
        self.settings = settings
        self.loaded: SentenceParser | None = None

    def find(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Mentions]:
        """The mentions of each sentence; each distinct one is parsed once."""
        if self.loaded is None:
            from weft.corpora.parsing import find_parser

            self.loaded = find_parser(self.settings.parser)
        how = self.settings
        return [
            find_mentions(parse, syntax=how.syntax, nouns=how.nouns, plurals=how.plurals)
            for parse in self.loaded.parse(sentences, progress=progress)
        ]

    def find_documents(self, documents: Sequence[Document], *, progress: Progress = silent) -> list[list[Mentions]]:
        """The mentions of the sentences of each document; what it has in common with others is parsed once."""
        distinct = list(dict.fromkeys(sentence for document in documents for sentence in document.sentences))
        known = dict(zip(distinct, self.find(distinct, progress=progress) if distinct else [], strict=True))
        return [[known[sentence] for sentence in document.sentences] for document in documents]


def check_switch(model: str, setting: str, value: object) -> None:
    """Refuse a value that is neither true nor false."""
    if not isinstance(value, bool):
        raise ConfigError(
            f"{model}'s `{setting}` has the wrong type",
            seen="null" if value is None else value,
            allowed="true or false",
            next_step=f"change `{setting}`",
        )
