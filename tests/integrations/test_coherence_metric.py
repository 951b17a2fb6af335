"""The metric: means and scores per text, in the way of the library evaluate; and frames with the index of a Series."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import weft

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")

ROOT = Path(__file__).parents[2]
TEXTS = ["A cat sat. The cat slept. Rain fell.", "Bees visit flowers. They drink nectar.", "One sentence."]


def test_the_mean_is_over_the_texts_that_have_a_score() -> None:
    found = weft.metric("foltz-sif").compute(predictions=TEXTS)
    expected = [score.value for score in weft.score(TEXTS, model="foltz-sif")]
    assert found["scores"] == expected and found["coherence"] == fmean(value for value in expected if value is not None)
    assert (found["scored"], found["repetitive"]) == (2, 0) and "difference" not in found
    assert json.loads(json.dumps(found)) == found


def test_references_are_scored_too() -> None:
    metric = weft.metric("foltz-sif")
    found = metric.compute(predictions=TEXTS[:2], references=TEXTS[1::-1])
    assert found["reference_coherence"] == found["coherence"] and found["difference"] == 0
    nothing = metric.compute(predictions=TEXTS[2:], references=TEXTS[:1])
    assert nothing["coherence"] is None and nothing["difference"] is None


def test_texts_can_be_added_one_by_one() -> None:
    metric = weft.metric("foltz-sif")
    metric.add(prediction=TEXTS[0])
    metric.add_batch(predictions=TEXTS[1:2])
    assert metric.compute(predictions=TEXTS[2:]) == weft.metric("foltz-sif").compute(predictions=TEXTS)
    with pytest.raises(weft.ConfigError, match="0 predictions"):
        metric.compute()


@pytest.mark.parametrize("references", [TEXTS[:1], TEXTS * 2])
def test_there_are_as_many_references_as_predictions(references: list[str]) -> None:
    with pytest.raises(weft.ConfigError, match="3 predictions"):
        weft.metric("foltz-sif").compute(predictions=TEXTS, references=references)


@pytest.mark.parametrize("texts", [3, weft.Document, [b"A cat sat."], [None], {"a": "b"}])
def test_what_is_no_text_is_refused_and_not_kept(texts: Any) -> None:
    metric = weft.metric("foltz-sif")
    with pytest.raises(weft.CorpusError, match="not a text"):
        metric.compute(predictions=texts)
    assert metric.compute(predictions=pl.Series(TEXTS), references=pd.Series(TEXTS))["difference"] == 0


def test_repetition_is_counted() -> None:
    found = weft.metric().compute(predictions=["The cat slept on the mat. " * 5, TEXTS[0]])
    assert found["repetitive"] == 1 and "repetition" in found["warning_codes"][0]
    assert found["scores"][0] < found["scores"][1]
    assert found["fluency"] == fmean(found["fluencies"])


def test_the_reranking_example_puts_a_repetitive_answer_last(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "rerank_answers.py"))
    answers = [" ".join(sentences) for sentences in example["CANDIDATES"].values()]
    sound, repetitive = len(answers) - 1, 0
    by_model = {model: weft.score(answers, model=model) for model in ("weft-reader", "foltz-sif")}
    for model, scores in by_model.items():
        assert "repetition" in {warning.code for warning in scores[repetitive].warnings}
        assert example["rerank"](answers, model=model)[-1] == repetitive
    fluencies = [score.fluency for score in by_model["weft-reader"] if score.fluency is not None]
    assert min(fluencies) == fluencies[repetitive]
    assert example["rerank"](answers)[0] == sound
    example["main"]()
    assert len(capsys.readouterr().out.splitlines()) > len(answers)


# Frames ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index",
    [
        [10, 3, 7],
        ["a", "b", "c"],
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")]),
        pd.date_range("2026-01-01", periods=3),
    ],
    ids=["numbers", "names", "levels", "dates"],
)
def test_frames_keep_the_index_of_a_series(index: Any) -> None:
    table = pd.DataFrame({"text": TEXTS}, index=index)
    scores = weft.score(table["text"], model="foltz-sif")
    assert weft.to_frame(scores).index.equals(table.index)
    table["value"] = weft.to_frame(scores)["value"]
    assert [*table["value"].dropna()] == [score.value for score in scores[:2]]
    kept = weft.to_frame([score for score in scores if score.value is not None][::-1])
    assert kept.index.equals(table.index[[1, 0]])
    assert weft.to_frame(weft.order(table["text"], model="foltz-sif")).index.equals(table.index)


def test_labels_do_not_show_in_results() -> None:
    series = pd.Series(TEXTS, index=[10, 3, 7])
    scores = weft.score(series, model="foltz-sif")
    assert scores == weft.score(TEXTS, model="foltz-sif")
    assert "label" not in scores[0].to_dict() and "label" not in weft.order(series, model="foltz-sif")[0].to_dict()
    mixed = weft.to_frame([*scores, weft.score(TEXTS[0], model="foltz-sif")])
    assert [*mixed.index] == [0, 1, 2, 3]


def test_polars_in_and_out() -> None:
    table = pl.DataFrame({"text": TEXTS})
    found = weft.to_frame(weft.score(table["text"], model="foltz-sif"), library="polars")
    joined = pl.concat([table, found.select("value", "breaks")], how="horizontal")
    assert joined.shape == (3, 3) and joined["value"].null_count() == 1
