"""The transformer: its numbers are those of weft, and it behaves as scikit-learn wants."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

import weft
from weft.document import Score
from weft.protocols import ShuffleJudge
from weft.scoring.own_shuffles import own_shuffles_beaten

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
ROOT = Path(__file__).parents[2]
TEXTS = ["A cat sat on a mat. The cat slept. Rain fell.", "Bees visit flowers. They drink nectar.", "One sentence.", ""]
# The checks of scikit-learn that pass no numbers; it skips most of its checks for an estimator that takes strings.
CHECKS = (
    "check_estimator_cloneable", "check_estimator_tags_renamed", "check_valid_tag_types", "check_estimator_repr",
    "check_no_attributes_set_in_init", "check_mixin_order", "check_parameters_default_constructible",
    "check_get_params_invariance", "check_set_params", "check_do_not_raise_errors_in_init_or_set_param",
)  # fmt: skip


def light(**options: Any) -> Any:
    return weft.CoherenceFeatures(**{"model": "foltz-sif", "entity": None, "lexical": "foltz-glove", **options})


def test_the_numbers_are_those_of_the_scores() -> None:
    features = light(model="weft-reader", genre="essay")
    rows = features.fit_transform(TEXTS)
    assert [*features.get_feature_names_out()] == [
        "coherence", "lowest_link", "breaks", "own_shuffles", "percentile", "fluency", "lexical",
    ]  # fmt: skip
    first = weft.score(TEXTS[0], genre="essay")
    assert rows[0, [0, 1, 2, 4, 5]] == pytest.approx(
        [first.value, min(first.transitions), len(first.breaks), first.percentile, first.fluency], abs=1e-5
    )
    assert rows[0, 6] == weft.score(TEXTS[0], model="foltz-glove").value
    assert 0 <= rows[0, 3] <= 1 and np.isnan(rows[1, 3])  # two sentences have no random orders
    assert np.isnan(rows[2:]).all()


def test_entities_are_a_feature_of_the_default() -> None:
    pytest.importorskip("spacy")
    features = light(entity="entity-graph", shuffles=0)
    rows = features.fit_transform(TEXTS[:1])
    assert [*features.get_feature_names_out()][-2:] == ["entity", "lexical"]
    assert rows[0, -2] == weft.score(TEXTS[0], model="entity-graph").value
    assert rows[0, -2] > 0
    assert weft.CoherenceFeatures().entity == "entity-graph"


def test_any_kind_of_list_is_taken_and_frames_keep_their_index() -> None:
    expected = light().fit_transform(TEXTS)
    for texts in (np.array(TEXTS), pd.Series(TEXTS), pl.Series(TEXTS), tuple(TEXTS)):
        assert np.array_equal(light().fit_transform(texts), expected, equal_nan=True)
    frame = light().set_output(transform="pandas").fit_transform(pd.Series(TEXTS, index=[4, 7, 1, 0]))
    assert [*frame.index] == [4, 7, 1, 0] and [*frame.columns] == [*light().get_feature_names_out()]
    assert light().fit_transform(TEXTS[0]).shape == (1, 7) and light().fit_transform([]).shape == (0, 7)
    with pytest.raises(weft.CorpusError, match="frame\\['text'\\]"):
        light().fit_transform(pd.DataFrame({"text": TEXTS}))


def test_it_works_in_pipelines_and_for_a_column() -> None:
    labels = [1, 1, 0, 0]
    pipe = make_pipeline(light(), SimpleImputer(keep_empty_features=True), LogisticRegression()).fit(TEXTS, labels)
    assert pipe.predict(TEXTS).shape == (4,)
    pipe.set_params(coherencefeatures__shuffles=0).fit(TEXTS, labels)
    table = pd.DataFrame({"text": TEXTS, "other": [1, 2, 3, 4]})
    columns = make_column_transformer((light(shuffles=0), "text"), remainder="passthrough")
    assert columns.set_output(transform="pandas").fit_transform(table).shape == (4, 7)


@pytest.mark.parametrize("model", ["weft-reader", weft.load("weft-reader"), weft.load("random", settings={"seed": 5})])
def test_copies_and_saved_pipelines_have_the_same_numbers(model: Any) -> None:
    features = light(model=model, lexical=None, shuffles=0)
    expected = features.fit_transform(TEXTS)
    for copied in (clone(features), pickle.loads(pickle.dumps(features))):
        assert np.array_equal(copied.transform(TEXTS), expected, equal_nan=True)


def test_a_pipeline_is_validated_in_folds() -> None:
    essays = [json.loads(line)["text"] for line in (ROOT / "examples" / "essays.jsonl").read_text().splitlines()[:8]]
    shuffled = [" ".join(sorted(weft.split_sentences(text))) for text in essays]
    pipe = make_pipeline(weft.CoherenceFeatures(weft.load(), entity=None, shuffles=0), LogisticRegression())
    found = cross_val_score(pipe, essays + shuffled, [1] * 8 + [0] * 8, cv=2, error_score="raise")
    assert found.shape == (2,) and found.mean() > 0.5


def test_scikit_learn_accepts_it() -> None:
    with pytest.warns(match="Can't test estimator"):  # the checks that pass arrays of numbers
        check_estimator(light())
    for name in CHECKS:
        check = vars(estimator_checks).get(name)
        if check is not None:  # it has another name in another version
            check("CoherenceFeatures", light())
    copied = clone(light(shuffles=7))
    assert copied.get_params() == light(shuffles=7).get_params()


def test_unknown_models_are_reported_by_fit() -> None:
    with pytest.raises(weft.ConfigError, match="unknown model"):
        light(lexical="nope").fit(TEXTS)


@pytest.mark.parametrize("shuffles", [-1, 1.5, "x", None, 10**9, np.array([1, 2])])
def test_wrong_numbers_of_shuffles_are_explained(shuffles: Any) -> None:
    with pytest.raises(weft.ConfigError, match="random orders"):
        light(shuffles=shuffles).fit(TEXTS)


def test_own_shuffles_are_counted_as_a_reader_counts_them() -> None:
    text = weft.Document("d", tuple(f"In {year} it rained." for year in (1812, 1836, 1840, 1870)))
    years = weft.load("year-sort")
    own, wrong = (years.score(one) for one in (text, text.reorder([3, 2, 1, 0])))
    assert own_shuffles_beaten(years.inner, own) == 1.0 and own_shuffles_beaten(years.inner, wrong) == 0.0
    assert own_shuffles_beaten(years.inner, own, shuffles=5, seed=2) == 1.0
    assert not isinstance(years.inner, ShuffleJudge) and own_shuffles_beaten(years.inner, Score(None)) is None


@pytest.mark.parametrize(
    ("texts", "advice"),
    [
        (np.array([["A cat sat."], ["It slept."]]), "name the column as 'text'"),
        (np.array("A cat sat."), "item"),
    ],
)
def test_input_with_columns_is_told_which_to_pass(texts: object, advice: str) -> None:
    with pytest.raises(weft.CorpusError) as caught:
        weft.CoherenceFeatures(model="foltz-sif", entity=None, shuffles=0).fit_transform(texts)
    assert advice in str(caught.value.next_step)


def test_a_frame_is_told_which_column_to_pass() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(weft.CorpusError, match="name it as 'text'"):
        weft.CoherenceFeatures(model="foltz-sif").transform(pandas.DataFrame({"text": ["A cat sat."]}))
