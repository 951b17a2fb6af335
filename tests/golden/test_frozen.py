"""Scores, orders, results and trained weights hold to 1e-6 what they were when they were frozen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.golden.freeze import HERE, frozen

GOLDEN = {
    name: json.loads((HERE / name).read_text(encoding="utf-8"))
    for name in ("models.json", "results.json", "training.json")
}
TIGHT = 1e-6
# The gradient of an attention key's bias is zero but for rounding, and Adam makes full steps of it: these weights
# depend on the processor and on the number of threads.
LOOSE = 2e-3


def numbers(value: Any, path: str = "") -> dict[str, Any]:
    """All leaves of nested values, by their paths."""
    if isinstance(value, dict):
        return {k: v for key, one in value.items() for k, v in numbers(one, f"{path}/{key}").items()}
    if isinstance(value, list):
        return {k: v for place, one in enumerate(value) for k, v in numbers(one, f"{path}/{place}").items()}
    return {path: value}


@pytest.mark.parametrize(
    ("file", "key", "compute"), [pytest.param(*entry, id=f"{entry[0]}-{entry[1]}") for entry in frozen()]
)
def test_nothing_moved(file: str, key: str, compute: Callable[[], Any]) -> None:
    pytest.importorskip("torch")
    if key == "foltz-embedding":
        pytest.importorskip("sentence_transformers")
    found, expected = numbers(compute()), numbers(GOLDEN[file][key])
    assert found.keys() == expected.keys()
    for path, value in expected.items():
        if isinstance(value, float):
            tolerance = LOOSE if path.startswith("/precedence/among.") else TIGHT
            assert found[path] == pytest.approx(value, rel=tolerance, abs=tolerance), path
        else:
            assert found[path] == value, path
