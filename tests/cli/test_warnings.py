"""What is told of texts that a model cannot judge, or cannot judge well."""

from __future__ import annotations

import pytest
from tests.helpers.parsers import MarkedParser

from weft.cli.output import NAMED, WarningLines
from weft.corpora.syntax.sentence_parser import NOT_ENGLISH
from weft.corpora.text.language_detection import looks_english
from weft.document import Document
from weft.models.entity.entity_graph import EntityGraph
from weft.models.entity.mentions import NO_ENTITY, NO_ROLE
from weft.protocols import RemarkingModel
from weft.registry import create_model
from weft.scoring.score_warnings import warnings_of

TEXTS = {
    "en": "The dog barks in the night and the cat looks at him. Then the cat sleeps in the garden because it is warm.",
    "de": "Der Hund bellt in der Nacht und die Katze sieht ihn an. Dann schläft die Katze im Garten, weil es warm ist.",
    "fr": "Le chien aboie dans la nuit et le chat le regarde. Ensuite le chat dort dans le jardin car il fait chaud.",
    "es": "El perro ladra en la noche y el gato lo mira. Luego el gato duerme en el jardín porque hace calor.",
    "nl": "De hond blaft in de nacht en de kat kijkt hem aan. Daarna slaapt de kat in de tuin omdat het warm is.",
    "ru": "Собака лает.",
    "zh": "这只狗在叫。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_english_is_told_from_other_languages(language: str) -> None:
    assert looks_english([TEXTS[language]]) == (language == "en")


@pytest.mark.parametrize("text", ["", "1989 – 2001", "é", "Dogs chase cats.", "Rex, Fido, Bello and Waldi!"])
def test_what_is_too_short_to_tell_may_be_english(text: str) -> None:
    assert looks_english([text])


def test_a_long_foreign_text_with_an_english_title_is_foreign() -> None:
    assert not looks_english(["The Dog of the Night", *[TEXTS["de"]] * 5])


def remarks(*sentences: str, **settings: bool) -> tuple[str, ...]:
    return EntityGraph(EntityGraph.Settings(**settings)).with_parser(MarkedParser()).remarks(Document("d", sentences))  # type: ignore[arg-type]


def test_a_text_without_nouns_or_roles_is_remarked_on() -> None:
    assert remarks("ran/ROOT/VBD", "sat/ROOT/VBD") == (NO_ENTITY,)
    assert remarks("dog/ROOT", "cat/ROOT dog/pobj") == (NO_ROLE,)
    assert remarks("dog/ROOT", "cat/ROOT", syntax=False) == ()
    assert remarks("dog/ROOT", "cat/dobj") == ()
    assert remarks("собака/nsubj", "кошка/nsubj") == (NOT_ENGLISH,)


@pytest.mark.parametrize(
    "name", ["entity-grid", "entity-grid-generative", "entity-graph", "syntax-hmm", "syntax-local"]
)
def test_models_that_parse_remark_on_other_languages(name: str) -> None:
    model = create_model(name, {})
    assert isinstance(model, RemarkingModel)
    model.with_parser(MarkedParser())  # type: ignore[attr-defined]
    assert NOT_ENGLISH in model.remarks(Document("d", (TEXTS["ru"], TEXTS["zh"])))
    assert NOT_ENGLISH not in model.remarks(Document("d", (TEXTS["en"], TEXTS["en"])))


def test_penn_trees_are_of_any_language() -> None:
    model = create_model("syntax-hmm", {"trees": "penn", "treebank": "some.tar.gz"})
    assert isinstance(model, RemarkingModel)
    assert model.remarks(Document("d", (TEXTS["de"],))) == ()


def test_the_first_texts_are_named_and_the_others_counted() -> None:
    told: list[str] = []
    lines, model = WarningLines(told.append), EntityGraph().with_parser(MarkedParser())
    marked = ("ran/ROOT/VBD", "sat/ROOT/VBD", "woke/ROOT/VBD")
    texts = [(Document(str(n), marked), None) for n in range(NAMED + 1)]
    short, good = Document("short", ("dog/nsubj",)), Document("good", ("dog/nsubj", "dog/nsubj"))
    for document, value in (*texts, (short, None), (good, 1.0)):
        lines.add(document.id, warnings_of(model, document, value))
    lines.close()
    assert f"4 texts (0, 1, 2 and 1 more): no score: {NO_ENTITY}" in told
    assert any(line.startswith("short: no score: the text has one sentence") for line in told)
    warnings = {warning for document, value in texts for warning in warnings_of(model, document, value)}
    assert len(told) <= len(warnings) + 2  # each warning once, and one line for each text with others


def test_a_model_without_remarks_still_says_that_there_is_no_score() -> None:
    assert warnings_of(object(), Document("d", ("a", "b")), None)[0].startswith("no score: ")
    assert warnings_of(object(), Document("d", ()), None) == ("no score: the text has no sentence",)
    assert warnings_of(object(), Document("e", ("A cat sat.", "It slept.", "Rain fell.")), 0.0) == ()


@pytest.mark.parametrize("name", ["recursive", "hmm-entity", "hmm-content"])
def test_models_with_parsers_inside_have_remarks_too(name: str) -> None:
    assert isinstance(create_model(name, {}), RemarkingModel)
