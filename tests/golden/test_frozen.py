"""Scores, orders, results and trained weights equal the golden values to 1e-6."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.golden.freeze import HERE, frozen

GOLDEN = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in HERE.glob("*.json")}
TIGHT = 1e-6
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
    found, expected = dict(leaves(compute())), dict(leaves(GOLDEN[file][key]))
    assert found.keys() == expected.keys()
    for path, value in expected.items():
        if isinstance(value, float):
            tolerance = LOOSE if path.startswith(LOOSE_PATH) else TIGHT
            assert found[path] == pytest.approx(value, rel=tolerance, abs=tolerance), path
        else:
            assert found[path] == value, path


def test_every_golden_value_is_computed() -> None:
    assert {(file, key) for file, values in GOLDEN.items() for key in values} == {one[:2] for one in frozen()}
