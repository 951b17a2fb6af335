"""One battery over every model in the registry: what a CoherenceModel promises, each one keeps."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.tiny_causal_lm import tiny_lm

from weft.corpora.syntax.spacy_pipelines import load_pipeline
from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.hub import load_model
from weft.io.model_folder import load_artifact, save_artifact
from weft.protocols import Arranger, CoherenceModel, ModelCard, PairwiseModel
from weft.registry import MODELS, create_model, model_class
from weft.scoring.uni_bi_mmi import path_value
from weft.training import fit_documents

TOPICS = (
    "The cat chased a mouse through the garden.",
    "The mouse hid under an old tree.",
    "Cats like to sleep in the sun.",
    "In 1929 the stock market fell sharply.",
    "Banks closed and investors lost their money.",
    "By 1933 the market had begun to recover.",
)
CORPUS = [Document(f"c{n}", tuple(TOPICS[(n + i) % 6] for i in range(4))) for n in range(24)]
TEXTS = [
    Document("long", TOPICS),
    Document("two", TOPICS[:2]),
    Document("strange", ("Qwxz jkqp.", "…", "日本語の文。", "\u0000\u200b", "a" * 500)),
]
SMALL: dict[str, dict[str, Any]] = {
    "entity-grid": {"permutations": 4},
    "foltz-lda": {"topics": 4, "iterations": 20, "drop_top": 0},
    "foltz-lsa": {"dimensions": 3},
    "hmm-lda": {"topics": 3, "iterations": 5, "drop_top": 0, "rarest": 1, "prior_words": 1.0},
    "hmm-lda-gm": {"topic_count": 3, "dimensions": 16, "hidden": 16, "layers": 1, "guide": 4},
    "vlv-gm": {"dimensions": 16, "hidden": 16, "layers": 1, "latent": 4, "width": 16, "samples": 2},
    "seq2seq": {"dimensions": 16, "hidden": 16, "layers": 1},
    "syntax-hmm": {"clusters": 3, "members": 2},
    "content-hmm": {"clusters": 3, "members": 2},
    "hmm-entity": {"folds": 2, "syntax": {"clusters": 3, "members": 2}},
    "hmm-content": {"folds": 2, "syntax": {"clusters": 3, "members": 1}, "content": {"clusters": 3, "members": 1}},
    "discriminative": {"dimensions": 16, "hidden": 16, "width": 16},
    "discriminative-pair": {"dimensions": 16, "hidden": 16, "width": 16},
    "recursive": {"dimensions": 16, "hidden": 16, "width": 16},
    "reader": {"hidden": 16, "layers": 2, "local_layers": 1, "heads": 2, "feed_forward": 32, "pair": 8, "fewest": 3},
}


@pytest.fixture(scope="module", autouse=True)
def few_steps() -> Iterator[None]:
    """What is asked here does not hang on how much a model has learned."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fit_documents, "SHORT", replace(fit_documents.SHORT, steps=10, warmup=2))
        yield


@pytest.fixture(scope="module", autouse=True)
def one_pipeline() -> Iterator[None]:
    """All parsers share a pipeline, because every model that is loaded would read its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("weft.corpora.syntax.parser.load_pipeline", cache(load_pipeline))
        yield


@pytest.fixture(scope="module", params=list(MODELS))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CoherenceModel:
    if request.param == "hf":
        pytest.importorskip("transformers", reason="the extra `hf` is not installed")
        SMALL["hf"] = {"model": str(tiny_lm(tmp_path_factory.mktemp("hf") / "tiny"))}
    if request.param == "foltz-embedding":
        pytest.importorskip("sentence_transformers", reason="the extra `hf` is not installed")
    if request.param == "seq2seq":
        pytest.importorskip("torch", reason="torch is not installed")
    if request.param == "foltz-lda":
        pytest.importorskip("tomotopy", reason="the extra `topics` is not installed")
    if request.param.startswith(("syntax-", "entity-", "hmm-entity", "hmm-content", "recursive")):
        pytest.importorskip("spacy", reason="the extra `parse` is not installed")
    return create_model(request.param, SMALL.get(request.param, {})).fit(CORPUS, seed=1)


def test_it_says_what_its_score_means(model: CoherenceModel) -> None:
    assert isinstance(model.card, ModelCard)
    for name in ("summary", "reference", "score_range", "meaning", "comparable", "needs"):
        assert getattr(model.card, name)
    text = inspect.getdoc(type(model)) or ""
    assert "Example:" in text, "a model class documents one runnable example"


def test_scores_are_finite_or_null_and_one_a_document(model: CoherenceModel) -> None:
    scores = model.score(TEXTS)
    assert len(scores) == len(TEXTS)
    for document, score in zip(TEXTS, scores, strict=True):
        assert score.value is not None
        assert math.isfinite(score.value)
        assert len(score.transitions) in {0, len(document) - 1}
        assert all(math.isfinite(part) for part in score.transitions)


def test_the_value_is_the_mean_of_its_transitions(model: CoherenceModel) -> None:
    for score in model.score(TEXTS):
        if score.transitions:
            assert score.value == pytest.approx(np.mean(score.transitions), abs=1e-6)


@pytest.mark.parametrize("sentences", [(), ("One sentence alone.",)])
def test_nothing_to_judge_is_null_and_not_nan(model: CoherenceModel, sentences: tuple[str, ...]) -> None:
    score = model.score([Document("short", sentences)])[0]
    assert score.value is None
    assert score.transitions == ()


def test_no_documents_no_scores(model: CoherenceModel) -> None:
    assert model.score([]) == []


def test_scores_do_not_depend_on_the_neighbours_in_the_batch(model: CoherenceModel) -> None:
    together = model.score([*CORPUS, *TEXTS])[-len(TEXTS) :]
    alone = [model.score([document])[0] for document in TEXTS]
    for one, other in zip(together, alone, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-5)


def test_scoring_twice_gives_the_same(model: CoherenceModel) -> None:
    assert model.score(TEXTS) == model.score(TEXTS)


def adjustable_values(model: CoherenceModel) -> dict[str, Any]:
    return {name: vars(model.settings)[name] for name in model.settings.adjustable()}


def test_settings_that_can_change_after_training_are_there_and_change(
    model: CoherenceModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.save(tmp_path / "m")
    monkeypatch.chdir(tmp_path)
    settings = adjustable_values(model)
    if settings:
        assert load_model(tmp_path / "m", settings).score(TEXTS[:1]) == load_model(tmp_path / "m").score(TEXTS[:1])
    if "parser" in settings:
        other = load_model(tmp_path / "m", {"parser": "no-such-pipeline"})
        with pytest.raises(ConfigError, match="no such spaCy pipeline"):
            other.score(TEXTS[:1])


def test_the_table_agrees_with_the_score(model: CoherenceModel) -> None:
    if not isinstance(model, PairwiseModel):
        pytest.skip("no table")
    for document in TEXTS:
        table = model.pair_table(document)
        assert table.shape == (len(document), len(document))
        assert np.isfinite(table).all()
        expected = model.score([document])[0].value
        assert path_value(table, range(len(document))) == pytest.approx(expected, abs=1e-5)


def test_the_table_follows_a_reordering(model: CoherenceModel) -> None:
    if not isinstance(model, PairwiseModel):
        pytest.skip("no table")
    order = [3, 0, 5, 1, 4, 2]
    whole, reordered = model.pair_table(TEXTS[0]), model.pair_table(TEXTS[0].reorder(order))
    off_diagonal = ~np.eye(6, dtype=bool)
    assert reordered[off_diagonal] == pytest.approx(whole[np.ix_(order, order)][off_diagonal], abs=1e-5)


def test_an_arranger_returns_a_permutation(model: CoherenceModel) -> None:
    if not isinstance(model, Arranger):
        pytest.skip("searches instead")
    assert sorted(model.arrange(TEXTS[0])) == list(range(6))
    assert model.arrange(TEXTS[0], first=4)[0] == 4


def test_save_load_same_scores(model: CoherenceModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m", training={"seed": 1, "command": "a test"})
    again = load_model(tmp_path / "m")
    assert type(again) is type(model)
    for one, other in zip(model.score(TEXTS), again.score(TEXTS), strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-9)
    manifest = json.loads((tmp_path / "m" / "model.json").read_text())
    assert manifest["training"]["command"] == "a test"
    assert not [path for path in (tmp_path / "m").iterdir() if path.suffix in {".pkl", ".pt", ".bin", ".joblib"}]


def test_saved_bytes_are_the_same_each_time(model: CoherenceModel, tmp_path: Path) -> None:
    model.save(tmp_path / "a")
    model.save(tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_fitting_twice_with_one_seed_gives_the_same_model(model: CoherenceModel) -> None:
    name = next(name for name in MODELS if type(model) is model_class(name))
    again = create_model(name, SMALL.get(name, {})).fit(CORPUS, seed=1)
    assert [s.value for s in again.score(TEXTS)] == pytest.approx([s.value for s in model.score(TEXTS)], abs=1e-6)


UNTRAINED = (
    "entity-grid", "entity-grid-generative", "foltz-lsa", "foltz-lda", "hmm-lda", "hmm-lda-gm", "seq2seq", "vlv-gm",
    "content-hmm", "syntax-hmm", "syntax-local", "hmm-entity", "hmm-content",
    "discriminative", "discriminative-pair", "recursive", "reader",
)  # fmt: skip


@pytest.mark.parametrize("name", UNTRAINED)
def test_a_model_that_must_learn_says_so(name: str, tmp_path: Path) -> None:
    untrained = create_model(name)
    with pytest.raises(ModelError, match=f"{name} has not been trained.*weft train configs/{name}.toml"):
        untrained.score(TEXTS)
    with pytest.raises(ModelError, match="has not been trained"):
        untrained.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


# Settings ---------------------------------------------------------------------------------------------------------

OUT_OF_RANGE = [
    ("foltz-lda", "topics", (1, 0, -1, 2**15)),
    ("foltz-lda", "vocabulary", (0, -1, 10**30)),
    ("foltz-lda", "drop_top", (-1, 10**30)),
    ("foltz-lda", "iterations", (0, -5)),
    ("foltz-lda", "fold_in_steps", (0, -1)),
    ("foltz-lsa", "dimensions", (0, -5)),
    ("foltz-lsa", "vocabulary", (1, 0, -1)),
    ("foltz-embedding", "batch_size", (0, -1)),
    ("foltz-glove", "limit", (-1,)),
    ("entity-grid", "longest", (1, 4)),
    ("entity-grid", "salience", (-1,)),
    ("entity-grid", "permutations", (0,)),
    ("entity-grid", "shortest", (1,)),
    ("entity-grid-generative", "history", (0, 4)),
    ("random", "seed", (-1, 2**32)),
    ("syntax-hmm", "clusters", (0, -1, 10**6)),
    ("syntax-hmm", "members", (0, -1, 1000)),
    ("syntax-hmm", "depth", (-1,)),
    ("content-hmm", "smallest", (-1,)),
    ("content-hmm", "iterations", (-1,)),
    ("syntax-local", "vocabulary", (0, 10**6)),
    ("hmm-entity", "folds", (1, 0)),
    ("hmm-content", "permutations", (0,)),
    ("discriminative", "window", (0, -1, 101)),
    ("discriminative", "each", (0, 1001)),
    ("discriminative-pair", "width", (0, -1)),
    ("recursive", "hidden", (0, -1)),
    ("reader", "local_layers", (-1, 7)),
    ("hf", "longest", (15, 0, -1)),
    ("hf", "batch_tokens", (-1,)),
]


@pytest.mark.parametrize(("name", "setting", "values"), OUT_OF_RANGE)
def test_settings_out_of_range_are_refused_at_once(name: str, setting: str, values: tuple[int, ...]) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=f"{name}.*{setting}.* is out of range.*saw {value}; allowed.*next"):
            create_model(name, {setting: value})


@pytest.mark.parametrize("seed", [-1, 2**32, 99999999999999, 99999999999999999999])
@pytest.mark.parametrize("name", ["foltz-lsa", "foltz-lda"])
def test_seeds_out_of_range_are_refused(name: str, seed: int) -> None:
    with pytest.raises(ConfigError, match=f"{name}'s `seed` is out of range.*saw {seed}; allowed.*4294967295"):
        create_model(name, SMALL[name]).fit(CORPUS, seed=seed)


def altered(folder: Path, tensors: dict[str, object], **config: object) -> Path:
    """A model folder in good order with other settings or weights."""
    artifact = load_artifact(folder)
    weights = {**artifact.tensors, **{name: np.asarray(value) for name, value in tensors.items()}}
    changed = replace(artifact, config={**artifact.config, **config}, tensors=weights)
    save_artifact(changed, folder)
    return folder


NOT_WHOLE: tuple[object, ...] = ("x", None, [1], float("inf"), float("nan"), 1.5, True, {}, -1, 10**30)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("random", "seed"),
        ("foltz-embedding", "batch_size"),
        ("foltz-lsa", "dimensions"),
        ("foltz-lsa", "vocabulary"),
        ("foltz-lda", "topics"),
        ("foltz-lda", "vocabulary"),
        ("foltz-lda", "drop_top"),
        ("foltz-lda", "iterations"),
        ("foltz-lda", "fold_in_steps"),
    ],
)
def test_saved_settings_are_checked_like_given_ones(name: str, setting: str, tmp_path: Path) -> None:
    if name == "foltz-lda":
        pytest.importorskip("tomotopy", reason="the extra `topics` is not installed")
    create_model(name, SMALL.get(name, {})).fit(CORPUS, seed=1).save(tmp_path / "m")
    for value in NOT_WHOLE:
        altered(tmp_path / "m", {}, **{setting: value})
        with pytest.raises(ModelError, match=f"settings in .*m are damaged.*{name}.*{setting}.*saw.*allowed.*next"):
            load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("foltz-glove", "weighting", ["sif"]),
        ("foltz-glove", "weighting", None),
        ("foltz-sif", "weighting", "tfidf"),
        ("foltz-embedding", "encoder", 3),
        ("foltz-embedding", "encoder", None),
        ("hf", "model", 3),
        ("hf", "dtype", None),
        ("entity-graph", "projection", "p_x"),
        ("entity-graph", "distance", "yes"),
        ("entity-graph", "parser", None),
        ("entity-graph", "nouns", 3),
    ],
)
def test_saved_names_are_checked_like_given_ones(name: str, setting: str, value: object, tmp_path: Path) -> None:
    create_model(name).save(tmp_path / "m")
    with pytest.raises(ModelError, match=f"settings in .*m are damaged.*{setting}"):
        load_model(altered(tmp_path / "m", {}, **{setting: value}))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_numbers_are_refused(bad: float, tmp_path: Path) -> None:
    create_model("foltz-lsa", {"dimensions": 3}).fit(CORPUS).save(tmp_path / "m")
    weights = load_artifact(tmp_path / "m").tensors
    scales, vectors = weights["scales"].copy(), weights["vectors"].astype(np.float32)
    scales[1] = vectors[1, 1] = bad
    with pytest.raises(ModelError, match="not all finite.*scales"):
        load_model(altered(tmp_path / "m", {"scales": scales}))
    with pytest.raises(ModelError, match="not all finite.*vectors"):
        load_model(altered(tmp_path / "m", {"scales": weights["scales"], "vectors": vectors}))


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_topics_that_are_not_numbers_are_refused(bad: float, tmp_path: Path) -> None:
    pytest.importorskip("tomotopy", reason="the extra `topics` is not installed")
    create_model("foltz-lda", SMALL["foltz-lda"]).fit(CORPUS).save(tmp_path / "m")
    whole = load_artifact(tmp_path / "m")
    alpha = whole.tensors["alpha"].copy()
    alpha[2] = bad
    with pytest.raises(ModelError, match="not all finite|do not fit together"):
        load_model(altered(tmp_path / "m", {"alpha": alpha}))
    with pytest.raises(ModelError, match="`eta` is out of range"):
        load_model(altered(tmp_path / "m", {"alpha": whole.tensors["alpha"]}, eta=bad))
    fractions = whole.tensors["counts"].astype(np.float32)
    with pytest.raises(ModelError, match="do not fit together"):
        load_model(altered(tmp_path / "m", {"counts": fractions}, eta=0.01))


@pytest.mark.parametrize("drop_top", [3, 100, 2**31 - 1])
def test_topics_need_words_that_are_left(drop_top: int) -> None:
    """tomotopy would end the process instead of raising."""
    pytest.importorskip("tomotopy", reason="the extra `topics` is not installed")
    texts = [Document("d", ("cat cat", "dog dog", "bird bird once"))]
    with pytest.raises(CorpusError, match=rf"no words to learn.*3 words.*`drop_top`, {drop_top}.*lower `drop_top`"):
        create_model("foltz-lda", {"drop_top": drop_top, "topics": 2}).fit(texts)
    model = create_model("foltz-lda", {"drop_top": 2, "topics": 2, "iterations": 1}).fit(texts)
    assert model.score(texts)[0].value is not None


@pytest.mark.parametrize("files", [{}, {"config.json": "{}"}, {"modules.json": "x"}, {"modules.json": "[]"}])
def test_a_folder_that_is_no_sentence_encoder_is_refused(files: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra `hf` is not installed")
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ModelError, match="(no readable sentence encoder|cannot be loaded).*allowed.*next"):
        create_model("foltz-embedding", {"encoder": str(tmp_path)}).score(TEXTS)
