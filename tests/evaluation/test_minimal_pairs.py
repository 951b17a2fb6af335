"""Minimal pairs: the loader, what theory says of scorers, and that the probes cannot be solved without context."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.helpers.scorers import Constant, TestScorer
from tests.helpers.zoo_models import WEFT_SMALL

from weft.document import Document, Score
from weft.errors import CorpusError
from weft.evaluation.evaluate import evaluate
from weft.evaluation.metrics import ratio
from weft.evaluation.minimal_pairs import MinimalPair, are_crossed, crossed_places, read_pairs, score_pairs
from weft.evaluation.result import Measure, Result, compare_results
from weft.evaluation.sets.data_sets import DATA_SETS
from weft.evaluation.task_contract import EvaluateOptions, Subject
from weft.evaluation.tasks import TASKS, is_standard
from weft.hub import load_model
from weft.io.file_hash import sha256_of
from weft.io.package_files import PROBES as PACKAGE_PROBES
from weft.registry import create_model
from weft.scoring.uni_bi_mmi import prior_log_probs

PROBES = list(read_pairs(PACKAGE_PROBES / "probes.jsonl"))
PAPER = list(read_pairs(PACKAGE_PROBES / "miniatures.jsonl"))
PHENOMENA = ("lexical", "temporal", "causal", "centering", "connective", "pronoun")
BY_ID = pytest.mark.parametrize("pair", [*PROBES, *PAPER], ids=lambda pair: pair.id)
FOURS = [(PROBES[place], PROBES[place + 1]) for place in crossed_places(PROBES)]


class ContextFree(TestScorer):
    """The mean of what it thinks of every sentence by itself."""

    def __init__(self, opinion: Callable[[str], float]) -> None:
        self.opinion = opinion

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [Score(math.fsum(map(self.opinion, text.sentences)) / len(text)) for text in documents]


class Knowing(TestScorer):
    """Knows which texts are the better ones, or prefers the others."""

    def __init__(self, preferred: Sequence[Document]) -> None:
        self.preferred = {text.sentences for text in preferred}

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [Score(float(text.sentences in self.preferred)) for text in documents]


def value(measure: Measure) -> float:
    found = ratio(measure.numerators, measure.denominators)
    assert found is not None
    return found


# The shipped pairs --------------------------------------------------------------------------------------------------


def test_there_are_enough_of_each_phenomenon() -> None:
    counts = Counter(pair.phenomenon for pair in PROBES)
    assert set(counts) == set(PHENOMENA)
    assert min(counts.values()) >= 40
    assert len(PROBES) >= 240
    assert f"{len(PROBES)} minimal pairs" in TASKS["probes"].about


def test_ids_are_unique_and_begin_with_the_phenomenon() -> None:
    assert len({pair.id for pair in PROBES}) == len(PROBES)
    assert all(re.fullmatch(rf"{pair.phenomenon}-[a-z]+-\d\d[ab]", pair.id) for pair in PROBES)


def test_no_text_is_there_twice() -> None:
    texts = [text.sentences for pair in PROBES for text in (pair.better, pair.worse)]
    assert [text for text, count in Counter(texts).items() if count > 1] == []


@BY_ID
def test_a_pair_is_well_formed(pair: MinimalPair) -> None:
    assert pair.better.sentences != pair.worse.sentences
    assert 2 <= len(pair.better) == len(pair.worse) <= 4
    for sentence in (*pair.better.sentences, *pair.worse.sentences):
        assert sentence == sentence.strip()
        assert re.fullmatch(r"[A-Z].*[^.]\.", sentence)
        assert "  " not in sentence


@pytest.mark.parametrize("pair", PROBES, ids=lambda pair: pair.id)
def test_a_pair_is_minimal(pair: MinimalPair) -> None:
    """One sentence differs, or the order of the same events."""
    differing = [
        (one, other) for one, other in zip(pair.better.sentences, pair.worse.sentences, strict=True) if one != other
    ]
    kind = pair.id.split("-")[1]
    if kind in {"state", "group"}:  # the same sentences in another order
        assert Counter(pair.better.sentences) == Counter(pair.worse.sentences)
    elif kind in {
        "order",
        "result",
        "name",
        "new",
    }:  # the same clauses in another order, or told of first by the other name
        assert len(differing) == 2
    else:
        assert len(differing) == 1


def test_every_pair_has_its_partner() -> None:
    for one, other in zip(PROBES[::2], PROBES[1::2], strict=True):
        assert one.id[:-1] == other.id[:-1]
        assert (one.id[-1], other.id[-1]) == ("a", "b")


def test_nearly_all_pairs_are_crossed() -> None:
    crossed = {pair.id for four in FOURS for pair in four}
    assert {pair.id.split("-")[1] for pair in PROBES if pair.id not in crossed} == {"order", "result"}
    assert len(crossed) / len(PROBES) > 0.9


def test_unrelated_neighbours_are_not_crossed() -> None:
    """Every two pairs of the same sentences in another order have the same better and worse sentences."""

    def reordered(name: str, *sentences: str) -> MinimalPair:
        return MinimalPair(name, "order", Document(name, sentences), Document(name, sentences[::-1]))

    rain = reordered("rain", "It rained.", "The street was wet.")
    unrelated = [rain, reordered("bread", "The dough rose.", "Mia baked the bread.")]
    assert crossed_places(unrelated) == []
    assert "both_ways" not in score_pairs(Constant(), unrelated).measures
    assert crossed_places([rain, reordered("sun", "It rained.", "The sun came out.")]) == []  # one sentence in common
    closed, opened = "The shop was closed.", "The shop was open."
    two_ways = [reordered("a", closed, "Ann came at nine.", opened), reordered("b", opened, "Ann left at six.", closed)]
    assert crossed_places(two_ways) == [0]


@pytest.mark.parametrize(
    "opinion", [len, lambda s: -len(s.split()), lambda s: sum(map(ord, s)) % 1009], ids=["long", "few", "any"]
)
def test_without_context_crossed_pairs_are_right_as_often_as_wrong(opinion: Callable[[str], float]) -> None:
    pairs = [pair for four in FOURS for pair in four]
    found = score_pairs(ContextFree(opinion), pairs)
    right = sum(found.measures["accuracy"].numerators)
    assert right == (len(pairs) - found.ties) / 2 > 0
    assert value(found.measures["both_ways"]) == 0.0


def test_the_language_model_alone_tells_about_half_of_all_pairs() -> None:
    """Also where pairs are not crossed: no phenomenon is given away by its sentences."""
    sentences = list(dict.fromkeys(s for pair in PROBES for t in (pair.better, pair.worse) for s in t.sentences))
    prior = load_model(WEFT_SMALL).scorer.prior  # type: ignore[attr-defined]
    known = dict(zip(sentences, prior_log_probs(prior, sentences), strict=True))
    found = score_pairs(ContextFree(lambda sentence: float(known[sentence])), PROBES)
    ties = found.ties / len(PROBES)
    assert value(found.measures["accuracy"]) + ties / 2 == pytest.approx(0.5, abs=0.04)


def test_no_word_gives_the_answer_away() -> None:
    """Of every frequent word of a phenomenon, the better texts have about as many as the worse."""
    for phenomenon in PHENOMENA:
        chosen = [pair for pair in PROBES if pair.phenomenon == phenomenon]
        better = Counter(word for pair in chosen for s in pair.better.sentences for word in s.lower().split())
        worse = Counter(word for pair in chosen for s in pair.worse.sentences for word in s.lower().split())
        for word in better | worse:
            assert abs(better[word] - worse[word]) <= 2, (phenomenon, word)


def test_the_papers_pairs_are_the_papers() -> None:
    assert len(PAPER) == 7
    assert Counter(pair.phenomenon for pair in PAPER) == {"lexical": 3, "temporal": 1, "causal": 1, "centering": 2}
    assert all(pair.paper is not None and pair.paper[0] > pair.paper[1] for pair in PAPER)


@pytest.mark.shared
def test_the_papers_scores_stand_in_its_source(shared_data: Path) -> None:
    source = (shared_data.parent / "paper.txt").read_text(encoding="utf-8")
    cases = source[source.index("Case 1: Lexical") : source.index("In these final examples")]
    printed = [float(score) for score in re.findall(r"\{\\bf\s+(-?\d\.\d\d)\}", cases)]
    assert {score for pair in PAPER for score in pair.paper or ()} == set(printed)


@pytest.mark.parametrize("name", ["miniatures", "probes"])
def test_the_tasks_name_the_shipped_files(name: str) -> None:
    assert sha256_of(PACKAGE_PROBES / DATA_SETS[name].file) == DATA_SETS[name].sha256


# What theory says ---------------------------------------------------------------------------------------------------


def test_the_oracle_its_opposite_and_a_constant() -> None:
    oracle = score_pairs(Knowing([pair.better for pair in PROBES]), PROBES)
    assert {name: value(measure) for name, measure in oracle.measures.items()} == dict.fromkeys(oracle.measures, 1.0)
    assert value(score_pairs(Knowing([pair.worse for pair in PROBES]), PROBES).measures["accuracy"]) == 0.0
    constant = score_pairs(Constant(), PROBES)
    assert (value(constant.measures["accuracy"]), constant.ties) == (0.0, len(PROBES))


def test_chance_gets_half_and_a_quarter_both_ways() -> None:
    found = [score_pairs(create_model("random", {"seed": seed}), PROBES) for seed in range(10)]
    assert sum(value(each.measures["accuracy"]) for each in found) / 10 == pytest.approx(0.5, abs=0.03)
    assert sum(value(each.measures["both_ways"]) for each in found) / 10 == pytest.approx(0.25, abs=0.06)


def test_phenomena_add_up_to_the_whole() -> None:
    found = score_pairs(create_model("random"), PROBES).measures
    assert sum(sum(found[name].numerators) for name in PHENOMENA) == sum(found["accuracy"].numerators)
    assert sum(sum(found[name].denominators) for name in PHENOMENA) == len(PROBES)


def test_a_symmetric_model_cannot_tell_an_order() -> None:
    states = [pair for pair in PROBES if "-state-" in pair.id]
    assert score_pairs(create_model("foltz-glove"), states).ties == len(states) > 0


def test_pairs_are_crossed_only_with_their_own_kind() -> None:
    def pair(name: str, better: str, worse: str) -> MinimalPair:
        return MinimalPair(name, "p", Document(name, tuple(better.split())), Document(name, tuple(worse.split())))

    one, other, third = pair("1", "A x", "A y"), pair("2", "B y", "B x"), pair("3", "C x", "C y")
    assert are_crossed(one, other)
    assert not are_crossed(one, third)
    assert crossed_places([one, other, third]) == [0]
    assert crossed_places([third, one, other, one]) == [1]  # no pair is used twice


# The tasks ----------------------------------------------------------------------------------------------------------


def test_a_result_holds_every_score(tmp_path: Path) -> None:
    result = evaluate("miniatures", Subject(create_model("foltz-glove"), "foltz-glove"), command="weft …")
    again = Result.load(result.save(tmp_path))
    assert is_standard(again)
    assert again.documents == [pair.id for pair in PAPER]
    better, worse = (again.per_document[name]["numerators"] for name in ("better_score", "worse_score"))
    right = [float(one > other) for one, other in zip(better, worse, strict=True)]
    assert right == again.per_document["accuracy"]["numerators"]
    assert again.metrics["accuracy"] == sum(right) / 7
    assert "better_score" not in again.metrics


class Silent(TestScorer):
    """Has nothing to say."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [Score(None) for _ in documents]


def test_texts_without_a_score_tie() -> None:
    result = evaluate("miniatures", Subject(Silent(), "silent"))
    assert result.metrics["accuracy"] == 0.0
    assert result.ties == 7
    assert not any(result.per_document["better_score"]["denominators"])


def test_results_on_the_probes_are_compared() -> None:
    one, other = (
        evaluate("probes", Subject(model, "m"))
        for model in (Knowing([p.better for p in PROBES]), create_model("random"))
    )
    assert compare_results(one, other, "connective").difference > 0.2


def test_only_the_first_pairs() -> None:
    result = evaluate("probes", Subject(create_model("random"), "random"), options=EvaluateOptions(limit=10))
    assert (result.n_pairs, result.n_documents, result.settings["limit"]) == (10, 10, 10)
    assert not is_standard(result)


GOOD = {
    "id": "mine",
    "phenomenon": "negation",
    "better": ["It rained.", "It was wet."],
    "worse": ["It rained.", "Dry."],
}


def test_pairs_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    result = evaluate("probes", Subject(create_model("random"), "random"), str(path))
    assert set(result.metrics) == {"accuracy", "negation"}
    assert result.documents == ["mine"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": ""}, "no id"),
        ({"phenomenon": 3}, "no phenomenon"),
        ({"phenomenon": "accuracy"}, "name of a measure"),
        ({"better": ["It rained."]}, "two sentences"),
        ({"worse": "It rained."}, "two sentences"),
        ({"worse": ["It rained.", " "]}, "not a sentence"),
        ({"worse": GOOD["better"]}, "the same"),
        ({"paper": [1.0]}, "pair of numbers"),
    ],
)
def test_a_bad_pair_is_named_with_its_line(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps({**GOOD, "id": "other", **changes}), encoding="utf-8")
    with pytest.raises(CorpusError, match=said) as error:
        list(read_pairs(path))
    assert "line 2" in str(error.value)


def test_two_pairs_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD), encoding="utf-8")
    with pytest.raises(CorpusError, match="not unique"):
        list(read_pairs(path))


@pytest.mark.parametrize("content", ["{bad", '["a"]', '"text"', "[" * 100_000])
def test_a_line_that_is_no_object_is_told_the_format_of_pairs(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError) as error:
        list(read_pairs(path))
    assert '"better": [sentences]' in str(error.value)
    assert (
        "paragraphs" not in str(error.value) and "--input" not in str(error.value) and '"text":' not in str(error.value)
    )


def test_a_file_without_pairs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"no minimal pair in .*empty\.jsonl.*allowed: .*next: check"):
        evaluate("probes", Subject(create_model("random"), "random"), str(path))
