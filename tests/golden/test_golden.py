"""Numbers that must not move without a reason in the changelog."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.corpora.readers.formats import read_documents
from weft.ordering.order import order_document
from weft.registry import create_model

ESSAY = Path(__file__).parents[2] / "examples" / "essay.txt"


@pytest.mark.parametrize(
    ("name", "value", "uncle"),
    [
        ("foltz-sif", 0.78711, (0.69835, 0.71739)),
        ("foltz-glove", 0.90354, (0.89877, 0.89288)),
        ("weft-small", 0.64673, (-0.00817, -0.42559)),
    ],
)
def test_the_essay(name: str, value: float, uncle: tuple[float, float]) -> None:
    (essay,) = read_documents(ESSAY)
    score = create_model(name).score([essay])[0]
    assert score.value == pytest.approx(value, abs=2e-5)
    assert score.transitions[5:7] == pytest.approx(uncle, abs=2e-5)


def test_the_shuffled_life() -> None:
    """The default restores a life that was shuffled, but for one pair and one early ship."""
    (life,) = read_documents(ESSAY.with_name("shuffled.txt"))
    found = order_document(create_model("weft-small"), life)
    assert found.order == (2, 3, 0, 4, 5, 1)
    assert (found.search, found.objective) == ("exact", "both")
