from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.helpers.published_results import published_results
from tests.helpers.scorers import OracleTable, OracleWhole, synthetic

from weft.document import Document, Score
from weft.errors import CorpusError
from weft.evaluation.metrics import paired_bootstrap
from weft.evaluation.model_comparison import compare_models, mean_result
from weft.evaluation.result import Result
from weft.evaluation.text_comparison import AlignedTransition, Revision, align_sentences, compare_texts
from weft.registry import create_model
from weft.report.comparisons import revision_lines, versus_lines, versus_record


def kinds(first: list[str], second: list[str]) -> list[str]:
    return [found.kind for found in align_sentences(first, second)]


TEXT = ["A cat sat on the mat.", "It slept all day.", "Rain fell outside.", "The dog came home."]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (TEXT, ["same"] * 4),
        ([], ["removed"] * 4),
        (["A cat  sat on the mat.", *TEXT[1:]], ["same"] * 4),  # spaces do not matter
        (["A cat sat on a mat.", *TEXT[1:]], ["changed", "same", "same", "same"]),
        ([TEXT[0], *TEXT[2:]], ["same", "removed", "same", "same"]),
        ([*TEXT[:2], "Rates rose.", *TEXT[2:]], ["same", "same", "added", "same", "same"]),
        ([*TEXT[1:], TEXT[0]], ["same", "same", "same", "moved"]),
        ([TEXT[0], "Banks merged.", *TEXT[2:]], ["same", "added", "removed", "same", "same"]),
        ([TEXT[3], *TEXT[:3]], ["moved", "same", "same", "same"]),
        ([*TEXT[1:], "A cat sat on a mat."], ["same", "same", "same", "moved"]),
    ],
)
def test_sentences_are_told_apart(second: list[str], expected: list[str]) -> None:
    assert kinds(TEXT, second) == expected


def test_all_sentences_of_both_texts_are_there_once() -> None:
    generator = random.Random(1)
    for _ in range(200):
        first, second = (
            generator.choices(["a b", "a c", "d", "e f g", "", "…"], k=generator.randrange(7)) for _ in "12"
        )
        found = align_sentences(first, second)
        assert sorted(s.before for s in found if s.before is not None) == list(range(len(first)))
        assert [s.after for s in found if s.after is not None] == list(range(len(second)))
        in_order = [s.before for s in found if s.kind in {"same", "changed"}]
        assert in_order == sorted(in_order, key=lambda place: place or 0)
        assert all((s.similarity > 0) == (s.kind not in {"added", "removed"}) for s in found)


def test_the_fewest_sentences_count_as_moved() -> None:
    generator = random.Random(2)
    for _ in range(50):
        size = generator.randrange(1, 8)
        order = generator.sample(range(size), size)
        longest = 0
        for chosen in range(2**size):  # every run of sentences, tried one by one
            run = [order[i] for i in range(size) if chosen >> i & 1]
            longest = max(longest, len(run) if run == sorted(run) else 0)
        texts = [f"s{n} s{n}" for n in range(size)]
        assert kinds(texts, [texts[i] for i in order]).count("same") == longest


def test_a_sentence_may_be_moved_and_changed() -> None:
    first = Document("a", ("Bees drink nectar.", "They fly home.", "Rates rose in March."))
    second = Document("b", ("Rates rose fast in March.", "Bees drink nectar.", "They fly home."))
    found = compare_texts(create_model("foltz-sif"), first, second)
    assert [(one.kind, one.both) for one in found.sentences] == [("moved", True), ("same", False), ("same", False)]
    assert "↕~moved" in "\n".join(line.plain for line in revision_lines(found, first, second))
    assert "↕~ moved and changed" in found._repr_html_()


def test_transitions_are_aligned_with_their_scores() -> None:
    (text,) = synthetic(1, 4)
    other = text.reorder([0, 1, 3, 2])
    found = compare_texts(OracleTable(), text, other)
    steps = [(s.kind, s.before, s.after, s.value_before, s.value_after) for s in found.transitions]
    assert steps == [
        ("kept", 0, 0, 1.0, 1.0),
        ("new", None, 1, None, 0.0),
        ("new", None, 2, None, 0.0),
        ("gone", 1, None, 1.0, None),
        ("gone", 2, None, 1.0, None),
    ]
    assert found.difference == pytest.approx(1 / 3 - 1)
    shown = "\n".join(line.plain for line in revision_lines(found, text, other))
    assert "moved" in shown
    assert "gone from the first text" in shown


def test_a_changed_sentence_changes_its_transitions() -> None:
    first = Document("a", tuple(TEXT))
    second = Document("b", ("A cat sat on a mat.", *TEXT[1:]))
    found = compare_texts(create_model("foltz-sif"), first, second)
    assert [step.kind for step in found.transitions] == ["changed", "kept", "kept"]
    assert found.transitions[0].difference != 0
    assert found.transitions[1].difference == pytest.approx(0)


def test_only_changes_are_left_of_a_comparison() -> None:
    (text,) = synthetic(1, 12)
    other = text.reorder([0, 1, 2, 3, 5, 4, *range(6, 12)])
    found = compare_texts(OracleTable(), text, other)
    left = found.changes()
    assert {step.kind for step in left.transitions} == {"new", "gone"}
    assert [sentence.after for sentence in left.sentences] == [3, 4, 5, 6]
    assert (left.difference, left.first) == (found.difference, found.first)
    lines = [line.plain for line in revision_lines(found, text, other, changes_only=True)]
    assert lines[0] == revision_lines(found, text, other)[0].plain  # the totals count all sentences
    assert [line.strip() for line in lines].count("…") == 2
    assert not any(text.sentences[place] in line for place in (1, 9) for line in lines)
    same = compare_texts(OracleTable(), text, text)
    assert not same.changes().sentences
    assert not same.changes().transitions
    assert len(revision_lines(same, text, text, changes_only=True)) == 3


def test_a_transition_with_another_score_is_a_change() -> None:
    """A model that reads the whole text changes scores far from the changed sentence."""
    step = AlignedTransition("kept", 0, 0, 0.5, 0.6)
    assert step.differs
    assert not replace(step, value_after=0.50001).differs


def test_a_difference_is_placed_among_reference_texts() -> None:
    one, other, equal = (Score(0.1, percentile=place, reference="essays") for place in (31.0, 40.6, 31.4))
    found = Revision(one, other, (), ())
    assert found.percentile_points == pytest.approx(9.6)
    assert found.meaning.startswith("31st → 40th percentile of essays: about 9 in 100")
    assert "fewer than 1 in 100" in replace(found, second=equal).meaning
    assert (replace(found, second=Score(0.1)).meaning, replace(found, second=Score(0.1)).percentile_points) == (
        "",
        None,
    )


def test_a_model_of_whole_texts_shows_only_totals() -> None:
    (text,) = synthetic(1, 3)
    found = compare_texts(OracleWhole(), text, text.reorder([2, 1, 0]))
    assert found.difference == -1
    assert all(step.value_before is None and step.value_after is None for step in found.transitions)
    lines = revision_lines(found, text, text.reorder([2, 1, 0]))
    assert len(lines) == 2 + 3


def test_texts_without_transitions_have_no_difference() -> None:
    found = compare_texts(create_model("foltz-sif"), Document("a", ()), Document("b", ("One.",)))
    assert found.difference is None
    assert [s.kind for s in found.sentences] == ["added"]
    assert "–" in revision_lines(found, Document("a", ()), Document("b", ("One.",)))[0].plain


def result(wins: list[float], **changes: object) -> Result:
    parts = {"accuracy": {"numerators": wins, "denominators": [10.0] * len(wins)}}
    names = [f"d{n}" for n in range(len(wins))]
    made = Result(
        "wikipedia-pairs", "one", "", {"accuracy": sum(wins) / 10 / len(wins)}, {}, len(wins), 10 * len(wins), 0, 0, 1,
        "exact", "mine.jsonl", "hash", "negatives", "", documents=names, per_document=parts,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def test_models_are_compared_by_the_one_bootstrap() -> None:
    first, second = [9.0, 8, 10, 4] * 10, [9.0, 2, 7, 6] * 10
    found = compare_models(result(first), result(second))
    assert found.comparisons["accuracy"] == paired_bootstrap(first, second, [10.0] * 40)
    assert found.better == (20, 10, 10)
    assert [gap.difference for gap in found.documents[:10]] == pytest.approx([0.6] * 10)
    assert found.documents[0].id == "d1"
    shown = "\n".join(line.plain for line in versus_lines(found, 1))
    assert "better on 20 documents, worse on 10, equal on 10" in shown
    assert shown.endswith("d1")


def test_results_that_do_not_belong_together_are_refused() -> None:
    one = result([9.0, 8.0])
    for changes in ({"task": "accidents"}, {"data_sha256": "other"}, {"negatives_sha256": "other"}):
        with pytest.raises(CorpusError, match="cannot be compared"):
            compare_models(one, replace(one, **changes))  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match="cannot be compared"):
        compare_models(one, replace(one, documents=["x", "y"]))
    with pytest.raises(CorpusError, match="no such metric"):
        compare_models(one, one, metric="tau")


def test_what_cannot_be_paired_is_left_out_and_said() -> None:
    """Two systems of the adversarial evaluation have different chunks where lengths are made alike."""
    one, other = (published_results()["adversarial", name, "mmi"] for name in ("vlv-gm", "seq2seq"))
    found = compare_models(one, other)
    assert found.metric == "adversuc_1" and found.comparisons["adversuc_1"].difference > 0
    assert {name.split("_")[0] for name in found.unpaired} == {"matched"}
    assert not set(found.unpaired) & set(found.comparisons)
    assert "pairs differ: matched_adversuc_1," in "\n".join(line.plain for line in versus_lines(found, 0))
    assert versus_record(found, 0)["unpaired"] == list(found.unpaired)
    with pytest.raises(CorpusError, match="other pairs"):
        compare_models(one, other, metric="matched_adversuc_1")


def test_several_trainings_are_averaged_document_by_document() -> None:
    mean = mean_result([result([9.0, 8.0]), result([7.0, 10.0])])
    assert mean.per_document["accuracy"]["numerators"] == (8.0, 9.0)
    assert mean.metrics["accuracy"] == pytest.approx(0.85)
    with pytest.raises(CorpusError, match="cannot be averaged"):
        mean_result([result([9.0, 8.0]), result([7.0, 10.0], negatives_sha256="other")])
