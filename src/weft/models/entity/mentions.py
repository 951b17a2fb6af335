"""Which entities a sentence mentions, and in which grammatical role: what a row of an entity grid holds.

Reference: R. Barzilay and M. Lapata, "Modeling local coherence: an entity-based approach", Computational Linguistics 34
(2008). The rules below are those that agree best with the authors' own grids (docs/entities.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.sentence_parser import SentenceParser, parser_remarks
from weft.document import Document
from weft.errors import ConfigError
from weft.models.common.setting_checks import check_choice, check_text
from weft.progress import Progress, silent

ABSENT, OTHER, OBJECT, SUBJECT = 0, 1, 2, 3  # a higher role wins where a sentence mentions an entity twice
ROLE_NAMES = "-XOS"
NOUNS = ("all", "heads")

Mentions = dict[str, int]  # the entities of a sentence and their roles
Roles = list[tuple[int, int]]  # the sentences that mention an entity, in order, and its role in each

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
    """The role in every sentence of each entity that two sentences or more of a text mention.

    It is what `find_mentions` finds, less what one sentence alone mentions: most entities, whose roles need not be
    looked up.

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
    """Sentence and place of each mention of the entities that are mentioned more than once."""
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


def _has_letters(entity: str) -> bool:
    """Whether there is a letter or a figure in it: a tagger may take a dash for a noun."""
    return any(map(str.isalnum, entity))


def _role(parse: ParsedSentence, place: int) -> int:
    """The role of the noun phrase around a place: that of the first word on the way up whose label tells one."""
    labels, heads = parse.labels, parse.heads
    for _ in heads:  # no more steps than words: a damaged parse may have a circle
        role = _ROLES.get(labels[place], OTHER)
        if role != ABSENT:
            return role
        place = heads[place]
    return OTHER


@dataclass(frozen=True, slots=True)
class MentionSettings:
    """What every model that looks for entities can be told.

    Attributes:
        parser: A spaCy pipeline by name; see `weft.corpora.syntax.parser.find_parser`.
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


NO_ENTITY = "no noun in it, so that there is no entity to follow"
NO_ROLE = "no subject and no object in it, so that all entities count alike; is there a verb?"


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
        how = self.settings
        return [
            find_mentions(parse, syntax=how.syntax, nouns=how.nouns, plurals=how.plurals)
            for parse in self._parses(sentences, progress)
        ]

    def find_shared(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Roles]:
        """The entities that more than one of the sentences mention."""
        how = self.settings
        parses = list(self._parses(sentences, progress))
        return find_shared(parses, syntax=how.syntax, nouns=how.nouns, plurals=how.plurals)

    def remarks(self, document: Document) -> tuple[str, ...]:
        """What keeps entities or their roles from being found in a text."""
        roles = {role for mentions in self.find(document.sentences) for role in mentions.values()}
        if not roles:
            return (NO_ENTITY, *parser_remarks(document))
        return (*([NO_ROLE] if self.settings.syntax and roles == {OTHER} else []), *parser_remarks(document))

    def _parses(self, sentences: Sequence[str], progress: Progress) -> Iterable[ParsedSentence]:
        if self.loaded is None:
            from weft.corpora.syntax.parser import find_parser

            self.loaded = find_parser(self.settings.parser)
        return self.loaded.parse(sentences, progress=progress)

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
