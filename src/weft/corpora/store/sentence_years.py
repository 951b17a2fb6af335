"""The years that the sentences of a token store mention."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.corpora.text.years import first_year


def years_of_sentences(store: TokenStore, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the first year that each sentence mentions, or 0: [sentences]."""
    tokenizer = store.tokenizer()
    flat, offsets = store.gather(numbers)
    digits = _with_digits(tokenizer)[flat]  # [tokens]
    # Only sentences with a digit are decoded: about one third.
    counts = np.diff(np.concatenate([[0], np.cumsum(digits)])[offsets])  # [sentences]
    years = np.zeros(len(numbers), dtype=np.int64)
    for number in np.flatnonzero(counts):
        text = tokenizer.decode(flat[offsets[number] : offsets[number + 1]].tolist())
        years[number] = first_year(text) or 0
    return years


def _with_digits(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """Return which tokens contain a digit: [vocabulary]."""
    words = (tokenizer.decode([number]) for number in range(tokenizer.vocabulary_size))
    return np.array([any(character.isdigit() for character in word) for word in words])
