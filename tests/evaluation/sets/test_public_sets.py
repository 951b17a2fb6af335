"""Standard sets by name: what theory says about scorers on them, and files of the same form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.scorers import AntiOracle, Constant, OracleTable, OracleWhole, synthetic

from weft.document import Document
from weft.errors import CorpusError
from weft.evaluation.evaluate import evaluate
from weft.evaluation.metrics import ratio
from weft.evaluation.reconstruction import reconstruct
from weft.evaluation.result import Measure, Result, compare_results
from weft.evaluation.sets.data_sets import DATA_SETS
from weft.evaluation.sets.discoeval import best_threshold, tell_coherent
from weft.evaluation.sets.ratings import RatedStory, correlate_ratings
from weft.evaluation.task_contract import EvaluateOptions, Subject
from weft.evaluation.tasks import find_experiment, is_result_folder
from weft.io.file_hash import sha256_of
from weft.registry import create_model

ORACLE, CONSTANT = Subject(OracleWhole(), "oracle"), Subject(Constant(), "constant")
RANDOM = Subject(create_model("random"), "random")


def value(measure: Measure) -> float:
    found = ratio(measure.numerators, measure.denominators)
    assert found is not None
    return found


def write(path: Path, lines: Sequence[dict[str, Any]]) -> str:
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


# Genres ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def genres(tmp_path: Path) -> str:
    lines = [
        {"id": one.id, "genre": "news" if n < 6 else "tale", "sentences": one.sentences}
        for n, one in enumerate(synthetic(10, 6))
    ]
    return write(tmp_path / "sealed.jsonl", lines)


@pytest.mark.parametrize("task", ["genres-pairs", "genres-swaps", "genres-insertion"])
def test_the_mean_over_genres_weighs_genres_and_not_texts(task: str, genres: str) -> None:
    metrics = evaluate(task, RANDOM, genres).metrics
    assert list(metrics)[:2] == ["accuracy.genre_mean", "accuracy.lowest_genre"]
    news, tale = metrics["accuracy.news"], metrics["accuracy.tale"]
    assert news is not None
    assert tale is not None
    assert metrics["accuracy.genre_mean"] == pytest.approx((news + tale) / 2)
    assert metrics["accuracy.lowest_genre"] == min(news, tale)


def test_the_order_of_genres_is_headed_by_tau_with_nothing_given(genres: str) -> None:
    result = evaluate("genres-order", Subject(OracleTable(), "oracle"), genres)
    assert next(iter(result.metrics)) == "free_tau.genre_mean"
    assert result.metrics["free_tau.genre_mean"] == result.metrics["tau.lowest_genre"] == 1.0
    assert result.settings["search"] == "auto"
    assert "search" not in evaluate("order", Subject(OracleTable(), "oracle"), genres).settings
    ties = evaluate("genres-pairs", CONSTANT, genres)
    assert ties.metrics["accuracy.genre_mean"] == 0.0


def test_results_with_genres_can_be_compared(genres: str) -> None:
    oracle, chance = evaluate("pairs", ORACLE, genres), evaluate("pairs", RANDOM, genres)
    assert compare_results(oracle, chance, "accuracy.genre_mean").difference > 0


def test_a_set_of_one_genre_or_of_none_has_no_mean(tmp_path: Path) -> None:
    for extra in ({}, {"genre": "news"}):
        path = write(
            tmp_path / "mine.jsonl", [{"id": d.id, "sentences": d.sentences, **extra} for d in synthetic(4, 5)]
        )
        assert list(evaluate("pairs", ORACLE, path).metrics) == ["accuracy"]


def test_a_genre_of_a_few_texts_does_not_count_in_the_mean(tmp_path: Path) -> None:
    sizes = {"news": 12, "tale": 15, "rare": 3}
    names = [name for name, size in sizes.items() for _ in range(size)]
    texts = zip(synthetic(30, 6), names, strict=True)
    path = write(tmp_path / "mine.jsonl", [{"id": d.id, "genre": g, "sentences": d.sentences} for d, g in texts])
    result = evaluate("pairs", RANDOM, path)
    values = {name: result.metrics[f"accuracy.{name}"] or 0.0 for name in sizes}
    assert result.metrics["accuracy.genre_mean"] == pytest.approx((values["news"] + values["tale"]) / 2)
    assert result.metrics["accuracy.lowest_genre"] == min(values["news"], values["tale"])
    assert result.settings["small_genres"] == {"accuracy": ["rare"]}


def test_five_sentences_have_distinct_permutations(genres: str) -> None:
    many = evaluate("pairs", ORACLE, genres, EvaluateOptions(permutations=10_000))
    assert many.n_pairs == 10 * 719
    assert many.ties == 0


# Order ----------------------------------------------------------------------------------------------------------------


def test_first_last_and_perfect_match_of_chance_and_of_an_oracle() -> None:
    found = reconstruct(create_model("random"), synthetic(1500, 5), search="auto").measures
    assert value(found["free_first"]) == pytest.approx(0.2, abs=0.03)
    assert value(found["free_last"]) == pytest.approx(0.2, abs=0.03)
    assert value(found["free_perfect_match"]) == pytest.approx(1 / 120, abs=0.008)
    assert value(found["free_tau"]) == pytest.approx(0.0, abs=0.05)
    perfect = reconstruct(OracleTable(), synthetic(5, 5), search="auto").measures
    assert {value(perfect[f"free_{name}"]) for name in ("first", "last", "perfect_match", "tau")} == {1.0}


def test_slow_code_counts_the_same_perfect_matches() -> None:
    from weft.ordering.order import order_document

    documents, model = synthetic(60, 3), create_model("random")
    found = reconstruct(model, documents, search="auto").measures
    perfect, first, last = [], [], []
    for document in documents:
        texts = [document.sentences[n] for n in order_document(model, document, search="auto").order]
        perfect.append(float(all(text.endswith(f"s{n}") for n, text in enumerate(texts))))
        first.append(float(texts[0].endswith("s0")))
        last.append(float(texts[-1].endswith("s2")))
    assert 0 < sum(perfect) < 60
    assert found["free_perfect_match"].numerators == tuple(perfect)
    assert found["free_first"].numerators == tuple(first)
    assert found["free_last"].numerators == tuple(last)


# Endings --------------------------------------------------------------------------------------------------------------


def stories(count: int) -> list[dict[str, Any]]:
    """Return stories whose right ending, the second for every other story, continues them."""
    lines = []
    for n, document in enumerate(synthetic(count, 5)):
        wrong = f"x{n} s9"
        endings = [document.sentences[4], wrong] if n % 2 else [wrong, document.sentences[4]]
        lines.append({"id": n, "context": document.sentences[:4], "endings": endings, "label": 1 - n % 2})
    return lines


def test_endings_by_the_oracle_chance_and_a_constant(tmp_path: Path) -> None:
    path = write(tmp_path / "cloze.jsonl", stories(400))
    assert evaluate("storycloze-2018", ORACLE, path).metrics["accuracy"] == 1.0
    assert evaluate("endings", RANDOM, path).metrics["accuracy"] == pytest.approx(0.5, abs=0.08)
    constant = evaluate("endings", CONSTANT, path)
    assert (constant.metrics["accuracy"], constant.ties, constant.n_pairs) == (0.0, 400, 400)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": 2}, '"label" is not a label.*2.*0 to 1'),
        ({"label": True}, '"label" is not a label'),
        ({"endings": ["One."]}, '"endings" is not a list of sentences'),
        ({"context": "One."}, '"context" is not a list of sentences'),
    ],
)
def test_a_wrong_line_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "cloze.jsonl", [*stories(1), {**stories(1)[0], **change}])
    with pytest.raises(CorpusError, match=rf"cloze.jsonl, line 2: {message}"):
        evaluate("endings", ORACLE, path)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(CorpusError, match="no line in"):
        evaluate("sp", ORACLE, str(tmp_path / "empty.jsonl"))


# DiscoEval ------------------------------------------------------------------------------------------------------------


def test_positions_by_the_oracle_chance_and_a_constant(tmp_path: Path) -> None:
    lines = []
    for n, document in enumerate(synthetic(500, 5)):
        place = n % 5
        rest = [text for number, text in enumerate(document.sentences) if number != place]
        lines.append({"id": n, "sentences": [document.sentences[place], *rest], "label": place})
    path = write(tmp_path / "SP.test.jsonl", lines)
    assert evaluate("discoeval-sp-wiki", ORACLE, path).metrics["accuracy"] == 1.0
    assert evaluate("sp", Subject(OracleTable(), "table"), path).metrics["accuracy"] == 1.0
    assert evaluate("sp", RANDOM, path).metrics["accuracy"] == pytest.approx(0.2, abs=0.06)
    assert evaluate("sp", CONSTANT, path).metrics["accuracy"] == 0.0


def test_two_orders_by_the_oracle_chance_and_a_constant(tmp_path: Path) -> None:
    path = write(tmp_path / "BSO.jsonl", [{"id": d.id, "fields": d.sentences} for d in synthetic(400, 2)])
    assert evaluate("bso", ORACLE, path).metrics["accuracy"] == 1.0
    assert evaluate("bso", Subject(AntiOracle(), "anti"), path).metrics["accuracy"] == 0.0
    assert evaluate("bso", RANDOM, path).metrics["accuracy"] == pytest.approx(0.5, abs=0.08)
    constant = evaluate("bso", CONSTANT, path)
    assert (constant.metrics["accuracy"], constant.ties) == (0.0, 400)


def coherent_texts(count: int) -> list[dict[str, Any]]:
    """Return texts; the third sentence of every other one is a stranger."""
    lines = []
    for n, document in enumerate(synthetic(count, 6)):
        sentences = list(document.sentences)
        sentences[2] = sentences[2] if n % 2 else f"x{n} s30"
        lines.append({"id": n, "sentences": sentences, "label": n % 2})
    return lines


def test_coherent_texts_by_the_oracle_chance_and_a_constant(tmp_path: Path) -> None:
    path = write(tmp_path / "DC.test.jsonl", coherent_texts(400))
    perfect = evaluate("dc", ORACLE, path)
    assert perfect.metrics["auc"] == 1.0
    assert "accuracy" not in perfect.metrics  # there is no valid part beside the file
    chance = evaluate("dc", RANDOM, path)
    assert chance.metrics["auc"] == pytest.approx(0.5, abs=0.08)
    assert chance.metrics["accuracy_at_median"] == pytest.approx(0.5, abs=0.08)
    constant = evaluate("dc", CONSTANT, path)
    assert (constant.metrics["auc"], constant.metrics["accuracy_at_median"]) == (0.5, 0.0)


def test_the_threshold_comes_from_the_valid_part(tmp_path: Path) -> None:
    path = write(tmp_path / "DC.chat.test.jsonl", coherent_texts(40))
    write(tmp_path / "DC.chat.valid.jsonl", coherent_texts(30))
    found = evaluate("discoeval-dc-chat", ORACLE, path)
    assert found.metrics["accuracy"] == 1.0
    assert 0.6 < found.settings["threshold"] < 1.0
    assert found.settings["valid_sha256"] == sha256_of(tmp_path / "DC.chat.valid.jsonl")


def test_the_best_threshold_is_that_of_slow_code() -> None:
    values, labels = [0.1, 0.2, 0.2, 0.5, 0.7, 0.9, 0.3], [0, 1, 0, 0, 1, 1, 1]

    def right(cut: float) -> int:
        return sum(v > cut if n else v < cut for v, n in zip(values, labels, strict=True))

    cut = best_threshold(values, labels)
    assert right(cut) == max(right(n / 100) for n in range(100))


def test_a_text_without_a_score_is_wrong() -> None:
    texts = [
        (Document("a", ("one s0",)), 1),
        (Document("b", ("two s0", "two s1")), 1),
        (Document("c", ("x s0", "x s5")), 0),
    ]
    found = tell_coherent(OracleWhole(), texts).measures
    assert found["auc"].numerators
    assert found["accuracy_at_median"].numerators[0] == 0.0


# Ratings --------------------------------------------------------------------------------------------------------------


def rated(count: int) -> list[dict[str, Any]]:
    """Return stories that get worse: story n has n strange sentences, which people mark."""
    lines = []
    for n, document in enumerate(synthetic(count, 8)):
        strange = n % 5
        sentences = [
            text if i < 8 - strange else f"x{n}-{i} s{50 - 3 * i}" for i, text in enumerate(document.sentences)
        ]
        marked = {str(i): [1] for i in range(8 - strange, 8)}
        scores = {"consensus_score": 5 - strange}
        incremental = {**scores, "sentences": sentences, "reasons": {"annot0": marked, "annot1": marked}}
        lines.append({"StoryID": n, "HolisticData": scores, "IncrementalData": incremental})
    return lines


def test_ratings_by_the_oracle_chance_and_a_constant(tmp_path: Path) -> None:
    path = write(tmp_path / "rated.jsonl", rated(200))
    perfect = evaluate("cohesentia", Subject(OracleTable(), "oracle"), path)
    assert perfect.metrics["spearman"] == pytest.approx(1.0)
    assert perfect.metrics["kendall"] == pytest.approx(1.0)
    assert perfect.metrics["sentence_auc"] == pytest.approx(1.0)
    assert perfect.metrics["length_spearman"] is None  # all stories are equally long
    chance = evaluate("ratings", RANDOM, path)
    low, high = chance.bounds("spearman") or (0, 0)
    assert abs(chance.metrics["spearman"] or 0) < 0.2
    assert low < 0 < high
    with pytest.raises(CorpusError, match="no document was long enough"):
        evaluate("ratings", CONSTANT, path)


def test_a_model_without_links_has_no_sentence_metrics(tmp_path: Path) -> None:
    path = write(tmp_path / "rated.jsonl", rated(50))
    assert "sentence_auc" not in evaluate("ratings", ORACLE, path).metrics
    result = evaluate("ratings", Subject(OracleTable(), "oracle"), path)
    result.save(tmp_path)
    assert Result.load(tmp_path / "ratings" / "oracle.json").metrics == result.metrics


def test_a_story_without_a_score_is_excluded() -> None:
    stories = [RatedStory(one, 5.0, 5.0, (0.0,) * len(one)) for one in (*synthetic(3, 4), *synthetic(1, 1))]
    assert correlate_ratings(OracleTable(), stories).n_excluded == 1


def test_fluency_is_a_value_of_its_own() -> None:
    class Fluent(OracleTable):
        def fluency(self, document: Document) -> float:
            return -ratings[document.id]

    stories = [RatedStory(one, 1.0 + n, 5.0, (0.0,) * len(one)) for n, one in enumerate(synthetic(5, 4))]
    ratings = {story.document.id: story.whole for story in stories}
    assert value(correlate_ratings(Fluent(), stories).measures["fluency_spearman"]) == pytest.approx(-1.0)
    assert "fluency_spearman" not in correlate_ratings(OracleTable(), stories).measures


def test_a_story_without_ratings_is_an_error(tmp_path: Path) -> None:
    line = rated(1)[0]
    del line["HolisticData"]
    with pytest.raises(CorpusError, match='line 1: "HolisticData" is not an object'):
        evaluate("ratings", ORACLE, write(tmp_path / "rated.jsonl", [line]))


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "data", "name"),
    [
        ("order", "nips", "nips-order"),
        ("pairs", "genres-dev", "genres-dev-pairs"),
        ("intruder", None, "wikipedia-intruder"),
        ("storycloze-2016", None, "storycloze-2016"),
        ("endings", "storycloze-2016", "storycloze-2016"),
        ("sp", "discoeval-sp-arxiv", "discoeval-sp-arxiv"),
        ("discoeval-dc-chat", None, "discoeval-dc-chat"),
        ("ratings", None, "cohesentia"),
    ],
)
def test_names_of_experiments(task: str, data: str | None, name: str) -> None:
    assert find_experiment(task, data).name == name
    assert is_result_folder(name)


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", [name for name, data in DATA_SETS.items() if data.file.startswith(("genres", "peers"))]
)
def test_the_hash_of_a_set_is_that_of_its_file(name: str, shared_data: Path) -> None:
    assert sha256_of(shared_data / DATA_SETS[name].file) == DATA_SETS[name].sha256


@pytest.mark.shared
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("discoeval-bso-arxiv", 0.5),
        ("discoeval-sp-rocstory", 0.2),
        ("storycloze-2016", 0.5),
        ("discoeval-dc-wiki", 0.5),
    ],
)
def test_chance_on_the_standard_sets(task: str, expected: float, shared_data: Path) -> None:
    result = evaluate(task, RANDOM, None, EvaluateOptions(data_root=str(shared_data), limit=500))
    assert next(iter(result.metrics.values())) == pytest.approx(expected, abs=0.09)


@pytest.mark.shared
def test_every_genre_of_the_standard_set_is_measured(shared_data: Path) -> None:
    result = evaluate("pairs", RANDOM, "genres", EvaluateOptions(data_root=str(shared_data), permutations=2))
    assert sum(name.startswith("accuracy.") for name in result.metrics) == 2 + 19
    assert result.metrics["accuracy.genre_mean"] == pytest.approx(0.5, abs=0.05)
