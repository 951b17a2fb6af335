"""A text that is too long to put in order is refused, not begun."""

from __future__ import annotations

import pytest

from weft.document import Document
from weft.errors import ConfigError
from weft.ordering.order import MOST_ORDERED, order_document
from weft.registry import create_model


def test_a_text_too_long_is_refused_unless_the_model_sorts() -> None:
    text = Document("long", tuple(f"In {1000 + n} it rained." for n in range(MOST_ORDERED + 1)))
    with pytest.raises(ConfigError, match="too long to order") as caught:
        order_document(create_model("random"), text)
    assert str(MOST_ORDERED + 1) in str(caught.value.seen)
    assert "--input blocks" in str(caught.value.next_step)
    assert order_document(create_model("year-sort"), text).search == "rule"
