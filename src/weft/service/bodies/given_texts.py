"""Texts of requests as documents: limits are checked, and sentences are found again in the text as it was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.corpora.text.text_limits import WIDEST
from weft.document import Document
from weft.loaded_model import Model
from weft.scoring.genre_choice import check_genre, has_genres
from weft.service.bodies.problems import ServiceError
from weft.service.bodies.request_bodies import TextBody
from weft.service.remembering import token_count
from weft.service.settings import ServiceSettings
from weft.text_inputs import SINGLE_NAME, one_document

Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class GivenText:
    """A text of a request.

    Attributes:
        document: Its sentences.
        source: The text as given; None if sentences were given.
    """

    document: Document
    source: str | None


def given_texts(
    texts: Sequence[str | TextBody], language: str, settings: ServiceSettings, model: Model, *, single: bool
) -> list[GivenText]:
    """Return the texts of a request as documents.

    Raises:
        ServiceError: There are too many texts, or one is too long (422).
        WeftError: The language is unknown, or something is not a text.
    """
    if len(texts) > settings.texts:
        raise _too_many("texts", "the request has too many texts", len(texts), settings.texts, "send several requests")
    names = [SINGLE_NAME] if single else [f"{SINGLE_NAME}-{number}" for number in range(len(texts))]
    return [given_text(text, name, language, settings, model) for text, name in zip(texts, names, strict=True)]


def given_text(text: str | TextBody, name: str, language: str, settings: ServiceSettings, model: Model) -> GivenText:
    """Return a text of a request as a document; ``name`` is its name if it has none, ``model`` the one that reads it.

    Raises:
        ServiceError: It is too long (422).
        WeftError: The language or the genre is unknown, or something is not a text.
    """
    body = TextBody(text=text) if isinstance(text, str) else text
    if body.genre and has_genres(model.inner):
        check_genre(body.genre, model.inner, model.name)
    characters = len(body.text) if body.text is not None else sum(map(len, body.sentences or ()))
    _check(characters, settings.characters, "characters")
    if body.text is not None:
        split = one_document(body.text, name=body.id or name, language=language)
        document = replace(split, title=body.title, genre=body.genre)
    else:
        starts = tuple(body.paragraph_starts or (0,))
        document = Document(body.id or name, tuple(body.sentences or ()), body.title, starts, genre=body.genre)
    _check(len(document), settings.sentences, "sentences")
    if characters * WIDEST > settings.tokens:  # no tokenizer makes more tokens than bytes
        _check(token_count(model, document), settings.tokens, "tokens")
    return GivenText(document, body.text)


def _check(count: int, most: int, unit: str) -> None:
    if count > most:
        next_step = "split the text into sections, or start the service with a higher limit"
        raise _too_many(unit, f"the text has too many {unit}", count, most, next_step)


def _too_many(unit: str, what: str, count: int, most: int, next_step: str) -> ServiceError:
    return ServiceError(
        422, f"too-many-{unit}", what, seen=f"{count} {unit}", allowed=f"up to {most} {unit}", next_step=next_step
    )


def spans(text: str, sentences: Sequence[str]) -> Spans:
    r"""Return where sentences, on one line each, begin and end in the text from which they were split.

    Only white space is lost when a text is split, so each word is the next one of the text.

    Example:
        >>> spans("It  rained.\nHe\nslept.", ["It rained.", "He slept."])
        [(0, 11), (12, 21)]
    """
    found, place = Spans(), 0
    for sentence in sentences:
        start = None
        for word in sentence.split():
            begins = text.find(word, place)
            start = begins if start is None else start
            place = begins + len(word)
        found.append((start or 0, place))
    return found
