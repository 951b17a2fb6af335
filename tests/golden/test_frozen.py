"""Scores, orders, results and trained weights equal the golden values, up to what processors round differently."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.golden.freeze import HERE, frozen

GOLDEN = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in HERE.glob("*.json")}
# Sums in single precision depend on the processor: the same code differs by up to 5e-6 between two of them.
TIGHT = 2e-5
TRAINED = 2e-4  # ten steps of training enlarge the differences
# The gradient of an attention key's bias is zero but for rounding, and Adam makes full steps of it: these weights
# depend on the processor and on the number of threads.
LOOSE = 2e-3
LOOSE_PATH = "/precedence/among."


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values inside nested dictionaries and lists, with their paths."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, f"{path}/{key}")
    else:
        yield path, value


def aligned(found: Any, expected: Any) -> Any:
    """Return what was found, with orders reversed that equal the expected ones backwards.

    If a score is the same in both directions, as a cosine is, rounding decides between an order and its reverse.
    """
    return {
        way: {**one, "order": one["order"][::-1]} if one["order"][::-1] == expected[way]["order"] else one
        for way, one in found.items()
    }


SYMMETRIC = {"foltz-embedding", "foltz-glove", "foltz-sif", "zoo/foltz-lsa", "zoo/foltz-lda"}
QUICK = {"foltz-glove", "foltz-sif", "random", "year-sort", "accidents", "probes", "wikipedia-order"}


def cases() -> Iterator[Any]:
    """Yield the golden values as parameters; all but a few are slow."""
    for file, key, compute in frozen():
        quick = key in QUICK and file != "training.json"
        yield pytest.param(file, key, compute, id=f"{file}-{key}", marks=[] if quick else [pytest.mark.slow])


@pytest.mark.parametrize(("file", "key", "compute"), list(cases()))
def test_nothing_moved(file: str, key: str, compute: Callable[[], Any]) -> None:
    pytest.importorskip("torch")
    if key == "foltz-embedding":
        pytest.importorskip("sentence_transformers")
    computed, golden = compute(), GOLDEN[file][key]
    if file == "models.json" and key in SYMMETRIC:
        computed = aligned(computed, golden)
    found, expected = dict(leaves(computed)), dict(leaves(golden))
    assert found.keys() == expected.keys()
    for path, value in expected.items():
        if isinstance(value, float):
            usual = TRAINED if file == "training.json" else TIGHT
            tolerance = LOOSE if path.startswith(LOOSE_PATH) else usual
            assert found[path] == pytest.approx(value, rel=tolerance, abs=tolerance), path
        else:
            assert found[path] == value, path


def test_every_golden_value_is_computed() -> None:
    assert {(file, key) for file, values in GOLDEN.items() for key in values} == {one[:2] for one in frozen()}
