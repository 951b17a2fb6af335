"""Which reference texts a text is compared with: those of its genre, given or guessed, or those of all genres."""

from __future__ import annotations

from dataclasses import dataclass

from weft.corpora.text.genre import genre_of_label, guess_genre
from weft.document import ALL_GENRES, Document
from weft.errors import ConfigError, check_known
from weft.protocols import CalibratedModel
from weft.scoring.percentiles import Reference


@dataclass(frozen=True, slots=True)
class GenreChoice:
    """The genre whose reference texts a text is compared with.

    Attributes:
        name: The genre; ``all`` for the texts of all genres, empty for a reference without genres.
        guessed: Whether it was guessed; a guess that is unsure, or has no reference texts, gives ``all``.
        probability: Probability of the guess.
    """

    name: str = ""
    guessed: bool = False
    probability: float | None = None

    @property
    def key(self) -> str:
        """The genre in the reference; empty for all texts."""
        return "" if self.name == ALL_GENRES else self.name


def choose_genre(reference: Reference, document: Document, genre: str = "") -> GenreChoice:
    """Return the genre of a text: the given one, else that of the document, else a guess.

    A label of the document that the reference does not have is ignored: files name genres in many ways.

    Args:
        reference: The reference scores.
        document: The text.
        genre: A genre of the reference, or ``all``; empty if none is given.
    """
    if not reference.genres:
        return GenreChoice()
    if genre:
        return GenreChoice(genre)
    if (label := genre_of_label(document.genre)) == ALL_GENRES or label in reference.genres:
        return GenreChoice(label)
    guess = guess_genre(document.sentences)
    name = guess.name if guess.sure and guess.name in reference.genres else ALL_GENRES
    return GenreChoice(name, guessed=True, probability=round(guess.probability, 4))


def check_genre(genre: str | None, model: object, name: str) -> str:
    """Return a genre that a user gave, in the model's own name for it; empty for None.

    Raises:
        ConfigError: The model has no reference scores by genre, or not of this one.
    """
    if genre is None:
        return ""
    if not has_genres(model):
        raise ConfigError(
            f"{name} has no reference scores by genre",
            seen=f"genre {genre}",
            allowed="a model that was calibrated with texts of several genres, such as weft-reader",
            next_step="omit the genre, or run `weft calibrate` with labelled texts",
        )
    known = genre_of_label(genre) if isinstance(genre, str) else genre
    check_known("genre", known, (ALL_GENRES, *_genres(model)), next_step="choose one of them, or omit it")
    return known


def has_genres(model: object) -> bool:
    """Return whether a model has reference scores by genre."""
    return bool(_genres(model))


def _genres(model: object) -> list[str]:
    reference = model.reference if isinstance(model, CalibratedModel) else None
    return sorted(reference.genres) if reference is not None else []
