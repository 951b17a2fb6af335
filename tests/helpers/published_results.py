"""The results of the repository, read once per test process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from weft.evaluation.result import Key, Result
from weft.report.tables import load_results

RESULTS = Path(__file__).parents[2] / "results"


@cache
def published_results() -> Mapping[Key, Result]:
    """Return the results in `results/`, read-only."""
    return MappingProxyType(load_results(RESULTS))
