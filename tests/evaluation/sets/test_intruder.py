"""The task `intruder`: its texts, what theory says about scorers, and slow code that finds the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.helpers.scorers import Constant, OracleTable, OracleWhole, TestScorer, place, synthetic

from weft.corpora.negatives.intrude import FEWEST_WORDS, KEPT, LEAST, same_work, with_own_sentence, with_stranger
from weft.document import Document, Score
from weft.errors import CorpusError
from weft.evaluation.evaluate import evaluate
from weft.evaluation.metrics import ratio
from weft.evaluation.result import Measure
from weft.evaluation.sets.intruder import Case, find_intruders, make_cases
from weft.evaluation.sets.links import weakest_inside
from weft.evaluation.task_contract import EvaluateOptions, Subject
from weft.protocols import BreakModel
from weft.registry import create_model
from weft.scoring.break_calibration import BreakCalibration


def texts(count: int, length: int) -> list[Document]:
    """Return texts whose sentences are long enough for intruders and end with their place."""
    return [Document(f"d{n}", tuple(f"this is text d{n} s{i}" for i in range(length))) for n in range(count)]


def value(measure: Measure) -> float:
    found = ratio(measure.numerators, measure.denominators)
    assert found is not None
    return found


class Topical(TestScorer):
    """Links sentences of the same text, with their true distance as a penalty; it knows all intruders."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [self._score(document) for document in documents]

    def _score(self, document: Document) -> Score:
        links = tuple(self._link(one, other) for one, other in pairwise(document.sentences))
        return Score(sum(links) / len(links), links)

    def _link(self, one: str, other: str) -> float:
        same = one.split()[3] == other.split()[3]
        return -abs(place(other) - place(one)) / 100 - (0 if same else 10)


class Marking(Topical):
    """Marks links that are no true successor."""

    def _score(self, document: Document) -> Score:
        found = super()._score(document)
        breaks = tuple(n for n, link in enumerate(found.transitions) if link < -0.011)
        return Score(found.value, found.transitions, breaks=breaks)


class Breaking(Topical):
    """Has probabilities of breaks, which are right, and transitions, which are constant."""

    break_calibration: BreakCalibration | None = None

    def _score(self, document: Document) -> Score:
        return Score(0.0, (0.0,) * (len(document) - 1))

    def break_odds(self, document: Document) -> npt.NDArray[np.float64]:
        found = np.asarray(self.break_probabilities(document))
        odds: npt.NDArray[np.float64] = np.log(found / (1 - found))
        return odds

    def break_probabilities(self, document: Document) -> tuple[float, ...]:
        return tuple(0.1 if self._link(a, b) > -0.011 else 0.9 for a, b in pairwise(document.sentences))


# The texts ------------------------------------------------------------------------------------------------------------


def test_a_stranger_comes_from_another_text_and_stands_inside() -> None:
    documents = texts(30, 20)
    for document in documents:
        found = with_stranger(document, documents)
        assert found is not None
        assert len(found.document) == KEPT + 1
        assert 0 < found.place < KEPT
        assert found.source != document.id
        assert found.document.sentences[found.place].split()[3] == found.source
        rest = [*found.document.sentences[: found.place], *found.document.sentences[found.place + 1 :]]
        assert tuple(rest) == document.sentences[:KEPT]


def test_an_own_sentence_comes_from_beyond_the_sentences_used() -> None:
    for document in texts(30, 20):
        found = with_own_sentence(document)
        assert found is not None
        assert place(found.document.sentences[found.place]) > KEPT  # not the next one, which is number KEPT
        assert 0 < found.place < KEPT


def test_all_inner_places_are_used_equally() -> None:
    documents = texts(1000, 14)
    places = [with_stranger(one, documents[:3]).place for one in documents[3:]]  # type: ignore[union-attr]
    shares = [places.count(place) / len(places) for place in range(1, KEPT)]
    assert sum(shares) == pytest.approx(1.0)
    assert all(share == pytest.approx(0.1, abs=0.035) for share in shares)


def test_short_texts_have_no_intruder() -> None:
    documents = texts(4, LEAST - 1)
    assert with_stranger(documents[0], documents) is None
    assert make_cases(documents, {}) == []
    shorter = texts(4, KEPT + 1)
    assert with_own_sentence(shorter[0]) is None
    (case, *_) = make_cases(shorter, {})
    assert case.intruded["elsewhere"] is None
    assert case.intruded["stranger"] is not None


def test_strangers_are_long_enough_and_of_the_same_genre() -> None:
    documents = [*texts(6, 12), Document("short", tuple(f"no s{n}" for n in range(12)))]
    genres = {"d0": "news", "d1": "news", "d2": "tale", "d3": "tale", "d4": "tale", "d5": "news", "short": "news"}
    for case in make_cases(documents, genres):
        found = case.intruded["stranger"]
        assert found is not None
        assert genres[found.source] == genres[case.clean.id]
        assert found.source != "short"
        assert len(found.document.sentences[found.place].split()) >= FEWEST_WORDS


def test_other_parts_of_the_same_work_are_no_strangers() -> None:
    one, other = (Document(name, texts(1, 9)[0].sentences) for name in ("novel@0", "novel@9"))
    assert same_work(one, other)
    assert same_work(Document("a", ("A.",), "Paris"), Document("b", ("B.",), "Paris"))
    assert not same_work(Document("a", ("A.",)), Document("b", ("B.",)))
    assert with_stranger(one, [one, other]) is None


def test_the_texts_depend_on_seed_and_ids_alone() -> None:
    documents = texts(20, 16)
    hashes = [
        find_intruders(Constant(), make_cases(list(order), {}, seed=seed)).negatives_sha256
        for order, seed in ((documents, 1), (documents, 1), (documents, 2))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


# What theory says -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return make_cases(texts(600, 16), {})


def test_chance_finds_a_tenth(cases: list[Case]) -> None:
    found = find_intruders(create_model("random"), cases)
    for kind in ("stranger", "elsewhere"):
        assert value(found.measures[kind]) == pytest.approx(0.1, abs=0.04)
        assert value(found.measures[f"{kind}_chance"]) == pytest.approx(0.1)
    assert "stranger_marked" not in found.measures


def test_a_constant_scorer_finds_none(cases: list[Case]) -> None:
    found = find_intruders(Constant(), cases)
    assert value(found.measures["stranger"]) == value(found.measures["elsewhere"]) == 0.0
    assert found.ties == found.n_pairs == 1200
    assert found.settings["evidence"] == "removal"


def test_one_who_knows_finds_all(cases: list[Case]) -> None:
    found = find_intruders(Topical(), cases[:50])
    assert value(found.measures["stranger"]) == value(found.measures["elsewhere"]) == 1.0
    assert found.settings["evidence"] == "links"


def test_the_oracle_of_successors_finds_all_by_links_and_by_removal(cases: list[Case]) -> None:
    """Both links of an intruder are 0; of the other inner sentences, at most one is."""
    for oracle, evidence in ((OracleTable(), "links"), (OracleWhole(), "removal")):
        found = find_intruders(oracle, cases[:50])
        assert found.settings["evidence"] == evidence
        assert value(found.measures["elsewhere"]) == 1.0


def test_marks_are_counted_with_and_without_an_intruder(cases: list[Case]) -> None:
    measures = find_intruders(Marking(), cases[:50]).measures
    assert value(measures["stranger_marked"]) == 1.0
    assert value(measures["clean_marked"]) == 0.0


def test_learned_breaks_are_the_evidence_of_a_model_that_has_them(cases: list[Case]) -> None:
    found = find_intruders(Breaking(), cases[:50])
    assert found.settings["evidence"] == "breaks"
    assert value(found.measures["stranger"]) == 1.0
    assert value(found.measures["stranger_by_links"]) == 0.0
    assert value(found.measures["clean_marked"]) == 0.0


class ValuesOnly(TestScorer):
    """The random scorer without its transitions."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [Score(score.value) for score in create_model("random").score(documents)]


def test_the_reader_has_learned_breaks() -> None:
    pytest.importorskip("torch")
    from weft.models.reader.reader import Reader

    assert isinstance(Reader(), BreakModel)


def test_slow_code_points_at_the_same_sentence(cases: list[Case]) -> None:
    model = ValuesOnly()
    found = find_intruders(model, cases[:80])
    slow = []
    for case in cases[:80]:
        item = case.intruded["stranger"]
        assert item is not None
        values: dict[int, float] = {}
        for removed in range(1, len(item.document) - 1):
            left = tuple(text for n, text in enumerate(item.document.sentences) if n != removed)
            values[removed] = model.score([Document(item.document.id, left)])[0].value or 0.0
        slow.append(float([n for n, one in values.items() if one == max(values.values())] == [item.place]))
    assert found.settings["evidence"] == "removal"
    assert found.measures["stranger"].numerators == tuple(slow)
    assert 0 < sum(slow) < 80


@pytest.mark.parametrize("links", [[0.3, 0.2, 0.9, 0.1, 0.15, 0.7], [1.0, 1.0, 1.0, 1.0], [0.5, 0.1, 0.4]])
def test_slow_code_finds_the_same_weakest_sentence(links: list[float]) -> None:
    lowest, where = float("inf"), []
    for sentence in range(1, len(links)):
        strength = links[sentence - 1] + links[sentence]
        if strength < lowest:
            lowest, where = strength, [sentence]
        elif strength == lowest:
            where.append(sentence)
    assert weakest_inside(links) == where


# evaluate -------------------------------------------------------------------------------------------------------------


def write(path: Path, documents: Sequence[Document], genres: Sequence[str] = ()) -> Path:
    lines = [{"id": one.id, "sentences": one.sentences} for one in documents]
    for line, genre in zip(lines, genres, strict=False):
        line["genre"] = genre
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_a_file_with_genres_has_metrics_for_each(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", [*texts(8, 15), *synthetic(1, 3)], ["news", "tale"] * 5)
    result = evaluate("intruder", Subject(Topical(), "topical"), str(path))
    assert (result.task, result.n_documents, result.n_excluded) == ("intruder", 8, 1)
    names = ["stranger.genre_mean", "stranger.lowest_genre", "elsewhere.genre_mean", "elsewhere.lowest_genre"]
    assert list(result.metrics)[:4] == names
    assert result.metrics["stranger.news"] == result.metrics["elsewhere.tale"] == 1.0
    again = evaluate("genres-intruder", Subject(Topical(), "topical"), str(path), EvaluateOptions())
    assert again == result


def test_texts_that_are_all_too_short_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", texts(3, 5))
    with pytest.raises(CorpusError, match="no document was long enough"):
        evaluate("intruder", Subject(Constant(), "constant"), str(path))


@pytest.mark.shared
def test_how_many_texts_of_the_standard_sets_qualify(shared_data: Path) -> None:
    from weft.corpora.readers.formats import read_documents
    from weft.evaluation.sets.genres import genres_of
    from weft.evaluation.task_contract import DataFile

    path = shared_data / "genres" / "test.jsonl.xz"
    found = make_cases(list(read_documents(path)), genres_of(DataFile(path)))
    counts = {kind: sum(case.intruded[kind] is not None for case in found) for kind in ("stranger", "elsewhere")}
    assert len(found) == counts["stranger"] == 2851
    assert counts["elsewhere"] == 1560
