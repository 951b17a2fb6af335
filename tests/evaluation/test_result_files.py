from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.errors import CorpusError
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result, compare_results

ROOT = Path(__file__).parents[2]
ZOO, RESULTS = ROOT / "zoo", ROOT / "results"


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


def result(model: str, wins: list[float], variant: str = "", **changes: Any) -> Result:
    parts = {"accuracy": {"numerators": wins, "denominators": [10.0] * len(wins)}}
    made = Result(
        "wikipedia-pairs", model, variant, {"accuracy": sum(wins) / 10 / len(wins)}, {}, len(wins), 10, 0, 0, 1,
        "exact", "d", "h", "n", "", documents=[f"d{n}" for n in range(len(wins))], per_document=parts,
    )  # fmt: skip
    return replace(made, **changes)


def by_key(*results: Result) -> dict[Key, Result]:
    return {(one.task, one.model, one.variant): one for one in results}


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
