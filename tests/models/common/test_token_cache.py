"""What models keep and compute at once is bounded in tokens, not only in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from weft.corpora.text.tokenizers import BpeTokenizer
from weft.document import Window
from weft.models.common.first_order_model import FirstOrderModel
from weft.models.common.token_cache import TokenCache

TOKENIZER = BpeTokenizer.train(["a b"], vocabulary_size=259)


def kept(cache: TokenCache) -> int:
    return sum(map(len, cache._cache.values()))


def test_long_sentences_do_not_fill_the_cache() -> None:
    cache = TokenCache(TOKENIZER, tokens=500)
    for number in range(50):
        cache([f"{number} " + "x" * 90])
        assert kept(cache) <= 500
    assert kept(cache) > 0
    assert len(cache(["y" * 900])[0]) > 500 and kept(cache) == 0


class Groups(FirstOrderModel):
    windows_at_once = 3
    positions_at_once = 60

    def __init__(self) -> None:
        self.ids = TokenCache(TOKENIZER)
        self.sizes: list[int] = []

    def group_log_prob(self, windows: Sequence[Window]) -> list[float]:
        self.sizes.append(len(windows))
        return [float(len(window.target)) for window in windows]


def test_windows_are_computed_in_groups_of_limited_tokens_and_number() -> None:
    model = Groups()
    lengths = [2, 2, 2, 2, 200, 3, 20, 20, 3]
    windows = [Window(("c" * 4,), "t" * length) for length in lengths]
    assert model.log_prob(windows) == [float(length) for length in lengths]
    assert model.sizes == [3, 1, 1, 3, 1]
    assert model.log_prob([]) == []
