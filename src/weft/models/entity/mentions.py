"""Entities that a sentence mentions, and the grammatical role of each mention.

Reference: R. Barzilay and M. Lapata, "Modeling local coherence: an entity-based approach", Computational Linguistics 34
(2008). The rules below are those that agree best with the authors' own grids (docs/entities.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.sentence_parser import LazyParser, SentenceParser, parser_remarks
from weft.document import Document
from weft.settings import setting

ABSENT, OTHER, OBJECT, SUBJECT = 0, 1, 2, 3  # if a sentence mentions an entity twice, the higher role counts
ROLE_NAMES = "-XOS"
NOUNS = ("all", "heads")

Mentions = dict[str, int]  # entity -> role, of one sentence
Roles = list[tuple[int, int]]  # (sentence, role) of each mention of one entity, in order

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
_INSIDE = frozenset(("compound", "nn", "nmod"))  # a noun inside a noun phrase takes the role of the phrase
_SHARED = _INSIDE | {"conj"}  # and so does the second of two nouns joined by "and"
_ROLES |= dict.fromkeys(_SHARED, ABSENT)  # the label alone does not determine the role


def find_mentions(parse: ParsedSentence, *, syntax: bool = True, nouns: str = "all", plurals: bool = False) -> Mentions:
    """Return the entities of a sentence and their roles; mentions with the same word are one entity.

    `MentionFields` explains the options.

    Example:
        >>> labels = ("nsubj", "ROOT", "dobj")
        >>> find_mentions(ParsedSentence(("Dogs", "chase", "cats"), ("NNS", "VBP", "NNS"), (1, 1, 1), labels))
        {'dogs': 3, 'cats': 2}
    """
    found: Mentions = {}
    words, labels = parse.words, parse.labels
    heads_only = nouns == "heads"
    for place, tag in enumerate(parse.tags):
        if tag not in _TAGS or (heads_only and labels[place] in _INSIDE):
            continue
        entity = words[place].lower()
        if plurals and tag in _PLURAL_TAGS:
            entity = singular(entity)
        role = (_ROLES.get(labels[place], OTHER) or _role(parse, parse.heads[place])) if syntax else OTHER
        if entity in found:
            found[entity] = max(role, found[entity])
        elif entity.isalpha() or _has_letters(entity):
            found[entity] = role
    return found


def find_shared(
    parses: Sequence[ParsedSentence], *, syntax: bool = True, nouns: str = "all", plurals: bool = False
) -> list[Roles]:
    """Return the roles of each entity that at least two sentences of a text mention.

    The result equals that of `find_mentions` without the entities of a single sentence. Those are the majority, and
    their roles are not computed.

    Example:
        >>> one = ParsedSentence(("Dogs", "chase", "cats"), ("NNS", "VBP", "NNS"), (1, 1, 1), ("nsubj", "ROOT", "dobj"))
        >>> other = ParsedSentence(("Cats", "hide"), ("NNS", "VBP"), (1, 1), ("nsubj", "ROOT"))
        >>> find_shared([one, other])
        [[(0, 2), (1, 3)]]
    """
    found = []
    for entity, places in _recurring(parses, nouns == "heads", plurals).items():
        if places[0][0] == places[-1][0] or not (entity.isalpha() or _has_letters(entity)):
            continue
        roles: Roles = []
        last = -1
        for number, place in places:
            parse = parses[number]
            role = (_ROLES.get(parse.labels[place], OTHER) or _role(parse, parse.heads[place])) if syntax else OTHER
            if number != last:
                roles.append((number, role))
                last = number
            elif role > roles[-1][1]:
                roles[-1] = (number, role)
        found.append(roles)
    return found


def _recurring(parses: Sequence[ParsedSentence], heads_only: bool, plurals: bool) -> dict[str, list[tuple[int, int]]]:
    """Return sentence and word position of each mention, of the entities mentioned more than once."""
    first: dict[str, tuple[int, int]] = {}
    found: dict[str, list[tuple[int, int]]] = {}
    for number, parse in enumerate(parses):
        words = parse.words
        for place, tag in enumerate(parse.tags):
            if tag not in _TAGS or (heads_only and parse.labels[place] in _INSIDE):
                continue
            entity = words[place].lower()
            if plurals and tag in _PLURAL_TAGS:
                entity = singular(entity)
            if entity not in first:
                first[entity] = (number, place)
            elif entity in found:
                found[entity].append((number, place))
            else:
                found[entity] = [first[entity], (number, place)]
    return found


def singular(plural: str) -> str:
    """Return the singular of a regular plural.

    Example:
        >>> [singular(word) for word in ("quakes", "injuries", "crashes", "men")]
        ['quake', 'injury', 'crash', 'men']
    """
    if plural.endswith("ies") and len(plural) > 4:
        return plural[:-3] + "y"
    if plural.endswith(("ches", "shes", "sses", "xes")):
        return plural[:-2]
    return plural[:-1] if plural.endswith("s") and len(plural) > 3 and not plural.endswith("ss") else plural


def _has_letters(entity: str) -> bool:
    """Whether an entity contains a letter or digit; taggers sometimes tag a dash as a noun."""
    return any(map(str.isalnum, entity))


def _role(parse: ParsedSentence, place: int) -> int:
    """Return the role of the noun phrase around a word: that of its first ancestor whose label determines one."""
    labels, heads = parse.labels, parse.heads
    for _ in heads:  # bounded by the number of words: a damaged parse may contain a cycle
        role = _ROLES.get(labels[place], OTHER)
        if role != ABSENT:
            return role
        place = heads[place]
    return OTHER


@dataclass(frozen=True, kw_only=True)
class MentionFields:
    """Settings shared by all models that look for entities."""

    parser: str = setting("", "Name of a spaCy pipeline; empty: the best one installed.", adjustable=True)
    syntax: bool = setting(True, "Distinguish subjects, objects and others.")
    nouns: str = setting("all", "all nouns (Barzilay and Lapata), or only the heads of noun phrases.", choices=NOUNS)
    plurals: bool = setting(False, "Treat a plural and its singular as one entity (an extension).")


NO_ENTITY = "no noun found, so there is no entity to follow"
NO_ROLE = "no subject or object found, so all entities count the same; check that the text has verbs"


class MentionFinder:
    """Parses sentences and finds their mentions."""

    def __init__(self, settings: MentionFields) -> None:
        self.settings = settings
        self.parser: SentenceParser = LazyParser(settings.parser)

    def find(self, sentences: Sequence[str]) -> list[Mentions]:
        """Return the mentions of each sentence."""
        chosen = self.settings
        return [
            find_mentions(parse, syntax=chosen.syntax, nouns=chosen.nouns, plurals=chosen.plurals)
            for parse in self.parser.parse(sentences)
        ]

    def find_shared(self, sentences: Sequence[str]) -> list[Roles]:
        """Return the roles of the entities that at least two of the sentences mention."""
        chosen = self.settings
        parses = list(self.parser.parse(sentences))
        return find_shared(parses, syntax=chosen.syntax, nouns=chosen.nouns, plurals=chosen.plurals)

    def find_documents(self, documents: Sequence[Document]) -> list[list[Mentions]]:
        """Return the mentions of each document's sentences; a sentence in several documents is parsed once."""
        distinct = list(dict.fromkeys(sentence for document in documents for sentence in document.sentences))
        found = dict(zip(distinct, self.find(distinct) if distinct else [], strict=True))
        return [[found[sentence] for sentence in document.sentences] for document in documents]

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return the reasons why no entities or roles are found in a document, if there are any."""
        roles = {role for mentions in self.find(document.sentences) for role in mentions.values()}
        if not roles:
            return (NO_ENTITY, *parser_remarks(document))
        return (*([NO_ROLE] if self.settings.syntax and roles == {OTHER} else []), *parser_remarks(document))
