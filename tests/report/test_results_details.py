from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.published_results import published_results

from weft.errors import CorpusError
from weft.evaluation.metrics import paired_bootstrap
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result, compare_results
from weft.io.model_folder import load_artifact
from weft.io.quantization import SCALE
from weft.report.model_facts import facts_of, load_facts, read_facts, record_facts
from weft.report.paper_numbers import TABLES, PaperRow, PaperTable
from weft.report.results_details import details, neighbours
from weft.report.results_page import results_page
from weft.report.tables import load_results, signed

ROOT = Path(__file__).parents[2]
ZOO, RESULTS = ROOT / "zoo", ROOT / "results"


@pytest.mark.parametrize("name", ["vlv-gm-accidents", "foltz-lda", "entity-grid", "discriminative-accidents"])
def test_parameters_are_those_of_the_loaded_weights(name: str) -> None:
    """`vlv-gm-accidents` shares weights with the folder beside it: they are counted, and once."""
    tensors = load_artifact(ZOO / name).tensors
    facts = read_facts(ZOO / name, RESULTS / "training")
    assert facts.parameters == sum(value.size for key, value in tensors.items() if not key.endswith(SCALE))
    assert facts.size >= sum(value.nbytes for value in tensors.values())


def test_the_record_is_what_the_models_say(tmp_path: Path) -> None:
    (tmp_path / "training").symlink_to(RESULTS / "training")
    assert record_facts(ZOO, tmp_path).read_text() == (RESULTS / "models.json").read_text()
    known = {facts.name: facts for facts in load_facts(tmp_path)}
    assert known["seq2seq"].sentences == 3_560_957
    before, own = known["seq2seq"].minutes_before or 0, known["seq2seq"].minutes or 0
    assert known["vlv-gm"].minutes_before == pytest.approx(before + own, abs=0.11)


def test_results_find_their_models() -> None:
    known, results = load_facts(RESULTS), published_results()
    for key, name in {
        ("wikipedia-pairs", "seq2seq", "mmi"): "seq2seq",
        ("accidents", "seq2seq", "bi"): "seq2seq-accidents",
        ("earthquakes", "discriminative", "seed-3"): "discriminative-earthquakes",
        ("wikipedia-pairs", "hmm-lda-gm", "mmi-peek"): "hmm-lda-gm-peek",
        ("wikipedia-pairs", "weft-small", "mmi"): "weft-small",
    }.items():
        facts = facts_of(results[key], known)
        assert facts is not None
        assert facts.name == name
    assert facts_of(results["wikipedia-pairs", "foltz-sif", ""], known) is None


def test_damaged_folders_and_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no model folder"):
        record_facts(tmp_path, tmp_path)
    broken = tmp_path / "zoo" / "m"
    broken.mkdir(parents=True)
    for content in ("", "[]", '{"files": {"a.safetensors": ""}, "training": {}, "model": "m"}'):
        (broken / "model.json").write_text(content)
        (broken / "a.safetensors").write_bytes(b"\xff" * 20)
        with pytest.raises(CorpusError, match="cannot read the facts"):
            record_facts(tmp_path / "zoo", tmp_path)
    (tmp_path / "models.json").write_text('[{"name": 1}]')
    with pytest.raises(CorpusError, match=r"models\.json"):
        load_facts(tmp_path)
    assert load_facts(tmp_path / "nowhere") == []
    good = json.loads((RESULTS / "models.json").read_text())[0]
    for field, value in (("parameters", "many"), ("minutes", [1]), ("data", [1]), ("command", None)):
        (tmp_path / "models.json").write_text(json.dumps([{**good, field: value}]))
        with pytest.raises(CorpusError, match=r"models\.json"):
            load_facts(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("interval", {"accuracy": ["a", "b"]}),
        ("interval", {"accuracy": [0.1]}),
        ("documents", [{}, {}]),
        ("training", {"sentences": "many"}),
    ],
)
def test_fields_that_pages_rely_on_are_checked(tmp_path: Path, field: str, value: object) -> None:
    path = result("one", [9.0, 8.0]).save(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(CorpusError, match="cannot read a result"):
        Result.load(path)


def test_results_over_other_pairs_of_the_same_documents_are_not_compared(tmp_path: Path) -> None:
    path = result("two", [9.0, 8.0]).save(tmp_path)
    path.write_text(path.read_text().replace('"denominators": [10.0, 10.0]', '"denominators": [10.0, 20.0]'))
    with pytest.raises(CorpusError, match="other pairs of the same documents"):
        compare_results(result("one", [9.0, 8.0]), Result.load(path), "accuracy")


TABLE = PaperTable(
    2, "a table", ("wikipedia",), (("wikipedia-pairs", "accuracy"),),
    (PaperRow("One", (0.9,), "one"), PaperRow("Two", (0.8,), "two"), PaperRow("Three", (0.7,), "three")),
)  # fmt: skip


def result(model: str, wins: list[float], variant: str = "", **changes: Any) -> Result:
    parts = {"accuracy": {"numerators": wins, "denominators": [10.0] * len(wins)}}
    made = Result(
        "wikipedia-pairs", model, variant, {"accuracy": sum(wins) / 10 / len(wins)}, {}, len(wins), 10, 0, 0, 1,
        "exact", "d", "h", "n", "", documents=[f"d{n}" for n in range(len(wins))], per_document=parts,
    )  # fmt: skip
    return replace(made, **changes)


def by_key(*results: Result) -> dict[Key, Result]:
    return {(one.task, one.model, one.variant): one for one in results}


def test_neighbours_are_the_rows_that_were_measured() -> None:
    first, third = [9.0, 8, 10, 4] * 10, [7.0, 8, 7, 4] * 10
    text = neighbours(TABLE, by_key(result("one", first), result("three", third)))
    found = paired_bootstrap(first, third, [10.0] * 40)
    assert text.splitlines()[2:] == [
        f"| One − Three | wikipedia | **{signed(found.difference)}** "
        f"| [{signed(found.interval[0])}, {signed(found.interval[1])}] | < .001 |"
    ]
    same = neighbours(TABLE, by_key(result("one", first), result("two", first)))
    assert "| One − Two | wikipedia | .000 | [.000, .000] | 1.000 |" in same
    assert neighbours(TABLE, {}) == details(TABLE, {}, []) == ""
    # Other negatives: nothing to compare.
    assert neighbours(TABLE, by_key(result("one", first), result("two", third, negatives_sha256="other"))) == ""


def test_rows_of_our_own_have_a_line_where_facts_are_known() -> None:
    known, results = load_facts(RESULTS), published_results()
    text = details(TABLES[1], results, known)
    for name in (
        "weft-small (mmi)",
        "discriminative-pair",
        "hmm-lda-gm (mmi-peek)",
        "foltz-lsa",
        "entity-grid-generative",
    ):
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
        assert "not trained here" not in line
    assert "| random |" not in text and "shards" not in text
    assert "where no log of the training is kept" in " ".join(results_page(results, known).split())


def test_every_table_has_its_word_on_what_differs() -> None:
    words = results_page({}).split("## What differs from the paper, and why")[1].split("\n## ")[0]
    for said in (
        "Table 1 has the published",
        "For Table 2",
        "both readings are in Table 3",
        "ours by sampling",
        "64,000",
    ):
        assert said in words


@pytest.mark.parametrize(("losses", "told_apart"), [(10, False), (4, True)])
def test_only_what_chance_does_not_explain_is_printed_bold(losses: int, told_apart: bool) -> None:
    """A p of .3 is not told apart, one of .01 is."""
    first = [9.0] * 16 + [5.0] * losses
    second = [5.0] * 16 + [9.0] * losses
    found = paired_bootstrap(first, second, [10.0] * len(first))
    assert (found.p_value < 0.05) is told_apart and found.p_value < 0.5
    text = neighbours(TABLE, by_key(result("one", first), result("two", second)))
    difference = signed(found.difference)
    assert f"| {'**' + difference + '**' if told_apart else difference} |" in text


def test_seeds_are_averaged_document_by_document() -> None:
    seeds = by_key(result("one", [10.0, 0.0], "seed-1"), result("one", [0.0, 4.0], "seed-2"), result("one", [1.0, 1.0]))
    (found,) = average_seeds(seeds).values()  # one without a seed gives way, as in the tables
    assert found.per_document["accuracy"]["numerators"] == (5.0, 2.0)
    assert found.variant == ""
    alone = by_key(result("one", [1.0, 1.0], "mmi"))
    assert average_seeds(alone) == alone


@pytest.mark.parametrize(
    "parts",
    [
        "{}",
        "[]",
        '{"numerators": [1.0, 2.0]}',
        '{"numerators": [1.0], "denominators": [1.0]}',
        '{"numerators": [1.0, "x"], "denominators": [1.0, 1.0]}',
        '{"numerators": [1.0, NaN], "denominators": [1.0, 1.0]}',
    ],
)
def test_damaged_parts_are_refused(tmp_path: Path, parts: str) -> None:
    path = result("one", [9.0, 8.0]).save(tmp_path)
    good = '{"numerators": [9.0, 8.0], "denominators": [10.0, 10.0]}'
    assert good in path.read_text()
    path.write_text(path.read_text().replace(good, parts))
    with pytest.raises(CorpusError, match="cannot read a result"):
        Result.load(path)


def test_the_page_of_an_old_results_folder_still_renders(tmp_path: Path) -> None:
    """Results from before lengths were recorded, and no record of models."""
    old = json.loads((RESULTS / "wikipedia-pairs" / "foltz-lda.json").read_text())
    old.pop("lengths", None)
    (tmp_path / "wikipedia-pairs").mkdir()
    (tmp_path / "wikipedia-pairs" / "foltz-lda.json").write_text(json.dumps(old))
    results = load_results(tmp_path)
    assert len(results) == 1
    assert "not trained here" in details(TABLES[1], results, load_facts(tmp_path))


def test_lengths_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = result("one", [9.0, 8.0], lengths=[3, 4]).save(tmp_path)
    assert Result.load(path).lengths == [3, 4]
    for lengths in ("[3]", '["a", "b"]', "[3, -1]", "5"):
        path.write_text(path.read_text().replace("[3, 4]", lengths))
        with pytest.raises(CorpusError):
            Result.load(path)
        path = result("one", [9.0, 8.0], lengths=[3, 4]).save(tmp_path)


def test_draws_are_kept_and_cannot_be_changed() -> None:
    from weft.evaluation.metrics import _resample

    draws = _resample(7, 1)
    assert draws is _resample(7, 1)
    with pytest.raises(ValueError, match="read-only"):
        draws[0, 0] = 1
    assert np.all(draws.sum(axis=1) == 7)
