"""Which pipeline is used, what is said of one that cannot be, and the folder that weft's own comes in."""

from __future__ import annotations

import doctest
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tools.parse_accuracy
import tools.silver_parses
from tools.parse_accuracy import parse_accuracy
from tools.silver_parses import HELD_OUT, PARTS, part_of, read_silver
from tools.train_parser import save_packed

from weft.corpora.syntax import spacy_pipelines
from weft.corpora.syntax.packed_pipeline import EMBEDDED, load_packed
from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.parser import find_parser
from weft.errors import ConfigError, CorpusError, ModelError
from weft.io.model_folder import Artifact, load_artifact, save_artifact

spacy = pytest.importorskip("spacy")
SENTENCE = "The dog chased the cat."


@pytest.fixture(scope="module")
def language() -> Any:
    """The pipeline inside weft, loaded once; tests leave it as it is."""
    return load_packed(EMBEDDED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, language: Any) -> Path:
    """The pipeline inside weft, as spaCy writes it."""
    place = tmp_path_factory.mktemp("spacy") / "pipeline"
    language.add_pipe("sentencizer")
    language.to_disk(place)
    language.remove_pipe("sentencizer")
    return place


def as_package(monkeypatch: pytest.MonkeyPatch, language: Any, *names: str) -> list[str]:
    """Pretend that packages are installed, and return the list of the names that spaCy then loads."""
    loaded: list[str] = []

    def load(name: str) -> Any:
        loaded.append(name)
        return language

    monkeypatch.setattr(spacy.util, "is_package", lambda name: name in names)
    monkeypatch.setattr(spacy, "load", load)
    monkeypatch.setattr(spacy_pipelines, "load_packed", lambda place: language)
    return loaded


def test_our_own_is_used_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch, language: Any) -> None:
    loaded = as_package(monkeypatch, language)
    assert find_parser().name == "weft-parser 1.0.0"
    assert loaded == []


def test_an_installed_one_goes_before_our_own(monkeypatch: pytest.MonkeyPatch, language: Any) -> None:
    loaded = as_package(monkeypatch, language, "en_core_web_sm", "en_core_web_lg")
    find_parser()
    find_parser("weft-parser")
    assert loaded == ["en_core_web_sm"]


def test_a_named_one_goes_before_an_installed_one(monkeypatch: pytest.MonkeyPatch, folder: Path, language: Any) -> None:
    loaded = as_package(monkeypatch, language, "en_core_web_sm", "en_core_web_lg")
    find_parser("en_core_web_lg")
    find_parser(str(folder))
    assert loaded == ["en_core_web_lg", str(folder)]


def test_a_folder_of_spacy_is_used_without_what_parsing_does_not_need(folder: Path) -> None:
    pipeline = spacy_pipelines.load_pipeline(str(folder))
    assert pipeline.name == "en_weft-parser 1.0.0" or pipeline.name == "weft-parser 1.0.0"
    assert pipeline.language.pipe_names == ["tok2vec", "tagger", "parser"]
    assert pipeline.annotate([SENTENCE]) == spacy_pipelines.load_pipeline("weft-parser").annotate([SENTENCE])


def test_without_spacy_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(
        ConfigError, match=r"needs spaCy.*allowed: the extra `parse`; next: pip install 'weft-coherence\[parse\]'"
    ):
        find_parser()


@pytest.mark.parametrize("name", ["en_core_web_smm", "no/such/folder", "nul\0", "x" * 5000])
def test_a_pipeline_that_is_not_there(name: str) -> None:
    with pytest.raises(ConfigError, match="no such spaCy pipeline: saw .*; allowed: .*weft-parser; next: install it"):
        find_parser(name)


def test_a_folder_or_package_that_is_no_pipeline(tmp_path: Path) -> None:
    for name in (str(tmp_path), "numpy"):
        with pytest.raises(ConfigError, match="cannot be used as a spaCy pipeline"):
            find_parser(name)


@pytest.mark.parametrize(
    ("language", "parts", "what"),
    [
        ("en", ["tagger"], "a pipeline without a parser"),
        ("en", [], "a pipeline without a tagger and a parser"),
        ("de", ["tagger", "parser"], "for the language 'de', not for English"),
        ("xx", ["tagger", "parser"], "for the language 'xx', not for English"),
        ("en", ["tagger", "parser"], "cannot be used as a spaCy pipeline"),  # never trained
    ],
)
def test_a_pipeline_that_does_not_do(tmp_path: Path, language: str, parts: list[str], what: str) -> None:
    made = spacy.blank(language)
    for part in parts:
        made.add_pipe(part)
    made.to_disk(tmp_path / "made")
    with pytest.raises(ConfigError, match=what):
        find_parser(str(tmp_path / "made"))


def test_fingerprints_tell_pipelines_apart(tmp_path: Path) -> None:
    own = find_parser("weft-parser").fingerprint
    assert find_parser("weft-parser").fingerprint == own
    save_artifact(changed(tensors={"tagger.3.b": 1.0}), tmp_path / "other")
    assert find_parser(str(tmp_path / "other")).fingerprint != own


def changed(*, tensors: dict[str, float] | None = None, **fields: Any) -> Artifact:
    """The embedded folder with something added to weights, or other fields."""
    whole = load_artifact(EMBEDDED)
    kept = {name: np.asarray(value + (tensors or {}).get(name, 0), np.float16) for name, value in whole.tensors.items()}
    parts = {"model": whole.model, "config": whole.config, "tensors": kept, "texts": whole.texts, **fields}
    assert not tensors or set(tensors) <= set(kept)
    return Artifact(**parts)


def test_packing_and_unpacking_keeps_the_parses(tmp_path: Path, language: Any) -> None:
    save_packed(language, tmp_path / "again", version="1.0.0", training={})
    again, once = load_artifact(tmp_path / "again"), load_artifact(EMBEDDED)
    assert again.texts == once.texts
    assert all((again.tensors[name] == value).all() for name, value in once.tensors.items())


def test_a_weight_that_float16_cannot_hold_is_refused(tmp_path: Path, language: Any) -> None:
    node = next(node for node in language.get_pipe("tagger").model.walk() if node.has_param("b"))
    before = node.get_param("b").copy()
    node.set_param("b", before + 1e6)
    with pytest.raises(ModelError, match="does not fit float16"):
        save_packed(language, tmp_path / "large", version="1.0.0", training={})
    node.set_param("b", before)


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "parser")
    weights = tmp_path / "parser" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ModelError, match="damaged or was altered"):
        load_packed(tmp_path / "parser")


def test_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    whole = load_artifact(EMBEDDED)
    short = {name: value[:-1] if name == "tagger.3.b" else value for name, value in whole.tensors.items()}
    for number, (artifact, what) in enumerate(
        [
            (changed(model="random"), "not a parser"),
            (
                changed(config={**whole.config, "spacy": "3.7"}),
                r"does not fit the installed spaCy: saw .*allowed: .*3\.7",
            ),
            (Artifact(whole.model, whole.config, short, whole.texts), "wrong shape"),
            (Artifact(whole.model, whole.config, {}, whole.texts), "damaged"),
            (changed(texts={}), "damaged"),
        ]
    ):
        save_artifact(artifact, tmp_path / str(number))
        with pytest.raises(ModelError, match=what):
            load_packed(tmp_path / str(number))


def test_the_embedded_folder_is_small_and_says_how_it_was_made() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 5 * 2**20
    training = json.loads((EMBEDDED / "model.json").read_text())["training"]
    assert training["held_out"]["las"] >= 0.91
    assert {"commands", "seed", "data", "sentences", "development", "spacy"} <= set(training)
    settings = (EMBEDDED / "pipeline.cfg").read_text()
    assert "train = null" in settings and "[training.optimizer" in settings


def test_parts_are_a_function_of_the_text() -> None:
    parts = [part_of(f"Sentence {number}.") for number in range(20_000)]
    shares = [parts.count(part) / len(parts) for part in PARTS]
    assert shares == pytest.approx([0.05, 0.01, 0.94], abs=0.005)


@pytest.mark.parametrize(
    "line",
    [
        '{"words": ["a"]}',
        '{"words": [], "spaces": [], "tags": [], "heads": [], "deps": []}',
        '{"words": ["a"], "spaces": [0], "tags": ["NN"], "heads": [1], "deps": ["ROOT"]}',
        '{"words": ["a"], "spaces": [0], "tags": ["NN", "NN"], "heads": [0], "deps": ["ROOT"]}',
        '{"words": [1], "spaces": [0], "tags": ["NN"], "heads": [0], "deps": ["ROOT"]}',
    ],
)
def test_a_line_that_is_no_parse_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "silver.jsonl"
    path.write_text(line)
    with pytest.raises(CorpusError, match="not a parsed sentence"):
        list(read_silver(path))


def test_accuracy_matches_words_by_their_characters() -> None:
    right = ParsedSentence(("a", "b", "c", "."), ("X", "Y", "Z", "."), (1, 1, 1, 1), ("nsubj", "ROOT", "dobj", "punct"))
    assert set(parse_accuracy([right], [right]).values()) == {1.0}
    cut_otherwise = ParsedSentence(("ab", "c", "."), ("Y", "Z", "."), (0, 0, 0), ("ROOT", "dobj", "punct"))
    measures = parse_accuracy([right], [cut_otherwise])
    assert measures["tag_accuracy"] == 0.5
    assert measures["las"] == measures["uas"] == measures["nsubj_f1"] == measures["dobj_f1"] == 0


@pytest.mark.shared
@pytest.mark.slow
def test_held_out_sentences_are_parsed_as_well_as_the_folder_says(shared_data: Path) -> None:
    import itertools

    from spacy.training import Example

    source = shared_data / "silver_parses" / "silver.jsonl.xz"
    held_out = [one for one in itertools.islice(read_silver(source), 20_000) if one.part == HELD_OUT]
    assert len(held_out) > 800
    parses = find_parser("weft-parser").parse([one.text for one in held_out])
    measures = parse_accuracy([one.parse for one in held_out], parses)
    assert measures["las"] > 0.92 and measures["tag_accuracy"] > 0.97
    assert measures["nsubj_f1"] > 0.94 and measures["dobj_f1"] > 0.92
    # The same arithmetic as spaCy's, on the words that both cut alike.
    language = load_packed(EMBEDDED)
    examples = []
    for one, found in zip(held_out, parses, strict=True):
        columns = {"tags": list(one.parse.tags), "heads": list(one.parse.heads), "deps": list(one.parse.labels)}
        right = {"words": list(one.parse.words), "spaces": list(one.spaces), **columns}
        predicted = spacy.tokens.Doc(
            language.vocab,
            words=list(found.words),
            tags=list(found.tags),
            heads=list(found.heads),
            deps=list(found.labels),
        )
        examples.append(Example.from_dict(predicted, right))
    scores = spacy.scorer.Scorer.score_deps(examples, "dep", getter=_label, head_attr="head", ignore_labels=("punct",))
    assert measures["las"] == pytest.approx(scores["dep_las"], abs=0.003)


def _label(token: Any, attribute: str) -> str:
    return str(token.dep_.lower()) if attribute == "dep" else str(getattr(token, attribute))


@pytest.mark.parametrize("module", [tools.parse_accuracy, tools.silver_parses])
def test_examples_of_the_parser_tools_run(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
