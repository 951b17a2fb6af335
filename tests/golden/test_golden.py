"""Numbers that must not move without a reason in the changelog."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.corpora.readers import read_documents
from weft.models import create_model

ESSAY = Path(__file__).parents[2] / "examples" / "essay.txt"


@pytest.mark.parametrize(
    ("name", "value", "uncle"),
    [("foltz-sif", 0.78711, (0.69835, 0.71739)), ("foltz-glove", 0.90354, (0.89877, 0.89288))],
)
def test_the_essay(name: str, value: float, uncle: tuple[float, float]) -> None:
    (essay,) = read_documents(ESSAY)
    score = create_model(name).score([essay])[0]
    assert score.value == pytest.approx(value, abs=2e-5)
    assert score.transitions[5:7] == pytest.approx(uncle, abs=2e-5)
