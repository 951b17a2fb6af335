from __future__ import annotations

import pytest

from weft.document import Document
from weft.errors import CorpusError
from weft.models.lexical.opening import Opening, OpeningSettings

TEXTS = [Document(str(n), ("Once upon a time a king ruled.", f"He had {n} sons.", "They all left.")) for n in range(5)]


def test_only_the_first_sentence_counts() -> None:
    model = Opening().fit(TEXTS)
    document = TEXTS[0]
    whole, same_opening, other = model.order_scores(document, [(0, 1, 2), (0, 2, 1), (1, 0, 2)])
    assert whole is not None
    assert other is not None
    assert whole == same_opening == model.score([document])[0].value
    assert whole > other


def test_texts_that_are_too_short_teach_nothing() -> None:
    with pytest.raises(CorpusError, match=r"not enough text.*0 words.*shortest"):
        Opening(OpeningSettings(shortest=4)).fit(TEXTS)
