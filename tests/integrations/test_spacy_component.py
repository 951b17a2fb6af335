"""The spaCy component: same scores as weft.score, in batches, saved with the pipeline and with the Doc."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import weft

spacy = pytest.importorskip("spacy")

from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc, DocBin  # noqa: E402

from weft.integrations import spacy_component  # noqa: E402

ROOT = Path(__file__).parents[2]
TEXT = "Bees visit  flowers. They drink nectar.\n\nRates rose, said Dr. Smith. The nectar becomes honey."
LIGHT = {"model": "foltz-sif"}


def pipeline(*before: str, **config: Any) -> Language:
    nlp = spacy.blank("en")
    for name in before:
        nlp.add_pipe(name)
    nlp.add_pipe("weft", config={**LIGHT, **config})
    return nlp


def test_without_sentences_the_score_is_that_of_weft() -> None:
    doc, expected = pipeline()(TEXT), weft.score(TEXT, model="foltz-sif")
    found = doc._.coherence
    assert (found.value, found.links, found.breaks) == (expected.value, expected.transitions, expected.breaks)
    assert [doc[start].text for start in found.starts] == ["Bees", "They", "Rates", "The"]
    assert found.model == "foltz-sif" and found.percentile is None


def test_the_sentences_of_the_doc_are_used_if_it_has_them() -> None:
    words = ["One", "two", "three", "\n", "four"]
    doc = Doc(spacy.blank("en").vocab, words=words, sent_starts=[True, False, True, True, False])
    found = pipeline().get_pipe("weft")(doc)._.coherence
    assert found.starts == (0, 2, 3)
    assert found.value == weft.score(weft.Document("d", ("One two", "three", "four")), model="foltz-sif").value
    split = pipeline("sentencizer")(TEXT)
    assert found.links and [split[start].is_sent_start for start in split._.coherence.starts] == [True] * 4


def test_the_default_model_has_percentiles_and_warnings() -> None:
    found = spacy.blank("en")
    found.add_pipe("weft", config={"genre": "essay"})
    coherence = found("The cat slept. " * 4)._.coherence
    assert coherence.genre == "essay" and coherence.percentile is not None and coherence.fluency is not None
    assert "repetition" in coherence.warning_codes and len(coherence.warnings) == len(coherence.warning_codes)


def test_a_stream_gets_the_same_scores_in_batches_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp, sizes = pipeline(), list[int]()
    inner = weft.load("foltz-sif").inner
    scored = type(inner).score

    def counted(model: Any, documents: list[weft.Document]) -> Any:
        sizes.append(len(documents))
        return scored(model, documents)

    monkeypatch.setattr(type(inner), "score", counted)
    texts = [TEXT, "", "One sentence.", "A cat sat. It slept.", *[TEXT] * 6]
    found = [doc._.coherence.value for doc in nlp.pipe(texts, batch_size=5)]
    assert max(sizes) > 1 and sum(sizes) == len(texts)
    assert found == pytest.approx([nlp(text)._.coherence.value for text in texts])
    assert found[1] is None and found[2] is None


def test_docs_keep_their_coherence_as_bytes() -> None:
    nlp = pipeline()
    doc = nlp(TEXT)
    assert Doc(nlp.vocab).from_bytes(doc.to_bytes())._.coherence == doc._.coherence
    stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (read,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert read._.coherence == doc._.coherence
    assert spacy.blank("en")(TEXT)._.coherence is None


def test_pipelines_are_saved_with_their_settings(tmp_path: Path) -> None:
    nlp = pipeline("sentencizer", language="de")
    nlp.to_disk(tmp_path / "nlp")
    read = spacy.load(tmp_path / "nlp")
    assert read.get_pipe_config("weft") == nlp.get_pipe_config("weft") and read.get_pipe("weft").language == "de"
    copied = pipeline("sentencizer").from_bytes(nlp.to_bytes())
    assert read(TEXT)._.coherence == copied(TEXT)._.coherence == nlp(TEXT)._.coherence


@pytest.mark.slow
def test_other_processes_score_too() -> None:
    found = [doc._.coherence.value for doc in pipeline().pipe([TEXT] * 4, n_process=2, batch_size=2)]
    assert found == [weft.score(TEXT, model="foltz-sif").value] * 4


def test_wrong_names_are_explained() -> None:
    with pytest.raises(weft.ConfigError, match="unknown model"):
        pipeline(model="nope")
    with pytest.raises(weft.ConfigError, match="unknown genre.*essay"):
        pipeline(model="weft-reader", genre="poem")
    Doc.set_extension("taken", default=None)
    with pytest.raises(weft.ConfigError, match=r"doc._.taken"):
        pipeline(attribute="taken")
    doc = pipeline(attribute="thread")(TEXT)
    assert doc._.thread == spacy_component.coherence_of(doc)


def test_the_entry_point_names_the_factory() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["spacy_factories"]["weft"].partition(":")
    assert getattr(import_module(module), name) is spacy_component.create_component
    assert Language.has_factory("weft")
