"""The genre whose texts a score is compared with."""

from __future__ import annotations

import pytest

from weft.document import Document, Score
from weft.errors import ConfigError
from weft.models.trivial import RandomModel
from weft.scoring.genre_choice import GenreChoice, check_genre, choose_genre
from weft.scoring.percentiles import Group, Reference, placed, read_reference

LINE = tuple(float(n) for n in range(101))
GROUP, OTHER = Group(3, 30, LINE, LINE), Group(3, 30, tuple(2 * n for n in LINE), LINE)
RECIPE = Document("r", ("Heat the oil in a pan.", "Add the onions and stir for 5 minutes.", "Serve with rice."))
REFERENCE = Reference("texts of all genres", "mmi", (GROUP,), genres={"howto": (OTHER,), "encyclopedia": (GROUP,)})


def test_a_given_genre_wins_over_a_label_and_a_label_over_a_guess() -> None:
    labelled = Document("r", RECIPE.sentences, genre="simplewiki")
    assert choose_genre(REFERENCE, labelled, "howto") == GenreChoice("howto")
    assert choose_genre(REFERENCE, labelled) == GenreChoice("encyclopedia")
    guessed = choose_genre(REFERENCE, RECIPE)
    assert guessed.name == "howto" and guessed.guessed and (guessed.probability or 0) > 0.5
    assert choose_genre(REFERENCE, Document("r", RECIPE.sentences, genre="cookbook")) == guessed
    assert choose_genre(REFERENCE, Document("r", RECIPE.sentences, genre="all")) == GenreChoice("all")


def test_an_unsure_guess_or_one_without_texts_gives_all_texts() -> None:
    unsure = choose_genre(REFERENCE, Document("u", ("Yes.", "No.", "Well.")))
    assert unsure.name == "all" and unsure.guessed and unsure.key == ""
    news_only = Reference("all", "mmi", (GROUP,), genres={"news": (OTHER,)})
    assert choose_genre(news_only, RECIPE).name == "all"


def test_a_reference_without_genres_asks_for_no_guess() -> None:
    assert choose_genre(Reference("essays", "mmi", (GROUP,)), RECIPE) == GenreChoice()


def test_the_percentile_is_that_of_the_genre_and_bars_are_not() -> None:
    score = placed(Score(40.0, (40.0,), genre="howto"), REFERENCE, 3, "howto")
    assert score.percentile == 20.0 and score.link_percentiles == (40.0,)
    assert score.meaning.startswith("20th percentile among howto texts")
    assert score.link_reference == "texts of all genres"


def test_it_survives_the_disk() -> None:
    assert read_reference(REFERENCE.to_text(), source="here") == REFERENCE


def test_unknown_genres_are_refused() -> None:
    model = RandomModel()
    with pytest.raises(ConfigError, match="m has no reference scores by genre: saw 'genre howto'.*next: "):
        check_genre("howto", model, "m")
    model.reference = REFERENCE
    with pytest.raises(ConfigError, match="unknown genre: saw 'poem'; allowed: all, encyclopedia, howto; next: "):
        check_genre("poem", model, "m")
    assert [check_genre(name, model, "m") for name in (None, "wikipedia", "all")] == ["", "encyclopedia", "all"]
