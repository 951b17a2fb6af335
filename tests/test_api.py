"""The public functions: what they accept, what they return, what they refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.zoo_models import WEFT_SMALL

import weft
from weft import hub, loaded_model
from weft.api import _subject
from weft.document import weak_links
from weft.evaluation.evaluated_models import load_subjects
from weft.models.common.thread_pool import few_threads, thread_count
from weft.protocols import CoherenceModel

ROOT = Path(__file__).parents[1]
TEXT = "The cat slept on the mat. It purred in its sleep. Interest rates rose in June."
LIGHT = "foltz-sif"
EVIL = 'A <script>alert("x")</script> cat & dog sat. It slept.'


def test_a_string_is_a_text_and_not_letters() -> None:
    score = weft.score(TEXT, model=LIGHT)
    assert isinstance(score, weft.Score)
    assert score.document is not None and len(score.document) == 3
    assert len(score.transitions) == 2
    assert score.breaks == weak_links(score.transitions) == (1,)
    assert score.model == LIGHT


def test_paragraphs_of_a_string_are_kept() -> None:
    document = weft.score("One cat. Two cats.\n\nThree cats.", model=LIGHT).document
    assert document is not None and document.paragraph_starts == (0, 2)


def test_many_in_many_out_in_order() -> None:
    document = weft.Document("mine", weft.split_sentences(TEXT))
    expected = weft.score(TEXT, model=LIGHT).value
    scores = weft.score([TEXT, document, "Rain fell. It rained."], model=LIGHT)
    assert [score.value for score in scores[:2]] == [expected, expected]
    assert [score.document.id for score in scores if score.document] == ["text-0", "mine", "text-2"]
    assert weft.score([], model=LIGHT) == []
    assert [score.value for score in weft.score((text for text in (TEXT, TEXT)), model=LIGHT)] == [expected] * 2
    assert [score.value for score in weft.score(np.array([TEXT]), model=LIGHT)] == [expected]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_and_a_frame(library: str) -> None:
    module = pytest.importorskip(library)
    texts = [TEXT, "Only one sentence.", ""]
    scores = weft.score(module.Series(texts), model=LIGHT)
    assert [score.value for score in scores] == [score.value for score in weft.score(texts, model=LIGHT)]
    frame = weft.to_frame(scores, library=library)
    assert list(frame["sentences"]) == [3, 1, 0]
    assert frame["value"][0] == scores[0].value
    assert len(weft.to_frame(scores[0], library=library)) == 1
    with pytest.raises(weft.CorpusError, match="frame\\['text'\\]"):
        weft.score(module.DataFrame({"text": texts}), model=LIGHT)


def test_missing_values_of_a_series_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    for missing in (None, float("nan"), pandas.NA):
        with pytest.raises(weft.CorpusError, match="entry 1 .*dropna"):
            weft.score(pandas.Series([TEXT, missing], dtype=object), model=LIGHT)


@pytest.mark.parametrize(
    "wrong",
    [None, 3, 2.5, b"bytes", {"a": "text"}, {"text"}, [1, 2], [None], [["A.", "B."]], Path("essay.txt"), object()],
    ids=lambda wrong: type(wrong).__name__,  # repr has an address, which differs between parallel workers
)
@pytest.mark.parametrize("function", [weft.score, weft.order, weft.generate])
def test_a_wrong_type_is_an_error_with_four_parts(function: Any, wrong: object) -> None:
    with pytest.raises(weft.WeftError) as caught:
        function(wrong, model=LIGHT)
    for part in ("saw", "allowed:", "next:"):
        assert part in str(caught.value)


@pytest.mark.parametrize("wrong", [None, 3, ["A.", "B."], b"x"])
def test_compare_takes_two_single_texts(wrong: Any) -> None:
    with pytest.raises(weft.CorpusError, match="next:"):
        weft.compare(TEXT, wrong, model=LIGHT)


@pytest.mark.parametrize("wrong", [None, 3, object()])
def test_a_wrong_model_is_an_error(wrong: Any) -> None:
    with pytest.raises(weft.ConfigError, match="weft models"):
        weft.score(TEXT, model=wrong)
    with pytest.raises(weft.ConfigError, match="weft models"):
        weft.load(wrong)


def test_a_document_of_one_string_is_refused() -> None:
    with pytest.raises(weft.CorpusError, match="split_sentences"):
        weft.Document("a", "some text")  # type: ignore[arg-type]
    with pytest.raises(weft.CorpusError, match="int 1"):
        weft.Document("a", (1, 2))  # type: ignore[arg-type]
    assert weft.Document("a", ["A.", "B."]).sentences == ("A.", "B.")  # type: ignore[arg-type]


def test_a_loaded_model_takes_the_same() -> None:
    model = weft.load(LIGHT)
    assert model.name == LIGHT
    assert model.card.summary and LIGHT in repr(model)
    assert model.score(TEXT) == weft.score(TEXT, model=model) == weft.score(TEXT, model=LIGHT)
    assert model.order(TEXT).order == weft.order(TEXT, model=model).order
    inner = model.inner
    assert isinstance(inner, CoherenceModel)
    assert weft.score(TEXT, model=inner).value == model.score(TEXT).value


def test_combine_and_device() -> None:
    values = {combine: weft.load(WEFT_SMALL, combine=combine).score(TEXT).value for combine in ("uni", "bi", "mmi")}
    assert len(set(values.values())) == 3
    assert weft.load(WEFT_SMALL).combined("bi").score(TEXT).value == values["bi"]
    for options in ({"combine": "both"}, {"device": "gpu"}):
        with pytest.raises(weft.ConfigError):
            weft.load(WEFT_SMALL, **options)  # type: ignore[arg-type]
    with pytest.raises(weft.ConfigError, match="no parts"):
        weft.load(LIGHT, combine="mmi")


def test_percentiles_of_the_default_model() -> None:
    score = weft.score((ROOT / "examples" / "essay.txt").read_text())
    assert score.percentile is not None and score.percentile_shuffled is not None
    assert 0 < score.percentile < score.percentile_shuffled <= 100
    assert f"percentile among {score.reference}" in score.meaning and "; beats" in score.meaning
    assert score.genre and score.genre_guessed and score.genre_probability is not None
    given = weft.score((ROOT / "examples" / "essay.txt").read_text(), genre="essay")
    assert (given.genre, given.genre_guessed, given.reference) == ("essay", False, "essay texts")
    assert given.link_percentiles == score.link_percentiles  # bars have one scale for all genres
    with pytest.raises(weft.ConfigError, match="unknown genre: saw 'poem'; allowed: all, abstract.*next: "):
        weft.score(TEXT, genre="poem")
    with pytest.raises(weft.ConfigError, match=f"{LIGHT} has no reference scores by genre"):
        weft.score(TEXT, genre="essay", model=LIGHT)
    assert score.meaning in repr(score)
    assert len(score.link_percentiles) == len(score.transitions) == 9
    assert max(score.link_percentiles) <= 100
    record = json.loads(json.dumps(score.to_dict()))
    assert record["percentiles"] == {"written": score.percentile, "shuffled": score.percentile_shuffled}
    assert record["sentences"] == 10 and record["breaks"] == list(score.breaks)


def test_warnings_say_why_there_is_no_score() -> None:
    short = weft.score("One sentence.", model=LIGHT)
    assert short.value is None and "two or more" in short.warnings[0]
    sentences = weft.score(["A cat sat.", "It slept."], model=LIGHT)
    assert any("Document('name', sentences)" in warning for warning in sentences[0].warnings)
    assert not weft.score(TEXT, model=LIGHT).warnings


def test_order_returns_sentences() -> None:
    ordering = weft.order("He died in 1870. He was born in 1812.", model="year-sort")
    assert ordering.sentences == ("He was born in 1812.", "He died in 1870.")
    assert json.loads(json.dumps(ordering.to_dict()))["order"] == [1, 0]
    assert len(weft.order([TEXT, TEXT], model=LIGHT)) == 2
    assert weft.order(TEXT, model=LIGHT, first_given=True).order[0] == 0


def test_generate_continues() -> None:
    found = weft.generate(TEXT, sentences=2, seed=3)
    assert len(found.sentences) == 2 and all(found.sentences)
    assert found.document.sentences[0] == "The cat slept on the mat."
    assert found.to_dict()["sentences"] == list(found.sentences)
    assert weft.generate([TEXT], sentences=2, seed=3)[0].sentences == found.sentences
    with pytest.raises(weft.ConfigError, match="cannot write"):
        weft.generate(TEXT, model=LIGHT)
    with pytest.raises(weft.ConfigError, match="latent"):
        weft.generate(TEXT, draws=3)


def test_compare_two_texts() -> None:
    found = weft.compare(TEXT, TEXT + " Bonds fell.", model=LIGHT)
    assert [sentence.kind for sentence in found.sentences] == ["same"] * 3 + ["added"]
    record = json.loads(json.dumps(found.to_dict()))
    assert record["second"]["sentences"] == 4
    assert record["sentences"][-1]["text_after"] == "Bonds fell."


def test_html_is_escaped_and_self_contained() -> None:
    pages = [
        weft.score(EVIL, model=LIGHT)._repr_html_(),
        weft.score(EVIL)._repr_html_(),
        weft.score(weft.Document("<b>id</b>", (EVIL,)), model=LIGHT)._repr_html_(),
        weft.order(EVIL, model=LIGHT)._repr_html_(),
        weft.compare(EVIL, EVIL + " <i>New.</i>", model=LIGHT)._repr_html_(),
        weft.Continuation(weft.Document("<b>", (EVIL,)), (EVIL,), "<m>")._repr_html_(),
    ]
    for page in pages:
        assert "&lt;script&gt;" in page
        assert "&amp; dog" in page
        for forbidden in ("<script", "<i>New", "<b>id", "<m>", "http", "src=", "javascript:"):
            assert forbidden not in page
    assert pages[0].count("<div") == pages[0].count("</div>")


def test_links_are_drawn_on_an_absolute_scale() -> None:
    """A link that two texts share has the same bar in both, whatever stands beside it."""
    pair = ("Bees visit flowers to drink their nectar.", "The nectar is turned into honey in the hive.")
    with_strong = weft.score(weft.Document("a", (*pair, pair[0], pair[1])), model=WEFT_SMALL)
    with_weak = weft.score(weft.Document("b", (*pair, "The senate adjourned.")), model=WEFT_SMALL)
    assert with_strong.link_percentiles[0] == pytest.approx(with_weak.link_percentiles[0], abs=1e-3)


def test_one_load_per_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loads: list[str] = []
    real = hub.load_model

    def counted(name: str | Path, settings: Any = None) -> CoherenceModel:
        loads.append(str(name))
        return real(name, settings)

    monkeypatch.setattr(loaded_model, "load_model", counted)
    loaded_model._loaded.cache_clear()
    threads = [threading.Thread(target=weft.score, args=(TEXT,), kwargs={"model": LIGHT}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [LIGHT]
    weft.load("random", settings={"seed": 1}).inner.save(tmp_path / "m")
    for _ in range(2):
        weft.score(TEXT, model=tmp_path / "m")
    assert len(loads) == 3  # the folder was loaded once
    os.utime(tmp_path / "m" / "model.json", ns=(1, 1))
    weft.score(TEXT, model=tmp_path / "m")
    assert len(loads) == 4  # a folder that was written again is loaded again


def test_thread_limits_are_lifted_and_may_overlap() -> None:
    from threadpoolctl import threadpool_info

    def blas() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before, outside = blas(), thread_count()
    with few_threads():
        assert set(blas()) <= {1}
        with few_threads():
            assert thread_count() >= 1
        assert set(blas()) <= {1}
    assert blas() == before
    assert thread_count() == outside


@pytest.mark.parametrize(("sentences", "inside"), [(4, 1), (400, 3), (None, 3)])
def test_pytorch_uses_one_thread_for_a_short_text(sentences: int | None, inside: int) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with few_threads(sentences=sentences):
            assert torch.get_num_threads() == inside
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_short_texts_one_by_one_cost_little() -> None:
    """60 short texts took 29 CPU-seconds while OpenBLAS split every small product over all cores."""
    code = (
        "import resource, weft\n"
        f"text = {TEXT!r}\n"
        "weft.score(text)\n"
        "use = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])\n"
        "before = use()\n"
        "for number in range(60): weft.score(f'{text} {number} people came. They left at {number} in the morning.')\n"
        "print(use() - before)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert float(done.stdout) < 8


def test_to_frame_refuses_what_is_no_score() -> None:
    pytest.importorskip("pandas")
    with pytest.raises(weft.ConfigError, match="not a result"):
        weft.to_frame([1])  # type: ignore[list-item]
    with pytest.raises(weft.ConfigError, match="library"):
        weft.to_frame([], library="arrow")


def test_evaluate_and_train(tmp_path: Path) -> None:
    texts = [{"id": f"d{n}", "sentences": [f"In {1900 + i} {n} things." for i in range(6)]} for n in range(3)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, texts)))
    result = weft.evaluate("pairs", data=tmp_path / "mine.jsonl", model="year-sort")
    assert result.metrics["accuracy"] == 1.0
    assert result.model == "year-sort"
    other = weft.evaluate("pairs", data=tmp_path / "mine.jsonl", model="random")
    found = weft.compare_models(result, other)
    assert found.comparisons["accuracy"].difference > 0
    again = weft.compare_models("year-sort", "random", task="pairs", data=tmp_path / "mine.jsonl")
    assert (again.comparisons, again.better) == (found.comparisons, found.better)
    trained = weft.train({"model": {"name": "random"}, "run": {"out": str(tmp_path / "m")}})
    assert trained.score(TEXT).value is not None
    assert (tmp_path / "m" / "model.json").is_file()
    assert weft.train({"model": {"name": "random"}}, out=tmp_path / "n").source == str(tmp_path / "n")
    assert (tmp_path / "n" / "model.json").is_file()


@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.train(3),  # type: ignore[arg-type]
        lambda: weft.generate(TEXT, sentences="two"),  # type: ignore[call-overload]
        lambda: weft.generate(TEXT, sentences=0),
        lambda: weft.generate(TEXT, sentences=-1),
        lambda: weft.generate(TEXT, beam="x"),
        lambda: weft.generate(TEXT, seed=None),
        lambda: weft.generate(TEXT, metod="sample"),
        lambda: weft.generate(TEXT, decoding=3),  # type: ignore[call-overload]
        lambda: weft.order(TEXT, model=LIGHT, beam="x"),  # type: ignore[call-overload]
        lambda: weft.order(TEXT, model=LIGHT, seed="x"),  # type: ignore[call-overload]
        lambda: weft.order(TEXT, model="weft-reader", seed=1.5),  # type: ignore[call-overload]
        lambda: weft.order(TEXT, model="year-sort", seed=None),  # type: ignore[call-overload]
        lambda: weft.Document("d", ("A cat sat.", "")),
        lambda: weft.Document("d", [" \n"]),  # type: ignore[arg-type]
        lambda: weft.split_sentences(3),  # type: ignore[arg-type]
        lambda: weft.load(LIGHT, settings=3),  # type: ignore[arg-type]
        lambda: weft.score(TEXT, combine=3),  # type: ignore[call-overload]
        lambda: weft.evaluate("pairs", options=3),  # type: ignore[arg-type]
        lambda: weft.compare_models("random", "year-sort", task="pairs", options={}),  # type: ignore[arg-type]
        lambda: list(weft.read_documents(3)),  # type: ignore[arg-type]
        lambda: list(weft.read_documents("")),
        lambda: list(weft.read_documents("essay.txt", 3)),  # type: ignore[arg-type]
        lambda: weft.Document(3, ["A cat sat."]),  # type: ignore[arg-type]
        lambda: weft.Document("d", ("A cat sat.",), title=3),  # type: ignore[arg-type]
        lambda: weft.order(TEXT, model=LIGHT, first_given="x"),  # type: ignore[call-overload]
        lambda: weft.train({"model": {"name": "random"}}),
    ],
)
def test_wrong_values_are_errors_with_four_parts(call: Any) -> None:
    with pytest.raises(weft.WeftError) as caught:
        call()
    for part in ("saw", "allowed:", "next:"):
        assert part in str(caught.value)


def test_next_steps_fit_the_value() -> None:
    with pytest.raises(weft.CorpusError, match=r"next: pass a list, such as sorted\(texts\)"):
        weft.score({TEXT})
    with pytest.raises(weft.ConfigError, match="saw 'x'; allowed: uni, bi, mmi; next: correct or omit `combine`"):
        weft.score(TEXT, model=WEFT_SMALL, combine="x")


def test_decoding_is_one_object_or_options_by_name() -> None:
    decoding = weft.Decoding(method="sample", top_p=0.8, seed=4)
    found = weft.generate(TEXT, decoding=decoding)
    assert weft.generate(TEXT, method="sample", top_p=0.8, seed=4) == found
    assert weft.generate(TEXT, decoding=weft.Decoding(top_p=0.8, seed=4), method="sample") == found
    with pytest.raises(weft.ConfigError, match="did you mean method"):
        weft.generate(TEXT, metod="sample")


def test_every_function_takes_combine() -> None:
    bi = weft.load(WEFT_SMALL, combine="bi")
    assert weft.score(TEXT, model=WEFT_SMALL, combine="bi") == bi.score(TEXT)
    assert weft.order(TEXT, model=WEFT_SMALL, combine="bi") == bi.order(TEXT)
    assert weft.compare(TEXT, TEXT, model=WEFT_SMALL, combine="bi").first.value == pytest.approx(
        bi.score(TEXT).value, abs=1e-6
    )
    model = weft.load(WEFT_SMALL)
    assert model.score(TEXT, combine="bi") == bi.score(TEXT) != model.score(TEXT)
    assert model.order(TEXT, combine="bi") == bi.order(TEXT)
    assert model.compare(TEXT, TEXT, combine="bi") == bi.compare(TEXT, TEXT)
    with pytest.raises(weft.ConfigError, match="omit combine"):
        weft.score(TEXT, model=LIGHT, combine="bi")


def test_every_result_has_a_short_repr_and_a_frame(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    texts = [{"id": f"d{n}", "sentences": [f"In {1900 + i} {n} things." for i in range(6)]} for n in range(3)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, texts)))
    first, second = (
        weft.evaluate("pairs", data=tmp_path / "mine.jsonl", model=name) for name in ("year-sort", "random")
    )
    found: list[Any] = [
        weft.score(TEXT, model=LIGHT),
        weft.order(TEXT, model=LIGHT),
        weft.Continuation(weft.Document("d", ("A cat sat.",)), ("It slept.", "It woke."), "m"),
        weft.compare(TEXT, TEXT + " Bonds fell.", model=LIGHT),
        first,
        weft.compare_models(first, second),
    ]
    rows = [1, 1, 2, 4, len(first.metrics), len(first.metrics)]
    for result, count in zip(found, rows, strict=True):
        assert len(repr(result)) < 200 and repr(result).startswith(type(result).__name__)
        assert len(result.to_frame()) == count
        assert result._repr_html_()
    assert len(weft.to_frame(found)) == sum(rows)
    assert list(weft.to_frame([])) == list(found[0].to_frame())


def test_a_result_as_data_has_no_values_per_document() -> None:
    result = weft.Result(
        "t", "<m>", "bi", {"accuracy": 0.5}, {"accuracy": [0.4, 0.6]}, 2, 4, 0, 0, 1, "e", "d", "h", "n", ""
    )
    record = json.loads(json.dumps(result.to_dict()))
    assert record["metrics"] == {"accuracy": 0.5} and "per_document" not in record
    assert repr(result) == "Result(t: <m>.bi, accuracy 0.5000 [0.4000, 0.6000])"
    assert "&lt;m&gt;" in result._repr_html_() and "<m>" not in result._repr_html_()
    assert result.to_frame()["low"][0] == 0.4


@pytest.mark.parametrize(
    ("name", "combine", "settings"),
    [(WEFT_SMALL, "uni", {}), ("weft-reader", None, {}), ("foltz-glove", None, {"weighting": "sif"})],
)
def test_a_loaded_model_is_evaluated_as_the_same_name(name: str, combine: str | None, settings: dict[str, Any]) -> None:
    (expected,) = load_subjects("pairs", name, settings, combine=[combine] if combine else [])
    found = _subject("pairs", weft.load(name, combine=combine, settings=settings), None)
    assert replace(found, model=None) == replace(expected, model=None)
    if combine:
        assert (found.variant, found.model.combine) == (combine, combine)
        assert _subject("pairs", weft.load(name, combine=combine), "bi").variant == "bi"


def test_a_trained_model_is_evaluated_with_its_training(tmp_path: Path) -> None:
    trained = weft.train({"model": {"name": "random"}, "run": {"out": str(tmp_path / "mine")}})
    found = _subject("pairs", trained, None)
    assert found.training["seed"] == 1
    assert (found.name, found.given, len(found.sha256)) == ("random", "mine", 64)


@pytest.mark.parametrize(
    ("task", "options", "expected"),
    [
        (3, {}, "unknown task"),
        ("pairs", {"limit": "x"}, "limit"),
        ("pairs", {"limit": 0}, "limit"),
        ("pairs", {"limit": True}, "limit"),
        ("pairs", {"data": ["A text."]}, "data"),
    ],
)
def test_wrong_arguments_of_evaluate_are_explained(task: Any, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(weft.ConfigError, match=expected) as found:
        weft.evaluate(task, model="random", **options)
    assert all(part in str(found.value) for part in ("saw", "allowed", "next"))
